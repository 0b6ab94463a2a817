"""The report of a worker in its member record: its host, the queues that it serves, its versions, and its hindrances. Pure.

The report is one text of at most `MOST_REPORT` characters, which travels with each heartbeat: a look at the members is a look at what runs
where. A worker writes it anew when it changes. A report that is too long loses the ends of its reasons first, then the ends of its lists.
A reader takes any text: one that is not a report is read as an empty one, and a field of another type, which a newer version may write, is
left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from sedano.errors import MessageRefused
from sedano.model.messages.strict_json import load

LAMBDA, PROCESS, FARGATE, DEV = "lambda", "process", "fargate", "dev"
"""The kinds of hosts. A process is one of `sedano worker`; on Fargate it has a name of its own, and so has that of `sedano dev`."""
READY, PAUSED, DRAINING, DEGRADED = "ready", "paused", "draining", "degraded"
"""The conditions of a worker: one that drains receives nothing more; one is degraded while a boot step
has not started or a loop is stuck."""
MOST_REPORT: Final = 2_000
LONGEST_NAME: Final = 64
"""How many characters of a name a report holds."""
LONGEST_PROCESS: Final = 120
_SIZES: Final = ((160, 24), (80, 12), (30, 6), (0, 1))
"""How many characters of a reason and how many entries of a list a report may have, tried in this order until it is short enough."""


class UnstartedStep(NamedTuple):
    """A boot step that has not started: its *name*, its *state* (`sedano.model.boot`), and the *reason* of its last failure."""

    name: str
    state: str
    reason: str = ""


class WorkerReport(NamedTuple):
    """The report: the kind of *host*, the *condition*, the *queues* served, the versions of the app's *code*, of the *library* and of the
    *config*, how many bodies run at once (*lanes*) and how many more messages may wait for one (*prefetch*), the seconds between heartbeats
    (*beat*), the *steps* that have not started, and the loops that are *stuck*. *process*: the name of its process, and *started*: the
    lanes with which that process was started; both are empty for a function.
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
    """Return the report that *text* holds, without what is not one."""
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
    return float(value) if type(value) in (int, float) and value >= 0 else None  # type: ignore[operator, arg-type]


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
