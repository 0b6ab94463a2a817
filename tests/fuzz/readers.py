"""Targets: every reader in the tree, one text an execution.

A reader returns a value or refuses: with an error of its own (`SedanoError`), and where that is a `MessageRefused`, with a code of the
closed list. What it accepts is written again and read again, and must be equal.
"""

from __future__ import annotations

import base64
import hashlib
import json
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from sedano.engine.cluster.explanation import explain
from sedano.errors import MessageRefused, SedanoError
from sedano.memory import ports
from sedano.memory.stream_records import queue_record
from sedano.model import (
    budgets as budget,
)
from sedano.model import (
    circuits as breaker,
)
from sedano.model import (
    health,
    pauses,
    refusals,
)
from sedano.model import (
    publisher_frames as frames,
)
from sedano.model import (
    timers as timer,
)
from sedano.model.canvas import (
    continuation,
)
from sedano.model.canvas import (
    page_reader as page,
)
from sedano.model.history import (
    manifests,
    run_rows,
)
from sedano.model.limits import (
    rate as rates,
)
from sedano.model.limits import (
    task_limits as limiting,
)
from sedano.model.messages import (
    codec,
    stamps,
    timestamps,
)
from sedano.model.messages import (
    strict_json as strict,
)
from sedano.model.messages.message import BlobRef, Place
from sedano.model.schedules import (
    agenda,
    timetable,
)
from sedano.model.schedules.cron import read_cron
from sedano.model.schedules.timetable import read_timetable
from sedano.model.sources import (
    signature_schemes as signed,
)
from sedano.model.sources import (
    streams as stream,
)
from sedano.model.sources import (
    webhooks as webhook,
)
from sedano.model.sources.queue_messages import FORMATS
from sedano.model.workflow.definition import plain
from sedano.model.workflow.definition_reader import read as read_workflow
from sedano.ports import EVENTS, RECORDS
from sedano.views.cluster import read_state
from sedano.workflow import files
from tests.fuzz import seeds, stall, words
from tests.fuzz.loop import Target
from tests.fuzz.referee import Broken

Read = Callable[[bytes], Any]
Again = Callable[[Any], bytes]
EXACT_UNTIL = 4_000_000_000
"""Moments after 2096 are no whole microseconds in a double; two that differ by less than a millisecond are the same there."""
NOW = 1_767_225_600.0
FILE_S = 3.0
"""The most CPU for a workflow's file of 64 KiB: its author reads it, and PyYAML's own loader takes most of that."""


def reading(read: Read, again: Again | None, own: tuple[type[Exception], ...], data: bytes) -> None:
    """Read *data* and, when it is accepted, read what is written of it; *own*: how else this reader may refuse."""
    try:
        value = read(data)
    except MessageRefused as refused:
        if refused.code not in refusals.ALL:
            raise Broken(f"a code that is not in the closed list: {refused.code}") from None
        return
    except (SedanoError, *own):
        return
    if again is not None and not _same(read(again(value)), value):
        raise Broken("accepted, but not the same when it is written and read again")


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) or _rounded(one) == _rounded(other)


def _rounded(value: Any) -> Any:
    """Return *value* with late moments to the millisecond."""
    if isinstance(value, float) and value > EXACT_UNTIL:
        return round(value, 3)
    if isinstance(value, tuple):
        return tuple(map(_rounded, value))
    return value


def reader(
    name: str, read: Read, good: Sequence[bytes], again: Again | None = None, own: tuple[type[Exception], ...] = (), **options: Any
) -> Target:  # fmt: skip
    """Return the target of a reader."""
    return Target(name, partial(reading, read, again, own), good, **options)


def text_of(data: bytes) -> str:
    """Return *data* as a queue hands it over: text, whatever was sent."""
    return data.decode("utf-8", "replace")


def every() -> list[Target]:
    """Return a target for each reader."""
    return [*_of_messages(), *_of_sources(), *_of_texts(), *_of_stores(), *_of_workflows()]


