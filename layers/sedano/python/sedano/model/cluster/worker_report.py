"""The report of a worker in its member record: its host, the queues that it serves, its versions, and its problems. Pure.

The report is one text of at most `MOST_REPORT` characters, which travels with each heartbeat, so the members show what runs where. A worker
writes a new report when its content changes. If a report is too long, its reasons are cut first, then its lists. A reader accepts any text:
a text that is not a report is read as an empty report, and a field of another type, which a newer version may write, is ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from sedano.errors import MessageRefused
from sedano.model.messages.strict_json import load
from sedano.model.number_ranges import is_number

LAMBDA, PROCESS, FARGATE, DEV = "lambda", "process", "fargate", "dev"
"""The kinds of hosts. PROCESS is a process of `sedano worker`; on Fargate and in `sedano dev` its kind has another name."""
READY, PAUSED, DRAINING, DEGRADED = "ready", "paused", "draining", "degraded"
"""The conditions of a worker. A draining worker no longer receives; a degraded one has a boot step that has not started, or a loop that is
stuck.
"""
MOST_REPORT: Final = 2_000
MOST_SECONDS: Final = 2**53
LONGEST_NAME: Final = 64
"""The most characters of a report, seconds since a beat, and characters of a name in a report."""
LONGEST_PROCESS: Final = 120
_SIZES: Final = ((160, 24), (80, 12), (30, 6), (0, 1))
"""The most characters of a reason and the most entries of a list; these pairs are tried in order until the report is short enough."""


class UnstartedStep(NamedTuple):
    """A boot step that has not started: its *name*, its *state* (`sedano.model.boot`), and the *reason* of its last failure."""

    name: str
    state: str
    reason: str = ""


class WorkerReport(NamedTuple):
    """The report: the kind of *host*, the *condition*, the *queues* served, the versions of the app's *code*, of the *library* and of the
    *config*, how many bodies run at once (*lanes*), how many more messages may wait in the worker (*prefetch*), the seconds between
    heartbeats (*beat*), the *steps* that have not started, and the loops that are *stuck*. *process*: the name of its process, and
    *started*: the lanes with which that process was started; both are empty for a function.
    """

    host: str = ""
    condition: str = ""
    queues: tuple[str, ...] = ()
    code: str = ""
    library: str = ""
    config: str = ""
    lanes: int = 0
    prefetch: int = 0
    beat: float = 0.0
    steps: tuple[UnstartedStep, ...] = ()
    stuck: tuple[str, ...] = ()
    process: str = ""
    started: int = 0


def condition(*, draining: bool, paused: bool, hindered: bool) -> str:
    """Return the condition of a worker; *hindered*: a boot step has not started, or a loop is stuck."""
    if draining:
        return DRAINING
    return PAUSED if paused else DEGRADED if hindered else READY


def text_of(report: WorkerReport) -> str:
    """Return *report* as the text of a member record."""
    return next(text for size in _SIZES if len(text := _text(report, *size)) <= MOST_REPORT)


def report_of(text: str) -> WorkerReport:
    """Return the report in *text*, without its invalid fields."""
    try:
        found: Any = load(text, MOST_REPORT * 4, 4, "report") if text else {}
    except (MessageRefused, ValueError):
        return WorkerReport()
    if type(found) is not dict:
        return WorkerReport()
    known = {name: _READERS[name](value) for name, value in found.items() if name in _READERS}
    return WorkerReport(**{name: value for name, value in known.items() if value is not None})


def _text(report: WorkerReport, longest: int, most: int) -> str:
    def names(some: Iterable[str]) -> list[str]:
        return [one[:LONGEST_NAME] for one in some][:most]

    short = report._asdict() | {
        "host": report.host[:LONGEST_NAME], "condition": report.condition[:LONGEST_NAME], "queues": names(report.queues),
        "code": report.code[:LONGEST_NAME], "library": report.library[:LONGEST_NAME], "config": report.config[:LONGEST_NAME],
        "steps": [[one.name[:LONGEST_NAME], one.state[:LONGEST_NAME], one.reason[:longest]] for one in report.steps[:most]],
        "stuck": names(report.stuck), "process": report.process[:LONGEST_PROCESS],
    }  # fmt: skip
    return json.dumps({name: value for name, value in short.items() if value}, separators=(",", ":"))


def _str(value: object) -> str | None:
    return value if type(value) is str else None


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _seconds(value: object) -> float | None:
    return float(value) if is_number(value, 0, MOST_SECONDS) else None


def _texts(value: object) -> tuple[str, ...] | None:
    return tuple(value) if type(value) is list and all(type(one) is str for one in value) else None


def _steps(value: object) -> tuple[UnstartedStep, ...] | None:
    rows = [_texts(row) for row in value] if type(value) is list else [None]
    fit = [UnstartedStep(*row) for row in rows if row is not None and len(row) == len(UnstartedStep._fields)]
    return tuple(fit) if len(fit) == len(rows) else None


_READERS: Final[Mapping[str, Any]] = {
    "host": _str, "condition": _str, "queues": _texts, "code": _str, "library": _str, "config": _str, "lanes": _count, "prefetch": _count,
    "beat": _seconds, "steps": _steps, "stuck": _texts, "process": _str, "started": _count,
}  # fmt: skip
