"""Roll-ups: the sums of one object of the history. With them, a window of time can be summed without reading its events. Pure.

The recorder writes one roll-up beside each object (`sedano.engine.history.recorder`). Its rows are the ends of runs by task, queue and
minute: how many ended in which state, the time for which they ran, and two histograms, of running and of waiting. It also has the cost of
the invocations in its reports, by function and minute. In an app with a spending limit it also has the shares of tasks and tenants in the
cost of the workers (`sedano.model.history.cost_shares`).

Sums of objects can be added (`merged`) in any order and grouping. An object that is written twice has the same name, and the store keeps
one roll-up per name. A record that was delivered again in another batch is in two objects; a reader of events counts each of its events
once, but the roll-ups count it twice. So a roll-up has the number of its runs from records that had been received before (*again*): the
true number of runs in a window is smaller by at most this number.

The size is bounded: at most `MOST_ROWS` rows, with the smaller ones together in `OTHERS`, and `MOST_BUCKET` + 1 steps in a histogram.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log2
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from sedano.model import states
from sedano.model.history.cost_shares import Share, SharePlace, cost_shares
from sedano.model.history.invocation_prices import INVOKED, MILLION, MOST, price

MOST_ROWS = 64
OTHERS = "(others)"
"""The name of the row for the tasks beyond the first `MOST_ROWS` rows."""
MOST_BUCKET = 64
"""The last step of a histogram: times longer than 49 days."""
MOST_NAME = 200
MINUTE_S = 60
LIFETIME_S = 45 * 86_400
"""How long a roll-up is kept after its minute: views do not read the history further back."""
_ENDS: Mapping[str, str] = {
    states.type_of(name): state for name, state in states.STATE_OF_CLASS.items() if name in {row.event for row in states.ROWS.values()}
}
_NOTHING: Mapping[str, Any] = MappingProxyType({"uuid": object()})  # differs from the id of every event
_BEFORE = ("task-sent", "task-received", "task-started")
"""The events of a run before its end."""
Key = TypeVar("Key")
Counts = Mapping[int, int]
NO_COUNTS: Counts = MappingProxyType({})
NO_SHARES: Mapping[SharePlace, Share] = MappingProxyType({})


class RunPlace(NamedTuple):
    """The runs of a *task* on a *queue* that ended in one *minute* since the epoch."""

    task: str
    queue: str
    minute: int


class RunSums(NamedTuple):
    """The sums of some runs: how many *ended* in each state, the microseconds for which they *ran*, and histograms of running and waiting.

    The steps of a histogram are numbers of `bucket`; runs whose time is unknown are not in it.
    """

    ended: Mapping[str, int]
    ran: int = 0
    running: Counts = NO_COUNTS
    waiting: Counts = NO_COUNTS

    @property
    def number(self) -> int:
        """The number of runs."""
        return sum(self.ended.values())


class Sums(NamedTuple):
    """The *runs* by place, the nanodollars *spent* by function and minute, and the number of runs that may be counted twice (*again*).

    *shares*: those of tasks and tenants in the cost of the workers; empty in an app without a spending limit.
    """

    runs: Mapping[RunPlace, RunSums]
    spent: Mapping[tuple[str, int], int]
    again: int = 0
    shares: Mapping[SharePlace, Share] = NO_SHARES


@dataclass(slots=True)
class _Row:
    """A row during the summation."""

    ended: dict[str, int] = field(default_factory=dict)
    ran: int = 0
    running: dict[int, int] = field(default_factory=dict)
    waiting: dict[int, int] = field(default_factory=dict)


class Rollup(NamedTuple):
    """The sums of the object *name* in the form for a store: a *text*, and the *minute* (since the epoch) of the latest end or report."""

    name: str
    minute: int
    text: str


EMPTY = Sums({}, {})


def summed(events: Iterable[Mapping[str, Any]], again: Iterable[Mapping[str, Any]] = ()) -> Sums:
    """Return the sums of *events* (decoded JSON), with each end counted once; *again*: the events of records that had been received before.

    The events of a run are adjacent, as `sedano.model.history.run_rows.unpack` returns them. If no earlier event has the name of the task,
    the end's own name is used, or else `OTHERS`. This function runs for every task, so it uses mutable lists and dicts internally.
    """
    rows: dict[tuple[str, str, int], _Row] = {}
    spent: dict[tuple[str, int], int] = {}
    last: dict[Any, Mapping[str, Any]] = dict.fromkeys(_BEFORE, _NOTHING)
    seen: set[tuple[Any, Any, Any]] = set()
    for event in events:
        kind: Any = event.get("type")
        try:
            if kind in last:
                last[kind] = event
            elif kind in _ENDS:
                mark = kind, event.get("uuid"), event.get("clock")
                if mark not in seen:
                    seen.add(mark)
                    _end(rows, event, last)
            elif kind.endswith(INVOKED):
                _report(spent, seen, event)
        except (TypeError, AttributeError):  # a line from another writer: a field is not a string
            continue
    return _bounded(Sums(_rows(rows), spent, sum(str(event.get("type")) in _ENDS for event in again)))


def shared(sums: Sums, events: Iterable[Mapping[str, Any]], tenants: Collection[str]) -> Sums:
    """Return *sums* of *events* with the shares of tasks in the cost of the workers; only *tenants* are distinguished."""
    return sums._replace(shares=_bounded_shares(cost_shares(events, tenants)))


def merged(some: Iterable[Sums]) -> Sums:
    """Return the total of *some* sums."""
    runs: dict[RunPlace, RunSums] = {}
    spent: dict[tuple[str, int], int] = {}
    shares: dict[SharePlace, Share] = {}
    again = 0
    for one in some:
        for place, each in one.runs.items():
            runs[place] = _both(runs.get(place), each)
        for key, nanos in one.spent.items():
            spent[key] = spent.get(key, 0) + nanos
        for spot, share in one.shares.items():
            shares[spot] = _sum_of(shares.get(spot), share)
        again += one.again
    return Sums(runs, spent, again, shares)


def total(some: Iterable[RunSums]) -> RunSums:
    """Return the total of *some* sums of runs."""
    found = RunSums({})
    for one in some:
        found = _both(found, one)
    return found


def within(sums: Sums, since: int, until: int) -> Sums:
    """Return the part of *sums* in the minutes from *since* up to, but not including, *until*; *again* is unchanged, as an upper bound."""
    runs = {place: one for place, one in sums.runs.items() if since <= place.minute < until}
    spent = {key: nanos for key, nanos in sums.spent.items() if since <= key[1] < until}
    shares = {place: share for place, share in sums.shares.items() if since <= place.minute < until}
    return Sums(runs, spent, min(sums.again, sum(one.number for one in runs.values())), shares)


def bucket(seconds: float) -> int:
    """Return the step of a histogram: 0 below a millisecond, then two steps for each doubling."""
    milliseconds = seconds * 1_000
    return 0 if milliseconds < 1 else min(1 + int(2 * log2(milliseconds)), MOST_BUCKET)


def bound(step: int) -> float:
    """Return the upper bound of the times in a *step*, in seconds."""
    return float(2 ** (step / 2)) / 1_000


def quantile(counts: Counts, share: float) -> float | None:
    """Return the quantile *share* of a histogram in seconds, at most 42 % too large; None if it is empty."""
    left = share * sum(counts.values())
    for step in sorted(counts):
        left -= counts[step]
        if left <= 0:
            return bound(step)
    return None


def rollup(name: str, sums: Sums) -> Rollup | None:
    """Return the roll-up of the object *name*; None if its events contain neither an end nor a report."""
    minutes = [place.minute for place in sums.runs] + [minute for _, minute in sums.spent]
    return Rollup(name, max(minutes), written(sums)) if minutes else None


def written(sums: Sums) -> str:
    """Return *sums* as text; equal sums have equal texts."""
    rows = [
        [*place, dict(sorted(one.ended.items())), one.ran, sorted(one.running.items()), sorted(one.waiting.items())]
        for place, one in sorted(sums.runs.items())
    ]
    spent = [[*key, nanos] for key, nanos in sorted(sums.spent.items())]
    if sums.shares:
        shares = [[*place, *share] for place, share in sorted(sums.shares.items())]
        return json.dumps({"v": 1, "again": sums.again, "runs": rows, "spent": spent, "shares": shares}, separators=(",", ":"))
    return json.dumps({"v": 1, "again": sums.again, "runs": rows, "spent": spent}, separators=(",", ":"))


def read(text: str) -> Sums | None:
    """Return the sums in *text*; None for a text of another version, or for one that `written` did not write."""
    try:
        found = json.loads(text)
        if found["v"] != 1:
            return None
        runs = {
            RunPlace(str(task), str(queue), int(minute)): RunSums(
                {str(state): int(n) for state, n in ended.items()}, int(ran), {int(b): int(n) for b, n in running},
                {int(b): int(n) for b, n in waiting},
            )
            for task, queue, minute, ended, ran, running, waiting in found["runs"]
        }  # fmt: skip
        spent = {(str(function), int(minute)): int(nanos) for function, minute, nanos in found["spent"]}
        shares = {
            SharePlace(str(task), str(tenant), int(minute)): Share(int(number), int(nanos))
            for task, tenant, minute, number, nanos in found.get("shares", ())
        }
        return Sums(runs, spent, int(found["again"]), shares)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None


def _end(rows: dict[tuple[str, str, int], _Row], end: Mapping[str, Any], last: Mapping[Any, Mapping[str, Any]]) -> None:
    """Add a run from its *end* and the *last* events before it, if these are of the same task."""
    uuid, minute = end.get("uuid"), int(end["timestamp"]) // MINUTE_S
    received, sent, started = last["task-received"], last["task-sent"], last["task-started"]
    said = received if received.get("uuid") == uuid else sent if sent.get("uuid") == uuid else end
    place = str(said.get("name") or end.get("name") or OTHERS), str(said.get("queue") or ""), minute
    row = rows.get(place)
    if row is None:
        row = rows[place] = _Row()
    state = _ENDS[end["type"]] if end.get("exception") is None else _state(end)
    row.ended[state] = row.ended.get(state, 0) + 1
    runtime = end.get("runtime")
    if runtime.__class__ is float and 0 <= runtime <= MOST:  # as workers report it
        row.ran += round(runtime * MILLION)
        step = bucket(runtime)
        row.running[step] = row.running.get(step, 0) + 1
    if started.get("uuid") == uuid and sent.get("uuid") == uuid and started["timestamp"] >= sent["timestamp"]:
        step = bucket(started["timestamp"] - sent["timestamp"])
        row.waiting[step] = row.waiting.get(step, 0) + 1


def _state(end: Mapping[str, Any]) -> str:
    """Return the state of an *end*; some states are in its exception, because they share the type of their event with another state."""
    word, told = str(end["exception"]).partition("(")[0], _ENDS[end["type"]]
    return word if states.TOLD_BY_EXCEPTION.get(word) == told else told  # type: ignore[call-overload]


def _report(spent: dict[tuple[str, int], int], seen: set[tuple[Any, Any, Any]], event: Mapping[str, Any]) -> None:
    mark = event["type"], event.get("hostname"), event.get("clock")
    if mark not in seen:
        seen.add(mark)
        key = _text(event["type"].removesuffix(INVOKED)), int(event["timestamp"]) // MINUTE_S
        spent[key] = spent.get(key, 0) + price(event)


def _rows(rows: Mapping[tuple[str, str, int], _Row]) -> dict[RunPlace, RunSums]:
    found: dict[RunPlace, RunSums] = {}
    for (task, queue, minute), one in rows.items():
        place = RunPlace(_text(task), _text(queue.removeprefix("commands:")), minute)
        found[place] = _both(found.get(place), RunSums(one.ended, one.ran, one.running, one.waiting))
    return found


def _both(one: RunSums | None, other: RunSums) -> RunSums:
    if one is None:
        return other
    running, waiting = _added(one.running, other.running), _added(one.waiting, other.waiting)
    return RunSums(_added(one.ended, other.ended), one.ran + other.ran, running, waiting)


def _added(one: Mapping[Key, int], other: Mapping[Key, int]) -> dict[Key, int]:
    return {**one, **{key: one.get(key, 0) + count for key, count in other.items()}}


def _bounded(sums: Sums) -> Sums:
    """Return *sums* with at most `MOST_ROWS` rows of runs and of costs; the last row, of the latest minute, is the sum of the others."""
    if len(sums.runs) <= MOST_ROWS and len(sums.spent) <= MOST_ROWS:
        return sums
    order: Sequence[RunPlace] = sorted(sums.runs, key=lambda place: (-sums.runs[place].number, place))
    kept = {place: sums.runs[place] for place in order[: MOST_ROWS - 1]}
    if beyond := order[MOST_ROWS - 1 :]:
        rest = RunPlace(OTHERS, "", max(place.minute for place in order))
        kept[rest] = _both(kept.get(rest), total(sums.runs[place] for place in beyond))
    dear = sorted(sums.spent, key=lambda key: (-sums.spent[key], key))
    spent = {key: sums.spent[key] for key in dear[: MOST_ROWS - 1]}
    if more := dear[MOST_ROWS - 1 :]:
        last = (OTHERS, max(minute for _, minute in dear))
        spent[last] = spent.get(last, 0) + sum(sums.spent[key] for key in more)
    return Sums(kept, spent, sums.again)


def _bounded_shares(shares: Mapping[SharePlace, Share]) -> dict[SharePlace, Share]:
    """Return *shares* with the names of at most `MOST_ROWS` rows, the most expensive ones; the others are of the task `OTHERS`."""
    dear = sorted(shares, key=lambda place: (-shares[place].nanodollars, place))
    found: dict[SharePlace, Share] = {}
    for rank, place in enumerate(dear):
        name = place.task if rank < MOST_ROWS and place.task else OTHERS
        kept = SharePlace(_text(name), _text(place.tenant), place.minute)
        found[kept] = _sum_of(found.get(kept), shares[place])
    return found


def _sum_of(one: Share | None, other: Share) -> Share:
    return other if one is None else Share(one.number + other.number, one.nanodollars + other.nanodollars)


def _text(text: str) -> str:
    """Return the beginning of *text* in a form that every store can keep."""
    return text[:MOST_NAME].encode("utf-8", "replace").decode()