def _of_messages() -> list[Target]:
    messages = seeds.small(seeds.bodies(seeds.COMMANDS, EVENTS))
    values = [json.dumps(one).encode() for one in ([1, 2], {"a": None}, "x", 5, 0.5, [{"k": [True]}])]
    data = [b'{"args":[1,2],"kwargs":{"a":1}}', b'{"args":[]}', b"{}"]
    packed = seeds.small(seeds.bodies(RECORDS), 20)
    timers = [body for body in seeds.bodies(seeds.COMMANDS) if b"sedano.timer" in body[:60]]
    kept = [page for page in seeds.travelled().blobs if page[:8] == b'{"item":']
    pages = kept + [_plan(body) for body in messages if b"canvasplan" in body]
    return [
        reader("json", lambda d: strict.load(d, 1 << 20, 64), [*values, *messages[:20]], lambda v: json.dumps(v).encode(), weight=2),
        Target("publisher-frames", _publisher, [*_PUBLICATIONS, *(b"".join(_PUBLICATIONS[:n]) for n in (2, 4))]),
        reader("message", codec.decode, messages, lambda m: codec.encode(m).encode(), words=words.ATTRIBUTES, weight=4),
        reader("value", lambda d: codec.decode_value(text_of(d)), values, lambda v: codec.encode_value(v).encode()),
        reader("data", codec.decode_data, data, lambda v: codec.encode_data(*v)),
        reader("event-data", codec.decode_event_data, [b'{"item":"tea","amount":2}'], codec.encode_event_data),
        reader("document-data", codec.decode_document_data, [b'{"value":{"sku":"tea","rate":0.5}}'], codec.encode_document_data),
        reader("blob", _blob, [json.dumps([seeds.digest(b"x"), 1, "x"]).encode(), b'["00",5,""]']),
        reader("timer", lambda d: timer.opened(text_of(d)), timers, lambda t: timer.sealed(t).encode(), words=words.TIMERS),
        reader("page", _page, pages, words=words.PLANS),
        reader("record", lambda d: run_rows.unpack(text_of(d)), [*packed, words.RECORD], words=words.RECORDS, weight=2),
    ]  # fmt: skip


_PUBLICATIONS = (
    b"PUB 1 commands:default 0 - 5\nhello", b"PUB 2 events 900 acme 3\n\xe2\x82\xac", b"STAT\n", b"PUB 3 commands:mail 5 - 0\n",
    b"+7\n", b"-3 away not reached\n", frames.info_line(frames.PublisherInfo(2_000, frames.SENT, "5e")),
)  # fmt: skip


def _publisher(data: bytes) -> None:
    """Read *data* as the publisher does, whole and in at most 2 000 pieces, and its first lines as a program does."""
    whole, pieces, step = frames.FrameReader(100), frames.FrameReader(100), 1 + len(data) // 2_000
    if whole.feed(data) != [frame for at in range(0, len(data), step) for frame in pieces.feed(data[at : at + step])]:
        raise Broken("other frames in pieces")
    program = frames.Unconfirmed()
    for _ in range(5):
        program.add()
    for line in data.split(b"\n", 100)[:100]:  # a program closes the connection at the first line that it cannot read
        with suppress(ValueError):
            program.read(line)
        with suppress(ValueError):
            info = frames.read_info(line)
            if frames.read_info(frames.info_line(info)[:-1]) != info:
                raise Broken("another first line when it is written and read again")


def _page(data: bytes) -> Any:
    """Read a page of a plan, and look at the first two items on it."""
    text = text_of(data)
    return [continuation.find(Place("c", node, text), page.parse) for node in ("", "0", "1")[bool(page.parse(text)) :]]


def _plan(body: bytes) -> bytes:
    return str(json.loads(body)["canvasplan"]).encode()


def _blob(data: bytes) -> Any:
    """Read a claim check and what lies under it."""
    found = strict.load(data, 1 << 20, 64)
    if not isinstance(found, list) or [*map(type, found)] != [str, int, str]:
        return None
    store = ports().blobs
    store.put(found[2].encode("utf-8", "replace"))
    return store.get(BlobRef(found[0], found[1]))


