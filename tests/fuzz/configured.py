"""Targets: what operators and programs hand over: layers of a configuration, memos, addresses of pages, searches, arguments of the command
line, and what a called function answers."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Literal

from sedano.cli.calls import Asked, arguments
from sedano.engine.configuration_layers import read as read_layer
from sedano.memory import ports
from sedano.model import bulk, deployments
from sedano.model.boxes import read_payload
from sedano.model.cluster import worker_report
from sedano.model.configuration.fields import fields_of
from sedano.model.configuration.layers import Layer
from sedano.model.configuration.snapshots import merged
from sedano.model.configuration.stage_values import STAGE_VALUES
from sedano.model.history import rollups
from sedano.model.memos import Memo
from sedano.model.sinks.places import place_of
from sedano.ports import Ports
from sedano.views import task_query
from sedano.views.cluster import read_state
from sedano.web import addresses, changes
from tests.fuzz import stall, words
from tests.fuzz.loop import Target
from tests.fuzz.readers import FILE_S, reader, text_of
from tests.fuzz.referee import Broken


@dataclass(frozen=True)
class Pool:
    """A part of the configuration below."""

    size: int = 4
    idle: timedelta = timedelta(seconds=30)


@dataclass(frozen=True)
class Shop:
    """A configuration with a field of each type."""

    name: str
    region: Literal["eu", "us"] = "eu"
    is_open: bool = True
    rate: float = 0.5
    tags: tuple[str, ...] = ()
    pool: Pool = field(default_factory=Pool)
    note: str | None = None


_FIELDS = fields_of(Shop)
_VALUES = {"name": "tea", "region": "us", "is_open": "no", "rate": "1.5", "tags": ["a", "b"], "pool": {"size": 3, "idle": "PT5S"}}
_TEXTS = {"name": "tea", "pool.size": "3", "tags": "a,b", "pool.idle": "90s"}
_NAMES = ("name", "region", "is_open", "rate", "tags", "pool", "size", "idle", "note", "pool.size")
_TOML = b'[shop]\nname = "tea"\nrate = 1\ntags = ["a"]\n[shop.pool]\nsize = 3\n'
_REPORT = worker_report.WorkerReport("process", "ready", ("default",), "1", "0.1.0", lanes=4, beat=60.0,
    steps=(worker_report.UnstartedStep("db", "failed", "away"),))  # fmt: skip
_SUMS = b'{"v":1,"again":1,"runs":[["shop.add","default",29453760,{"SUCCESS":2},150,[[3,2]],[[1,1]]]],"spent":[["worker",29453760,5000]]}'
_SEARCHES = (b"state:FAILURE add*", b"task:shop.* worker:w1", b"*a*a*a*a*a*a*b")
_ADDRESSES = (b"/tasks?q=state%3AFAILURE&days=7", b"/task.json?id=t-1", b"/", b"/trace?id=t")
_CHANGES = (b"/pause?kind=queue&name=default\nreason=x&token=t", b"/retry?kind=query&name=q\ntyped=7&reason=")
_ANSWER = b'{"id":"c","ok":[1,{"a":null}]}'
_FAILED = b'{"id":"c","error":{"type":"ValueError","message":"no","traceback":"t"}}'
_REPORTED = b'{"errorType":"Sandbox.Timedout","errorMessage":"Task timed out after 3.00 seconds","stackTrace":["a"]}'


def every() -> list[Target]:
    """Return a target for each reader."""
    return [*_of_layers(), *_of_memos(), *_of_pages(), *_of_programs()]


def _of_layers() -> list[Target]:
    values, texts = json.dumps(_VALUES).encode(), json.dumps(_TEXTS).encode()
    return [
        reader("config-toml", _from_file, [_TOML, b'name = "x"\n'], words=(*_NAMES, *words.TOML_WORDS), is_text=True, most_cpu=FILE_S),
        reader("config-profile", partial(_from_store, "appconfig", "a/b/c", _profile), [values], words=_NAMES),
        reader("config-stage", partial(_from_store, "stage", "", _memo), [texts], words=_NAMES),
        reader("config-values", _from_values, [values, texts], words=_NAMES, weight=2),
    ]


def _of_memos() -> list[Target]:
    return [
        reader("worker-report", lambda d: worker_report.report_of(text_of(d)), [worker_report.text_of(_REPORT).encode()],
            words=worker_report.WorkerReport._fields),
        reader("rollup", lambda d: rollups.read(text_of(d)), [_SUMS], lambda s: rollups.written(s).encode() if s is not None else b"",
            words=("runs", "spent", "again", "1e999")),
        reader("bulk", lambda d: bulk.progress_of(text_of(d), "c"), [_progress()], words=bulk.BulkProgress._fields),
        reader("deployment", lambda d: deployments.deployment_of(text_of(d)), [b'[1767225600.0,"me","v1"]']),
    ]  # fmt: skip


def _of_pages() -> list[Target]:
    fields = ("q=", "id=", "days=", "&", "kind=", "name=", "value=", "reason=", "typed=", "token=", "%00", ".json")
    return [
        reader("search", _searched, _SEARCHES, words=("state:", "task:", "worker:", "queue:", "*", "?", "[!a]"), is_text=True),
        reader("address", lambda d: addresses.parse(text_of(d)), _ADDRESSES, words=(*fields, "/tasks", "/task"), is_text=True),
        reader("change", _change, _CHANGES, words=(*fields, "/pause", "/retry", "/revoke"), is_text=True),
    ]


def _of_programs() -> list[Target]:
    there = ("s3:::lake/raw/", "sqs:eu-west-1:123456789012:q.fifo", "sns:eu-west-1:123456789012:t")
    places = [f"arn:aws:{rest}".encode() for rest in there]
    call = (b"1,2", b"1\nb=2", b"[1]\nb={}")
    return [
        reader("box-payload", _payload, [_ANSWER, _FAILED, _REPORTED],
            words=("id", "ok", "error", "errorType", "errorMessage", "stackTrace")),
        reader("sink-place", lambda d: place_of(text_of(d)), [*places, b"https://crm.example.org:8443/in?a=b"],
            words=("arn:aws:", "dynamodb", "firehose", "deliverystream/", "event-bus/", "table/", "https://", "[::1]", "@"), is_text=True),
        reader("call-arguments", _arguments, call, words=("a=", "b=", "[", "{", "\n"), is_text=True, most_cpu=FILE_S),
    ]  # fmt: skip


def _progress() -> bytes:
    return bulk.text_of(bulk.BulkProgress("c", "retry", "q", "r", 10)).encode()


def _configured(layer: Layer, found: Mapping[str, object]) -> Shop:
    held: Shop = merged(Shop, _FIELDS, [(layer, found)]).value
    if type(held.pool.size) is not int or type(held.is_open) is not bool or type(held.rate) is not float or type(held.name) is not str:
        raise Broken("a value of another type than its field's")
    return held


def _from_file(data: bytes) -> Any:
    path = _FOLDER / "shop.toml"
    path.write_bytes(data)
    layer = Layer("toml", f"{path}#shop" if data.startswith(b"[shop]") else str(path))
    return _configured(layer, read_layer(layer, None))


def _from_store(kind: str, where: str, keep: Callable[[Ports, str], None], data: bytes) -> Any:
    held, layer = ports(), Layer(kind, where)
    keep(held, text_of(data))
    return _configured(layer, read_layer(layer, held))


def _profile(held: Ports, text: str) -> None:
    held.parameters.put("a/b/c", text)  # type: ignore[attr-defined]


def _memo(held: Ports, text: str) -> None:
    held.memos.change(Memo(STAGE_VALUES, text, "1"), Memo(STAGE_VALUES))


def _from_values(data: bytes) -> Any:
    found = json.loads(data) if _is_object(data) else {}
    return _configured(Layer("ssm", "/shop"), found)


def _is_object(data: bytes) -> bool:
    try:
        return isinstance(json.loads(data), dict)
    except (ValueError, RecursionError):
        return False


def _searched(data: bytes) -> Any:
    query = task_query.parse(text_of(data))
    return [query.is_met(task) for task in _TASKS]


def _change(data: bytes) -> Any:
    target, _, body = text_of(data).partition("\n")
    return changes.parse(target, body)


def _payload(data: bytes) -> Any:
    return read_payload(data, "c", failed=data[:2] != b'{"')


def _arguments(data: bytes) -> Any:
    """Read the arguments of a call as a person writes them: the positional ones in the first line, then a named one in each line."""
    first, *named = text_of(data).split("\n")
    given = [part for part in first.split(",") if part]
    strict = Asked("add", tuple(given), tuple(named), is_strict=data[:1] == b'"', options={})
    return arguments(stall.app.registry.tasks["add"], strict)


_TASKS = [*read_state(words.CELERY)[0].tasks_by_time()]
_FOLDER = Path(tempfile.mkdtemp(prefix="sedano-fuzz-"))
