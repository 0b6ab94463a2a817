"""The attributes of the open protocol: one table for each kind of message, with its CloudEvents attributes and their readers.

A reader takes the JSON value of one attribute and returns the value of the model, or raises an error that names the attribute. CloudEvents
attributes are strings, booleans and integers of 32 bits, so the 64-bit clock travels as decimal text. `null` means that the attribute is
absent. An attribute that is not in the table belongs to an extension of another party: it is ignored, but their number is limited, and none
may hold an array or an object.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from sedano.errors import MessageRefused
from sedano.model import refusals, states
from sedano.model.messages import headers, stamps, timestamps
from sedano.model.messages.lineage import MAX_HOPS
from sedano.model.messages.message import Section, TimeLimits
from sedano.model.messages.strict_json import MAX_DEPTH, shown
from sedano.model.retry import MOST_EXECUTIONS

Reader = Callable[[Any], Any]
Table = Mapping[str, Reader]

MAX_DATA_DEPTH = MAX_DEPTH - 1
MAX_VALUE_DEPTH = MAX_DEPTH - 4
"""The most nested containers in one result: the body of a chord is called with a list of results, which adds levels."""
LONGEST_ID = 256
LONGEST_TENANT = 128
"""The message groups that SQS accepts."""
MAX_ATTEMPT = MOST_EXECUTIONS
MAX_CLOCK = 2**63 - 1
MAX_INT32 = 2**31 - 1
MAX_DATA_BYTES = 64 * 1_048_576
"""The most bytes of claim-checked data, uncompressed."""
MOST_FOREIGN = 32
LONGEST_FOREIGN = 4096

is_id = re.compile(r"[!-~]{1,256}").fullmatch
is_tenant = re.compile(r"[!-~]{1,128}").fullmatch
is_name = re.compile(r"[^\x00-\x20\x7f-\xa0\ud800-\udfff]{1,256}").fullmatch
is_traceparent = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}").fullmatch
_STATE = r"[a-z0-9][a-z0-9_\-*/@]{0,255}=[ -+\--<>-~]{0,255}[!-+\--<>-~]"
is_tracestate = re.compile(rf"(?=[ -~]{{1,512}}\Z){_STATE}(?: ?, ?{_STATE}){{0,31}}").fullmatch
_is_clock = re.compile(r"0|[1-9][0-9]{0,18}").fullmatch
_is_blob = re.compile(r"blob:[0-9a-f]{64}").fullmatch
is_mark = re.compile(r"[A-Za-z0-9_.-]{1,64};[0-9a-f]{32}").fullmatch
is_digest = re.compile(r"[0-9a-f]{64}").fullmatch
is_node = re.compile(r"[0-9]{1,9}(?:\.(?:[0-9]{1,9}|links|forks|pages)){0,63}").fullmatch
is_plan = re.compile(r"blob:[0-9a-f]{64}:[0-9]{1,8}|\{[ -~]{1,4094}\}").fullmatch
_is_section = re.compile(r"[1-9][0-9]{0,5}:[1-9][0-9]{0,5}").fullmatch
_SECONDS = r"(?=[0-9.]*[1-9])[0-9]{1,7}(?:\.[0-9]{1,6})?"
_are_limits = re.compile(f"{_SECONDS}:(?:{_SECONDS})?|:{_SECONDS}").fullmatch
_is_foreign = re.compile(r"[a-z0-9]{1,64}").fullmatch


def refuse(field: str, value: object, wanted: str) -> MessageRefused:
    """Return the error for *value* in *field*, where *wanted* was expected."""
    found = shown(value) if isinstance(value, str | int | float | None) else f"a JSON {'array' if isinstance(value, list) else 'object'}"
    return MessageRefused(refusals.SCHEMA, field, f"{found} is not {wanted}")


def _text(name: str, matches: Callable[[str], object], wanted: str) -> Reader:
    def read(value: Any) -> str:
        if type(value) is not str or not matches(value):
            raise refuse(name, value, wanted)
        return value

    return read


def _converted(name: str, matches: Callable[[str], object], convert: Callable[[str], Any], wanted: str) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not str or not matches(value):
            raise refuse(name, value, wanted)
        return convert(value)

    return read


def _number(name: str, least: int, most: int) -> Reader:
    def read(value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            raise refuse(name, value, f"an integer from {least} to {most}")
        return value

    return read


def _flag(name: str) -> Reader:
    def read(value: Any) -> bool:
        if type(value) is not bool:
            raise refuse(name, value, "true or false")
        return value

    return read


def _moment(name: str) -> Reader:
    def read(value: Any) -> float:
        if type(value) is not str:
            raise refuse(name, value, "a time (RFC 3339)")
        try:
            return timestamps.read(value)
        except ValueError as error:
            raise MessageRefused(refusals.SCHEMA, name, f"{shown(value)}: {error}") from None

    return read


def _constant(name: str, only: str) -> Reader:
    def read(value: Any) -> str:
        if value != only:
            raise refuse(name, value, f'"{only}"')
        return only

    return read


def _clock(value: Any) -> int:
    clock = int(value) if type(value) is str and _is_clock(value) else -1
    if not 0 <= clock <= MAX_CLOCK:
        raise refuse("clock", value, f"a decimal number of at most {MAX_CLOCK}, as a string")
    return clock


def _hops(value: Any) -> int:
    if type(value) is int and value > MAX_HOPS:
        raise MessageRefused(refusals.HOPS, "hops", f"{shown(value)} dynamic spawns since the root; the limit is {MAX_HOPS}")
    hops: int = _read_hops(value)
    return hops


def _section(text: str) -> Section:
    index, _, count = text.partition(":")
    return Section(int(index), int(count))


def _time_limits(text: str) -> TimeLimits:
    soft, _, hard = text.partition(":")
    return TimeLimits(float(soft) if soft else None, float(hard) if hard else None)


def call(value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Read a command's data: ``{"args": [...], "kwargs": {...}}``, both optional; any other key is refused."""
    if type(value) is not dict:
        raise refuse("data", value, "an object with args and kwargs")
    args, kwargs = value.get("args", _NONE), value.get("kwargs")
    if type(args) is not list:
        raise refuse("data.args", args, "an array")
    if len(value) == ("args" in value):
        return tuple(args), {}
    if type(kwargs) is not dict and "kwargs" in value:
        raise refuse("data.kwargs", kwargs, "an object")
    if strange := value.keys() - {"args", "kwargs"}:
        raise MessageRefused(refusals.SCHEMA, "data", f"{shown(min(strange))} is neither args nor kwargs")
    return tuple(args), kwargs or {}


