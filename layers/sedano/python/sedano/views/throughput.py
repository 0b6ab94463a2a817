"""The throughput of a stage in a window of time: runs a minute, failure rates, durations and costs, by task. No event is read.

The recorder writes the sums of each object (`sedano.model.history.rollups`), so an hour costs one query and a few read units, whatever the
number of tasks. The window ends a minute ago, because the recorder collects events for up to a minute: its figures are settled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sedano.app import Sedano
from sedano.errors import OptionError
from sedano.model import states
from sedano.model.history.rollups import EMPTY, MINUTE_S, RunSums, Sums, merged, quantile, read, total, within
from sedano.views.reader import About, Reader
from sedano.views.tail import RECORDER_S

WINDOWS: Mapping[str, int] = {"1h": 60, "6h": 360, "24h": 1_440, "7d": 10_080}
"""The windows and their minutes."""
SLOTS = 12
"""The number of equal parts of a window."""
NO_ROLLUPS = "This stage has no roll-ups, because an earlier version deployed it; deploy it again. `sedano list` reads the event history."
WORKER = "worker"


class TaskRate(NamedTuple):
    """The runs of one *task* on one *queue*: how many *ended* in all, *failed* for good, and were *retried*; *failing*: the failed share.

    *ran*: the sum of their running times (s). *median*, *slow*: the seconds within which 50 % and 95 % of the runs ended; *waited*:
    within which 95 % began. None: not known. *nanodollars*: its share of the cost of the workers, in proportion to *ran*.
    """

    task: str
    queue: str
    ended: int
    failed: int
    retried: int
    failing: float
    ran: float
    median: float | None
    slow: float | None
    waited: float | None
    nanodollars: int | None


class WindowPart(NamedTuple):
    """A part of the window that begins *at* (epoch s): the runs that *ended*, those that *failed* for good, and the runs *a_minute*."""

    at: float
    ended: int
    failed: int
    a_minute: float


class ThroughputView(NamedTuple):
    """The *tasks*, those with the most runs first, and the *slots* of the window from *since* to *until* (epoch s), in order.

    *spent*: nanodollars by function, if functions reported their invocations. *again*: the most runs that may be counted twice,
    because their records were delivered again. *notes*: sentences about the figures. *unreadable*: roll-ups of another version.
    """

    tasks: tuple[TaskRate, ...]
    slots: tuple[WindowPart, ...]
    spent: Mapping[str, int]
    since: float
    until: float
    again: int
    unreadable: int
    notes: tuple[str, ...]
    about: About


def throughput(app: Sedano, window: str = "1h") -> ThroughputView:
    """Return the throughput of the last *window*, one of `WINDOWS`.

    Raises:
        OptionError: *window* is not one of them.
        PortMissing: the deployment has no roll-ups.
    """
    if window not in WINDOWS:
        raise OptionError(f"{window[:40]!r} is not a window; write one of {', '.join(WINDOWS)}")
    reader = Reader(app)
    latest = int(reader.now) // MINUTE_S
    until = int(reader.now - RECORDER_S) // MINUTE_S
    since = until - WINDOWS[window]
    found = reader.ports.rollups.read(since, latest)
    texts = [read(one.text) for one in found or ()]
    sums = within(merged(one for one in texts if one is not None), since, until) if texts else EMPTY
    return ThroughputView(
        tasks=tuple(_rates(sums)), slots=tuple(_slots(sums, since, until)), spent=_spent(sums), since=since * MINUTE_S,
        until=until * MINUTE_S, again=sums.again, unreadable=sum(one is None for one in texts),
        notes=(NO_ROLLUPS,) if found is None else _notes(sums, sum(one is None for one in texts)), about=reader.about(settled=True),
    )  # fmt: skip


def failed(runs: RunSums) -> int:
    """Return how many of *runs* failed for good."""
    return sum(number for state, number in runs.ended.items() if state in states.FAILED)


def _rates(sums: Sums) -> list[TaskRate]:
    places: dict[tuple[str, str], list[RunSums]] = {}
    for place, runs in sums.runs.items():
        places.setdefault((place.task, place.queue), []).append(runs)
    by_task = {key: total(some) for key, some in places.items()}
    spent = _spent(sums).get(WORKER)
    whole, number = sum(one.ran for one in by_task.values()), sum(one.number for one in by_task.values())
    rates = [
        _rate(key, one, None if spent is None else round(spent * (one.ran / whole if whole else one.number / number)))
        for key, one in by_task.items()
    ]
    return sorted(rates, key=lambda one: (-one.ended, one.task, one.queue))


def _rate(key: tuple[str, str], runs: RunSums, nanodollars: int | None) -> TaskRate:
    lost, retried = failed(runs), runs.ended.get(states.RETRY, 0)
    return TaskRate(
        task=key[0], queue=key[1], ended=runs.number, failed=lost, retried=retried, failing=lost / max(runs.number - retried, 1),
        ran=runs.ran / 1e6, median=quantile(runs.running, 0.5), slow=quantile(runs.running, 0.95), waited=quantile(runs.waiting, 0.95),
        nanodollars=nanodollars,
    )  # fmt: skip


def _slots(sums: Sums, since: int, until: int) -> list[WindowPart]:
    size = (until - since) // SLOTS
    parts: dict[int, list[RunSums]] = {}
    for place, runs in sums.runs.items():
        parts.setdefault((place.minute - since) // size, []).append(runs)
    return [_slot(since + number * size, size, parts.get(number, ())) for number in range(SLOTS)]


def _slot(begin: int, size: int, some: Sequence[RunSums]) -> WindowPart:
    runs = total(some)
    return WindowPart(begin * MINUTE_S, runs.number, failed(runs), runs.number / size)


def _spent(sums: Sums) -> dict[str, int]:
    found: dict[str, int] = {}
    for (function, _), nanos in sorted(sums.spent.items()):
        found[function] = found.get(function, 0) + nanos
    return found


def _notes(sums: Sums, unreadable: int) -> tuple[str, ...]:
    again = f"At most {sums.again:,} runs are counted twice: their records were delivered again."
    newer = f"{unreadable} roll-ups cannot be read: a newer version wrote them."
    steps = "Times are the bounds of steps, at most 42 % too large."
    return (*((steps,) if sums.runs else ()), *((again,) if sums.again else ()), *((newer,) if unreadable else ()))