def _of_sources() -> list[Target]:
    return [
        reader("webhook", lambda d: webhook.read_back(text_of(d)), words.REQUESTS, lambda r: webhook.written(r).encode(),
            words=words.HEADERS),
        reader("signature", _signature, words.SIGNED, words=words.HEADERS),
        reader("stream", _stream, words.STREAMED, words=words.STREAMS, weight=2),
        *(reader(f"stream-{form}", _message(form), words.MESSAGES, words=words.NOTIFICATIONS) for form in FORMATS[1:]),
    ]


def _signature(data: bytes) -> None:
    """Let each scheme judge one request. The secret depends on the request, so no request holds it and every scheme has to refuse."""
    found = strict.load(data, 1 << 20, 64)
    if not isinstance(found, dict) or not isinstance(found.get("headers"), dict) or not isinstance(found.get("body"), str):
        return
    headers = {str(name).lower(): value for name, value in found["headers"].items() if isinstance(value, str)}
    body = found["body"].encode("utf-8", "replace")
    secret = base64.b64encode(hashlib.sha256(data).digest()).decode()
    for scheme in _SCHEMES:
        why = scheme.refusal(headers, body, (secret,), NOW)
        if why is None:
            raise Broken(f"let in: {scheme}")
        if why not in signed.REFUSALS:
            raise Broken(f"a reason that is not in the closed list: {why:.40}")


_SCHEMES = (
    signed.hmac_sha256(header="X-Signature", prefix="sha256="), signed.hmac_sha256(header="X-Signature", encoding="base64"),
    signed.secret_token(header="X-Token"), signed.stripe(), signed.slack(), signed.standard_webhooks(),
)  # fmt: skip


def _stream(data: bytes) -> Any:
    record = stream.read_back(text_of(data))
    stream.sequence(record)
    found = [stream.read_all("orders", record, NOW, form) for form in (FORMATS if stream.is_of_queue(record) else FORMATS[:1])]
    return json.dumps(found, allow_nan=False)


def _message(form: str) -> Callable[[bytes], Any]:
    """Read a body of a queue's message by its format."""

    def read(data: bytes) -> Any:
        return json.dumps(stream.read_all("orders", queue_record(1, NOW, text_of(data), {}), NOW, form), allow_nan=False)

    return read


def _of_texts() -> list[Target]:
    return [
        reader("cron", lambda d: read_cron(text_of(d)), words.CRONS, words=words.CRON, is_text=True),
        reader("timetable", _timetable, words.TIMETABLES, words=words.CRON),
        reader("rate", lambda d: rates.paces(text_of(d)), [b"200/m", b"10/s", b"0.5/h", b"3/d"], words=("/s", "/m", "/h", "/d", "."),
            is_text=True),
        reader("stamps", _stamps, [b"team=core,cost=a%20b", b"a=b"], words=("=", ",", "%", "%C3%A9"), is_text=True),
        reader("moment", lambda d: timestamps.read(text_of(d)), words.MOMENTS, lambda m: timestamps.write(m).encode(), (ValueError,),
            is_text=True),
        reader("limits", lambda d: limiting.read(text_of(d)), words.LIMITS, lambda c: limiting.write(c).encode(), words=words.LIMIT),
        reader("slot", _slot, [b"1767225600000000/0/10000x1", b"1/3/5x1+7x2"], words=("/", "+", "x"), is_text=True),
        reader("pause", _pause, [b"default", b"task=add", b"tenant=acme 1767225600 1767225700"], words=("queue=", "task=", "id=", " "),
            is_text=True),
    ]  # fmt: skip


def _timetable(data: bytes) -> Any:
    found = strict.load(data, 1 << 20, 64)
    if not isinstance(found, list) or len(found) != 2 or not isinstance(found[0], str) or not isinstance(found[1], list):
        return None
    table = read_timetable(found[0], found[1])
    kind, values = timetable.written(table)
    if read_timetable(kind, json.loads(json.dumps(values))) != table:
        raise Broken("accepted, but not the same when it is written and read again")
    return timetable.upcoming(table, NOW, 3)


