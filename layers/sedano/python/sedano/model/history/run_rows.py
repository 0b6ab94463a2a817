"""Run rows: the packed events of one invocation, sent as one message; they become event lines later, off the hot path.

A run is one row of a packed record; `unpack` (the recorder calls it) turns the row into the event lines that Celery's monitors know:
task-sent, task-received, task-started and the end. The worker writes `task-sent` from the publisher's data in the message, so publishing
costs no second call. Other events (a duplicate, a steal, a parked message) are lines from the beginning. Rows have times as whole
microseconds, because writing a float as text costs five times as much as writing an integer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sedano.errors import MessageRefused
from sedano.model import refusals
from sedano.model.messages.strict_json import MAX_BYTES, MAX_DEPTH, load

VERSION = 1
SUCCEEDED, FAILED, RETRIED, REVOKED = "task-succeeded", "task-failed", "task-retried", "task-revoked"
_FIELDS = (
    "uuid", "name", "queue", "root_id", "parent_id", "retries", "source", "sent", "sent_clock", "received", "received_clock",
    "started", "started_clock", "ended", "ended_clock", "end", "exception", "stamps",
)  # fmt: skip
Row = tuple[Any, ...]
"""One run, in the order of `_FIELDS`; times are microseconds since the epoch, *end* the class of the last event or None.

*stamps* are only in the rows of tasks that have stamps.
"""
MICRO = 1_000_000
LATEST = 253_402_300_800
"""The first second of the year 10 000, which no date can represent."""
_write = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


class Host(NamedTuple):
    """The source of the rows: the function's host name with its environment, its process id, and its memory in MB if Lambda bills it."""

    hostname: str
    pid: int
    memory_mb: int | None = None


class Chronicle:
    """Collects the events of one invocation."""

    __slots__ = ("host", "lines", "rows")

    def __init__(self, host: Host) -> None:
        """Collect events for *host*."""
        self.host = host
        self.rows: list[Row] = []
        self.lines: list[dict[str, Any]] = []

    def line(self, kind: str, clock: int, timestamp: float, **fields: Any) -> None:
        """Add one event line of type *kind*."""
        self.lines.append({"type": kind, "clock": clock, "timestamp": timestamp, **fields})

    def pack(self) -> str | None:
        """Return everything as the body of one message, or None if there are no events."""
        if not self.rows and not self.lines:
            return None
        packed = {"v": VERSION, "host": self.host.hostname, "pid": self.host.pid, "rows": self.rows, "lines": self.lines}
        return _write(packed)

    def packs(self, most: int) -> list[str]:
        """Return everything as the bodies of messages of at most *most* bytes each; a longer row or line gets its own body."""
        whole, count = self.pack(), len(self.rows) + len(self.lines)
        if whole is None:
            return []
        if len(whole) <= most or count == 1:  # what `_write` writes is ASCII
            return [whole]
        first, second, middle = Chronicle(self.host), Chronicle(self.host), count // 2
        first.rows, second.rows = self.rows[:middle], self.rows[middle:]
        in_lines = max(0, middle - len(self.rows))
        first.lines, second.lines = self.lines[:in_lines], self.lines[in_lines:]
        return first.packs(most) + second.packs(most)

    def unpacked(self) -> list[dict[str, Any]]:
        """Return the lines as `unpack` would, for a function that writes the history itself."""
        who = _who(self.host.hostname, self.host.pid)
        return [{**who, **line} for line in self.lines]


def unpack(body: str) -> list[dict[str, Any]]:
    """Return the event lines of a packed record.

    Raises:
        MessageRefused: the body is not a packed record of this version (code `bad-record`), with the field that is wrong.
    """
    packed = _parsed(body)
    who = _who(packed["host"], packed["pid"])
    try:
        events = [event for row in packed["rows"] for event in _events(row, who)]
    except (TypeError, OverflowError):
        raise MessageRefused(refusals.RECORD, "rows", "times are integers, in microseconds") from None
    lines = [{**who, **line} for line in packed["lines"]]
    for name, some in (("rows", events), ("lines", lines)):
        if not all(0 <= event["timestamp"] < LATEST for event in some):
            raise MessageRefused(refusals.RECORD, name, "a time is not between the years 1970 and 9999")
    return events + lines


def _who(hostname: str, pid: int) -> dict[str, Any]:
    return {"hostname": hostname, "pid": pid, "utcoffset": 0}


def _parsed(body: str) -> dict[str, Any]:
    try:
        packed: Any = load(body, MAX_BYTES, MAX_DEPTH)
    except MessageRefused as wrong:
        raise MessageRefused(refusals.RECORD, "body", wrong.detail) from None
    shape = {"v": int, "host": str, "pid": int, "rows": list, "lines": list}
    for name, kind in shape.items():
        if not isinstance(packed, dict) or type(packed.get(name)) is not kind:
            raise MessageRefused(refusals.RECORD, name, f"expected {kind.__name__}")
    if packed["v"] != VERSION:
        raise MessageRefused(refusals.NEWER, "v", f"version {packed['v']} is newer than {VERSION}")
    if not all(isinstance(r, list) and len(_FIELDS) - 1 <= len(r) <= len(_FIELDS) for r in packed["rows"]):
        raise MessageRefused(refusals.RECORD, "rows", f"each row has {len(_FIELDS) - 1} fields, or {len(_FIELDS)} with stamps")
    if not all(isinstance(line, dict) and isinstance(line.get("timestamp"), int | float) for line in packed["lines"]):
        raise MessageRefused(refusals.RECORD, "lines", "each line is an object with a timestamp")
    checked: dict[str, Any] = packed
    return checked


def _events(row: list[Any], who: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    run = dict(zip(_FIELDS, row, strict=False))
    uuid, started, ended = run["uuid"], run["started"], run["ended"]
    task: dict[str, Any] = {name: run[name] for name in ("uuid", "name", "root_id", "parent_id", "retries", "stamps") if name in run}
    sent = {"hostname": run["source"], "pid": 0, "queue": run["queue"], "timestamp": run["sent"] / MICRO, "clock": run["sent_clock"]}
    yield {**who, **task, "type": "task-sent", **sent}
    received = {"queue": run["queue"], "timestamp": run["received"] / MICRO, "clock": run["received_clock"]}
    yield {**who, **task, "type": "task-received", **received}
    if started is not None:
        yield {**who, "uuid": uuid, "type": "task-started", "timestamp": started / MICRO, "clock": run["started_clock"]}
    if run["end"] is not None:
        end = {"uuid": uuid, "type": run["end"], "timestamp": ended / MICRO, "clock": run["ended_clock"]}
        extra = {"runtime": (ended - started) / MICRO} if started is not None else {}
        yield {**who, **end, **extra, **({"exception": run["exception"]} if run["exception"] is not None else {})}