def _fields(value: Any) -> dict[str, Any]:
    """Read an event's data: its fields."""
    if type(value) is not dict:
        raise refuse("data", value, "an object, the event's fields")
    return value


def _answer(value: Any) -> tuple[Any, tuple[str, str, str] | None]:
    """Read a document's data: ``{"value": ...}`` or ``{"error": {"type", "message", "traceback"}}``."""
    if type(value) is not dict or len(value) > 1 or (value and not {"value", "error"} & value.keys()):
        raise refuse("data", value, "an object with either value or error")
    error = value.get("error")
    if "error" not in value:
        return value.get("value"), None
    if type(error) is not dict or not {"type", "message"} <= error.keys() <= {"type", "message", "traceback"}:
        raise refuse("data.error", error, "an object with type, message and traceback")
    for name, part in error.items():
        if type(part) is not str:
            raise refuse(f"data.error.{name}", part, "a string")
    return None, (error["type"], error["message"], error.get("traceback", ""))


_NONE: list[Any] = []
_read_hops = _number("hops", 0, MAX_HOPS)
_ID = f"a string of 1 to {LONGEST_ID} visible ASCII characters"
_NAME = f"a string of 1 to {LONGEST_ID} characters without spaces and control characters"

COMMON: Table = {
    "specversion": _constant("specversion", "1.0"),
    "type": lambda value: value,
    "id": _text("id", is_id, _ID),
    "source": _text("source", is_id, _ID),
    "subject": _text("subject", is_name, _NAME),
    "time": _moment("time"),
    "clock": _clock,
    "datacontenttype": _constant("datacontenttype", "application/json"),
}
"""The attributes of all messages. `type` has no check here: `decode` reads it first and chooses the table by it."""
SENT: Table = {
    "rootid": _text("rootid", is_id, _ID),
    "parentid": _text("parentid", is_id, _ID),
    "hops": _hops,
    "budget": _number("budget", 0, MAX_INT32),
    "budgetmark": _text("budgetmark", is_mark, "the id of a key, a semicolon and 32 hexadecimal digits"),
    "tenant": _text("tenant", is_tenant, f"a string of 1 to {LONGEST_TENANT} visible ASCII characters"),
    "traceparent": _text("traceparent", is_traceparent, "a W3C traceparent"),
    "tracestate": _text("tracestate", is_tracestate, "a W3C tracestate, key=value,key=value in at most 512 characters"),
    "stamps": _text("stamps", stamps.is_written, f"stamps, name=value,name=value in at most {stamps.LONGEST} characters"),
    "dataref": _converted("dataref", _is_blob, lambda text: text[5:], 'a claim check, "blob:" and a sha256 in hexadecimal'),
    "datasize": _number("datasize", 0, MAX_DATA_BYTES),
}
"""The attributes that all messages share: origin, budget, tenant, trace, stamps, and the claim check."""
COMMAND: Table = {
    **COMMON,
    **SENT,
    "taskid": _text("taskid", is_id, _ID),
    "attempt": _number("attempt", 0, MAX_ATTEMPT),
    "expirytime": _moment("expirytime"),
    "ignoreresult": _flag("ignoreresult"),
    "joinid": _text("joinid", is_id, _ID),
    "joinindex": _number("joinindex", 0, MAX_INT32),
    "joinsize": _number("joinsize", 1, MAX_INT32),
    "gatherid": _text("gatherid", is_id, _ID),
    "gathersize": _number("gathersize", 0, MAX_INT32),
    "gatherhandon": _flag("gatherhandon"),
    "gatheroutcomes": _flag("gatheroutcomes"),
    "canvasid": _text("canvasid", is_id, _ID),
    "canvasnode": _text("canvasnode", is_node, 'the path of an item in a page, such as "3.1"'),
    "canvasplan": _text("canvasplan", is_plan, 'a page of a canvas: "blob:", sha256, ":" and its size, or the JSON text of a short page'),
    "section": _converted("section", _is_section, _section, 'the number of a section and its failures, such as "1:4"'),
    "timelimits": _converted("timelimits", _are_limits, _time_limits, 'a soft and a hard limit in seconds, such as "50:60" or ":60"'),
    "headers": _text("headers", headers.is_written, f"headers, a JSON object of at most {headers.LONGEST} bytes as a string"),
    "data": call,
}
EVENT: Table = {**COMMON, **SENT, "data": _fields}
DOCUMENT: Table = {
    **COMMON,
    **SENT,
    "taskid": _text("taskid", is_id, _ID),
    "state": _text("state", states.TERMINAL.__contains__, f"one of {', '.join(sorted(states.TERMINAL))}"),
    "data": _answer,
}