def _stamps(data: bytes) -> Any:
    text = text_of(data)
    if stamps.is_written(text) and stamps.read(stamps.write(stamps.read(text)) if _writable(text) else text) != stamps.read(text):
        raise Broken("accepted, but not the same when it is written and read again")


def _writable(text: str) -> bool:
    try:
        stamps.write(stamps.read(text))
    except SedanoError:  # a header's name, or longer when it is written anew
        return False
    return True


def _slot(data: bytes) -> Any:
    slot = limiting.slot_of(text_of(data))
    if slot is not None:
        limiting.kept(slot)
        if limiting.slot_of(limiting.slot_text(slot)) != slot:
            raise Broken("accepted, but not the same when it is written and read again")


def _pause(data: bytes) -> Any:
    found = pauses.in_force([text_of(data)], NOW)
    return [pauses.parsed(one.text) for one in found]


def _of_stores() -> list[Target]:
    lines = [line for history in seeds.travelled().histories for line in history.splitlines()]
    return [
        reader("agenda", _agenda, words.agendas(), words=words.AGENDA),
        reader("circuit", lambda d: breaker.from_text(text_of(d)), words.CIRCUITS, lambda c: breaker.to_text(c).encode()),
        reader("health", lambda d: health.from_text(text_of(d)), words.HEALTHS, lambda h: health.to_text(h).encode()),
        reader("budget", lambda d: budget.from_text(text_of(d)), words.BUDGETS, lambda b: budget.to_text(b).encode()),
        reader("manifest", manifests.read_snapshot, words.MANIFESTS, manifests.write_snapshot, words=words.MANIFEST),
        reader("pointer", manifests.read_pointer, words.POINTERS, manifests.write_pointer),
        reader("history", _history, [*seeds.small(lines, 40), *words.CELERY], words=words.EVENTS, weight=2),
        reader("explain", _explained, [*seeds.small(lines, 20), *words.HELD], words=words.EVENTS),
    ]  # fmt: skip


def _agenda(data: bytes) -> Any:
    found = agenda.read_agenda(3, text_of(data), "n")
    if agenda.read_agenda(3, agenda.write_agenda(found), "n") != found:
        raise Broken("accepted, but not the same when it is written and read again")
    return found


def _history(data: bytes) -> None:
    """Let the live view take lines of worker events in, ours and Celery's; what it cannot read it counts."""
    watched, unreadable = read_state([data])
    state, tasks = watched.state, watched.tasks_by_time()
    state.states()
    state.task_types()
    if len(tasks) + len(state.workers) + unreadable > len(data.splitlines()):
        raise Broken("more was read than there are lines")


def _explained(data: bytes) -> None:
    """Let a history with these lines explain a task."""
    held = ports()
    held.events.append("2026-01-01", data)
    explain(held, ("default",), words.HELD_ID)


def _of_workflows() -> list[Target]:
    toml, yaml = (*words.WORKFLOW, *words.TOML_WORDS), (*words.WORKFLOW, *words.YAML_WORDS)
    return [
        reader("workflow", _workflow, words.workflows(), words=words.WORKFLOW),
        reader("workflow-toml", partial(_file, ".toml"), words.TOML, words=toml, is_text=True, most_cpu=FILE_S),
        reader("workflow-yaml", partial(_file, ".yaml"), words.YAML, words=yaml, is_text=True, most_cpu=FILE_S, weight=0.7),
    ]


def _workflow(data: bytes) -> None:
    """Read a definition as it lies in the blob store."""
    found = strict.load(data, 1 << 20, 64)
    definition, problems = read_workflow(found)
    if not problems and read_workflow(json.loads(json.dumps(plain(definition))))[0] != definition:
        raise Broken("accepted, but not the same when it is written and read again")


def _file(suffix: str, data: bytes) -> None:
    """Load a workflow's file."""
    path = _FOLDER / f"flow{suffix}"
    path.write_bytes(data)
    files.load(stall.app, path)


_FOLDER = Path(tempfile.mkdtemp(prefix="sedano-fuzz-"))
