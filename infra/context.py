"""The settings of a deployment as text: `-c stage=prod -c memory=1024 -c queue_concurrency=mail=2,bulk=50`.

Each field of `StageConfig` is a setting of the same name, and so are `app`, `code` and `requirements`, which name the deployed code. An
unknown setting is refused: a misspelt ceiling would have no effect.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from .config import StageConfig, require
from .fleet import Fleet

_WHAT = ("app", "code", "requirements", "replace", "ignore")
#: The one setting of the CDK itself whose name looks like one of sedano's.
_CDKS_OWN = "acknowledged-issue-numbers"
#: For those who work on the infrastructure itself: `accepted=false` lists the findings that have a reason as well.
_FOR_US = ("accepted",)
_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no")
#: A local stage shares one machine with everything else: its functions have short timeouts, and few of them run at once.
_LOCAL = {"timeout": 6, "concurrency": 4}


class Deployment(NamedTuple):
    """The deployed code (`module:attribute`, its directory, its requirements file; None: the one in the directory), and its stage.

    *ignore*: lines as in `.sedanoignore`. *replace*: it may replace another application, and queues in which messages wait.
    """

    app: str
    code: Path
    requirements: Path | None
    config: StageConfig
    replace: bool = False
    ignore: tuple[str, ...] = ()


def from_context(context: Mapping[str, object]) -> Deployment:
    """Read the settings out of a CDK *context*; names with `@`, `:` or `/` in them are the CDK's own.

    Raises:
        ConfigError: a setting is unknown, missing or cannot be used.
    """
    ours = [name for name in context if name != _CDKS_OWN and not re.search("[@:/]", name)]
    given = {name: str(context[name]).strip() for name in ours if context[name] is not None}
    _require_known(given)
    require(given.get("app"), "app", given.get("app", ""), "module:attribute, such as shop.tasks:app")
    require(given.get("code"), "code", given.get("code", ""), "the directory that holds the application's modules")
    read = {name: _READERS.get(name, _text)(name, text) for name, text in given.items() if name not in (*_WHAT, *_FOR_US)}
    if read.get("local"):
        read = {**_LOCAL, **read}
    requirements = given.get("requirements")
    ignore = tuple(line.strip() for line in given.get("ignore", "").split(",") if line.strip())
    replace = _flag("replace", given.get("replace", "false"))
    return Deployment(given["app"], Path(given["code"]), Path(requirements) if requirements else None, StageConfig(**read), replace, ignore)


def _require_known(given: Mapping[str, str]) -> None:
    known = sorted((*_WHAT, *(field.name for field in fields(StageConfig))))
    for name in given:
        near = difflib.get_close_matches(name, known, 1)
        expected = f"a setting that is known; did you mean {near[0]}?" if near else f"one of the settings {', '.join(known)}"
        require(name in known or name in _FOR_US, name, given[name], expected)


def _text(_: str, text: str) -> str:
    return text


def _optional(_: str, text: str) -> str | None:
    return text or None


def _number(name: str, text: str) -> int:
    require(re.fullmatch(r"-?\d{1,9}", text), name, text, "a whole number")
    return int(text)


def _dollars(name: str, text: str) -> float:
    require(re.fullmatch(r"\d{1,7}(\.\d{1,2})?", text), name, text, "dollars a month, such as 25 or 7.50")
    return float(text)


def _flag(name: str, text: str) -> bool:
    require(text.lower() in _TRUE + _FALSE, name, text, "true or false")
    return text.lower() in _TRUE


def _pairs(name: str, text: str) -> dict[str, str]:
    parts = [part.partition("=") for part in text.split(",") if part.strip()]
    require(all(sign and key.strip() for key, sign, _ in parts), name, text, "name=value, several separated by commas")
    return {key.strip(): value.strip() for key, _, value in parts}


def _numbers(name: str, text: str) -> dict[str, int]:
    return {key: _number(f"{name}[{key}]", value) for key, value in _pairs(name, text).items()}


def _joined(_: str, text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split("+")))


def _fleet(name: str, text: str) -> Fleet:
    """Read `image=…,drain=60,subnets=subnet-1+subnet-2`."""
    known = [field.name for field in fields(Fleet)]
    readers: Mapping[str, Callable[[str, str], Any]] = {
        **dict.fromkeys(("image", "architecture"), _text), **dict.fromkeys(("subnets", "security_groups"), _joined), "public_ip": _flag,
    }  # fmt: skip
    read: dict[str, Any] = {}
    for key, value in _pairs(name, text).items():
        near = difflib.get_close_matches(key, known, 1)
        expected = f"{near[0]}, if that was meant" if near else f"one of {', '.join(known)}"
        require(key in known, f"{name}.{key}", value, expected)
        read[key] = readers.get(key, _number)(f"{name}.{key}", value)
    require(read.get("image"), f"{name}.image", "", "the address of the image with your code")
    return Fleet(**read)


_READERS: Mapping[str, Callable[[str, str], Any]] = {
    **dict.fromkeys(("memory", "timeout", "batch", "concurrency", "retention", "blob_days"), _number),
    **dict.fromkeys(("history_days", "most_reads", "most_writes", "most_budget", "most_failures"), _number),
    **dict.fromkeys(("pipeline_lag", "webhook_concurrency"), _number),
    **dict.fromkeys(("account", "region", "permissions_boundary", "code_signing", "alarm_topic", "pipeline_schedule"), _optional),
    **dict.fromkeys(("local", "production", "own_key", "schedules", "worker_url"), _flag),
    **dict.fromkeys(("pipeline_by_task", "task_metrics", "group_commit", "empty_buckets"), _flag),
    "budget": _dollars,
    "queue_concurrency": _numbers,
    "fleet": _fleet,
    **dict.fromkeys(("served_by", "tags", "streams", "stream_keys", "tables", "functions", "sinks"), _pairs),
}
