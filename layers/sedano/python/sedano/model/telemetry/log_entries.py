"""A log line before it is written, the lines that wait for an output that does not work, and the two texts of a line. Pure.

In JSON, a line has the form of the lines of the deployed functions: the fields of the caller are under `fields`, never at the top level, so
that a reader such as CloudWatch takes none of them for one of its own keys.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
"""The levels of a line, with the numbers of Python's logging."""
MOST_KEPT = 1_000
"""How many lines wait for an output that does not work; then the oldest is lost."""
LONGEST_TEXT = 32 * 1024
"""How many characters of a text a line holds."""
LOST = "log lines were lost while the output did not work"
_dump = json.JSONEncoder(separators=(",", ":"), default=str, skipkeys=True).encode


class LogEntry(NamedTuple):
    """One line: when it was logged (epoch s), its level (a key of `LEVELS`), its message and its fields."""

    at: float
    level: str
    message: str
    fields: Mapping[str, Any]


class KeptEntries:
    """The lines that are not written yet, the oldest first, and how many were lost since `report` was called."""

    __slots__ = ("_entries", "_most", "lost")

    def __init__(self, most: int = MOST_KEPT) -> None:
        """Keep at most *most* lines."""
        self._entries: deque[LogEntry] = deque()
        self._most, self.lost = most, 0

    def __len__(self) -> int:
        """Return how many lines wait."""
        return len(self._entries)

    def add(self, entry: LogEntry) -> None:
        """Keep *entry*; the oldest line is lost if too many wait."""
        if len(self._entries) >= self._most:
            self._entries.popleft()
            self.lost += 1
        self._entries.append(entry)

    def oldest(self) -> LogEntry | None:
        """Return the line to write next, or None."""
        return self._entries[0] if self._entries else None

    def written(self) -> None:
        """Drop the oldest line: it is written."""
        self._entries.popleft()

    def refused(self) -> None:
        """Drop the oldest line, which the output can never write, and count it as lost."""
        self._entries.popleft()
        self.lost += 1

    def report(self, at: float) -> LogEntry | None:
        """Return the line that says how many were lost, and count from 0 again; None without a loss."""
        lost, self.lost = self.lost, 0
        return LogEntry(at, "warning", LOST, {"lines": lost}) if lost else None


def json_line(entry: LogEntry, service: str) -> str:
    """Return *entry* as one line of JSON in ASCII, without its end; a value that JSON cannot hold is written as its text."""
    line: dict[str, Any] = {
        "level": entry.level.upper(), "message": cut(entry.message), "timestamp": moment(entry.at), "service": service,
    }  # fmt: skip
    if entry.fields:
        line["fields"] = {name: cut(value) for name, value in entry.fields.items()}
    try:
        return _dump(line)
    except (ValueError, TypeError, RecursionError, AttributeError):  # a circle, or a value without a text
        return _dump({**line, "fields": {name: f"<{type(value).__name__}>" for name, value in entry.fields.items()}})


def console_line(entry: LogEntry, time: str) -> str:
    """Return *entry* as one line for a person, without its end; *time* is its first word. Control characters are written as escapes."""
    fields = "".join(f" {name}={cut(str(value))}" for name, value in entry.fields.items())
    return f"{time} {entry.level.upper():<7} {_printable(f'{cut(entry.message)}{fields}')}"


def moment(at: float) -> str:
    """Return the epoch second *at* as UTC with milliseconds, such as 2026-11-28T08:00:00.250Z."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def cut(value: Any) -> Any:
    """Return *value*; a text is cut to `LONGEST_TEXT` characters."""
    return f"{value[:LONGEST_TEXT]} ... {len(value) - LONGEST_TEXT} more" if isinstance(value, str) and len(value) > LONGEST_TEXT else value


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