def attributes(envelope: Mapping[str, Any], table: Table) -> dict[str, Any]:
    """Return the model's values of those attributes in *envelope* that *table* lists.

    Raises:
        MessageRefused: an attribute has an invalid value, or too many attributes are not in the table.
    """
    found, foreign = {}, 0
    for name, value in envelope.items():
        read = table.get(name)
        if read is None:
            foreign += 1
            _look_at(name, value, foreign)
        elif value is not None:
            found[name] = read(value)
    return found


def _look_at(name: str, value: Any, count: int) -> None:
    """Refuse an attribute of an extension that CloudEvents does not allow, or that exceeds the allowed number."""
    if not _is_foreign(name):
        raise MessageRefused(refusals.SCHEMA, shown(name), "the name of an attribute has only lower-case letters and digits")
    if count > MOST_FOREIGN:
        raise MessageRefused(refusals.SCHEMA, name, f"more than {MOST_FOREIGN} attributes of other extensions")
    if isinstance(value, str) and len(value) > LONGEST_FOREIGN:
        raise MessageRefused(refusals.SCHEMA, name, f"more than {LONGEST_FOREIGN} characters")
    if isinstance(value, dict | list | float) or (type(value) is int and not -MAX_INT32 - 1 <= value <= MAX_INT32):
        raise refuse(name, value, "a string, a boolean or an integer of 32 bits")
