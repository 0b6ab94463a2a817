"""The shares of tasks and tenants in the cost of workers, from the events of one object of the history. Pure.

The rule is that of the cost of tasks (`sedano.model.history.task_costs`): the cost of the invocations of one worker is divided among its
runs by their time. It is applied within one object, which has the report of each invocation beside its runs. The cost of a worker that ran
nothing in the object, for example because it gave all messages back, has no share; only the sums by function contain it.

The recorder computes shares only for an app that declares a spending limit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

from sedano.model.history.invocation_prices import INVOKED, MILLION, MOST, price
from sedano.model.messages.stamps import TENANT, from_event

MINUTE_S: Final = 60
WORKER: Final = f"worker{INVOKED}"
_NAMED = frozenset({"task-sent", "task-received"})


class SharePlace(NamedTuple):
    """The runs of *task* for *tenant* (empty: all tenants without a limit) that ended in one *minute* since the epoch."""

    task: str
    tenant: str
    minute: int


class Share(NamedTuple):
    """The cost of some runs: the *number* of runs and their *nanodollars*."""

    number: int
    nanodollars: int


class _Run(NamedTuple):
    place: SharePlace
    micros: int


def cost_shares(events: Iterable[Mapping[str, Any]], tenants: Collection[str]) -> dict[SharePlace, Share]:
    """Return the shares of the runs in *events* (decoded JSON), each run and each report once; only *tenants* are distinguished.

    The events of a run are adjacent, as `sedano.model.history.run_rows.unpack` returns them.
    """
    spent: dict[str, int] = defaultdict(int)
    runs: dict[str, list[_Run]] = defaultdict(list)
    seen: set[tuple[Any, Any, Any]] = set()
    named: Mapping[str, Any] = {}
    for event in events:
        kind = event.get("type")
        try:
            if kind in _NAMED:
                named = event
            elif kind == WORKER and _is_new(seen, (kind, event["hostname"], event.get("clock"))):
                spent[event["hostname"]] += price(event)
            elif "runtime" in event and _is_new(seen, (kind, event["uuid"], event.get("clock"))):
                runs[event["hostname"]].append(_run(event, named, tenants))
        except (TypeError, KeyError, ValueError, OverflowError):  # a line from another writer: a field is missing or has another type
            continue
    return _divided(spent, runs)


def _is_new(seen: set[tuple[Any, Any, Any]], mark: tuple[Any, Any, Any]) -> bool:
    before = len(seen)
    seen.add(mark)
    return len(seen) > before


def _run(end: Mapping[str, Any], named: Mapping[str, Any], tenants: Collection[str]) -> _Run:
    """Return the run that ended with *end*; *named*: the last event with the name of a task, if it is of the same run."""
    of_run = named if named.get("uuid") == end["uuid"] else end
    tenant = from_event(of_run.get("stamps")).get(TENANT, "") if tenants else ""
    runtime = end["runtime"]
    micros = round(runtime * MILLION) if runtime.__class__ is float and 0 <= runtime <= MOST else 0
    place = SharePlace(str(of_run.get("name") or ""), tenant if tenant in tenants else "", int(end["timestamp"]) // MINUTE_S)
    return _Run(place, micros)


def _divided(spent: Mapping[str, int], runs: Mapping[str, list[_Run]]) -> dict[SharePlace, Share]:
    """Return the cost of each worker, divided among its runs by their time, or equally if they took none."""
    found: dict[SharePlace, Share] = {}
    for worker, some in runs.items():
        whole, cost = sum(run.micros for run in some), spent.get(worker, 0)
        for run in some:
            before = found.get(run.place, Share(0, 0))
            own = cost * run.micros // whole if whole else cost // len(some)
            found[run.place] = Share(before.number + 1, before.nanodollars + own)
    return found
