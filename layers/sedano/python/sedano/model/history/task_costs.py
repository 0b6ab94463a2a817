"""The cost of tasks, estimated from the events of the history with the list prices of us-east-1 in US dollars. Pure.

Measured: a function on Lambda reports the milliseconds, the memory and the AWS calls of its invocations. The cost of the invocations of one
worker is divided among its attempts by their run time. The router and the recorder are separate rows, because many tasks share their cost.
Estimated: an attempt of a worker that reports nothing (`sedano dev`, or Celery's) is charged as if it had run alone on Lambda with
`MEMORY_MB`. Not included: starts of environments, and calls after the last line of a process.

The history job computes its table `cost` by the same rule and with these prices (`glue_jobs.pipeline.tables.cost`). Shares are rounded to
whole nanodollars, so sums do not depend on the order of events, and an event that arrives twice counts once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Any, Final, NamedTuple

from sedano.model.history.event_order import Stamp
from sedano.model.history.invocation_prices import GB_SECONDS, INVOCATIONS, INVOKED, MEMORY_MB, MILLION, NANO, price
from sedano.model.history.invocation_prices import number as _number
from sedano.model.history.registers import Timeline, finalise, fold
from sedano.model.messages.stamps import TENANT, from_event
from sedano.model.states import CLIENT, RESET, STATE_OF_CLASS, type_of

ASIDE: Final = {"router": ("sedano.router", "events"), "recorder": ("sedano.recorder", "records")}
"""The functions that do not run tasks: the name of their row, and the queue that they read."""
MEASURED, ESTIMATED = "measured", "estimated"
FULL_BATCH = 10
"""The messages of a full batch of SQS."""
_STARTED, _RESET = type_of("started"), type_of(RESET)
_OF_WORKERS = frozenset(type_of(one) for one in STATE_OF_CLASS if one != CLIENT)
_ENDS = _OF_WORKERS - {_STARTED, type_of("received")}


class TaskCost(NamedTuple):
    """The cost of the tasks of one *name*, *queue* and *tenant*: the number of *tasks* and *attempts*, and their total *nanodollars*.

    *basis*: ``measured`` or ``estimated``; *run_micros*: the microseconds for which they ran. The rows of router and recorder have 0 tasks.
    """

    name: str
    queue: str
    tenant: str
    basis: str
    tasks: int
    attempts: int
    run_micros: int
    nanodollars: int

    @property
    def dollars_a_million(self) -> float | None:
        """Return the cost of a million such tasks; None for a row with 0 tasks."""
        return self.nanodollars / self.tasks / 1_000 if self.tasks else None


class CanvasCost(NamedTuple):
    """The cost of the canvas with this *root*: the *name* of the first task, the number of *tasks* and their *nanodollars*."""

    root: str
    name: str
    tasks: int
    nanodollars: int


class WorkerCost(NamedTuple):
    """The total of all workers' reports: *invocations*, *messages* and *nanodollars*; *avoidable*: the cost that fewer, full batches would
    save.

    Only the charge for invocations counts as avoidable, because their share of the time is unknown.
    """

    invocations: int
    messages: int
    nanodollars: int
    avoidable: int


class Costs(NamedTuple):
    """The cost of *tasks*, of *canvases* with several tasks, both with the most expensive first, and of all *workers*."""

    tasks: tuple[TaskCost, ...]
    canvases: tuple[CanvasCost, ...]
    workers: WorkerCost


class _Share(NamedTuple):
    worker: str
    micros: int


def task_costs(once: Mapping[Stamp, Mapping[str, Any]]) -> Costs:
    """Return the costs from the events of a history (decoded JSON), with each event *once*, by its position in the total order."""
    reports = [(at, event) for at, event in once.items() if at.type.endswith(INVOKED)]
    known = {uuid: finalise(registers) for uuid, registers in fold(once.values())[0].items()}
    of_workers = _by_task(once)
    ran = {uuid: _runs(task, of_workers[uuid]) for uuid, task in known.items()}
    paid = _paid(ran, reports)
    rows = [*_rows(known, paid), *_aside(reports)]
    return Costs(
        tasks=tuple(sorted(rows, key=lambda one: (-one.nanodollars, one.name, one.queue, one.tenant, one.basis))),
        canvases=tuple(_canvases(known, paid)), workers=_workers(reports),
    )  # fmt: skip


def _by_task(once: Mapping[Stamp, Mapping[str, Any]]) -> dict[str, list[tuple[Stamp, Mapping[str, Any]]]]:
    """Return the events of each task in order, without those of its client."""
    found: dict[str, list[tuple[Stamp, Mapping[str, Any]]]] = defaultdict(list)
    for at in sorted(one for one in once if one.type in _OF_WORKERS):
        found[at.uuid].append((at, once[at]))
    return found


def _runs(task: Timeline, ordered: Iterable[tuple[Stamp, Mapping[str, Any]]]) -> list[_Share]:
    """Return the attempts of a *task* that began; retries divide its *ordered* events into attempts."""
    if RESET not in task.times:
        return [_share(task.worker or "", _number(task.run_seconds, 0))] if "started" in task.times else []
    found: list[_Share] = []
    attempt: list[tuple[Stamp, Mapping[str, Any]]] = []
    for at, event in ordered:
        attempt.append((at, event))
        if at.type == _RESET:
            found += _run(attempt)
            attempt = []
    return [*found, *_run(attempt)]


def _run(attempt: Sequence[tuple[Stamp, Mapping[str, Any]]]) -> list[_Share]:
    began = max((at.timestamp for at, _ in attempt if at.type == _STARTED), default=None)
    if began is None:
        return []
    ended = [(at.timestamp, event.get("runtime")) for at, event in attempt if at.type in _ENDS]
    end, runtime = ended[-1] if ended else (began, None)
    return [_share(attempt[-1][0].hostname, _number(runtime, max(end - began, 0.0)))]


def _share(worker: str, seconds: float) -> _Share:
    return _Share(worker, round(seconds * MILLION))


def _paid(ran: Mapping[str, list[_Share]], reports: Iterable[tuple[Stamp, Mapping[str, Any]]]) -> dict[str, list[tuple[str, _Share, int]]]:
    """Return for each task its attempts with their basis and nanodollars."""
    spent: dict[str, int] = defaultdict(int)
    for at, report in reports:
        if _function(at) == "worker":
            spent[at.hostname] += price(report)
    micros: dict[str, list[int]] = defaultdict(list)
    for share in (one for some in ran.values() for one in some):
        micros[share.worker].append(share.micros)
    sums = {worker: (sum(some), len(some)) for worker, some in micros.items()}
    return {task: [_priced(share, spent, sums[share.worker]) for share in some] for task, some in ran.items()}


def _priced(share: _Share, spent: Mapping[str, int], whole: tuple[int, int]) -> tuple[str, _Share, int]:
    micros, runs = whole
    if share.worker in spent:
        return MEASURED, share, round(spent[share.worker] * (share.micros / micros if micros else 1 / runs))
    seconds = share.micros / MILLION
    return ESTIMATED, share, round((seconds * MEMORY_MB / 1_024 * GB_SECONDS + INVOCATIONS) / MILLION * NANO)


def _rows(known: Mapping[str, Timeline], paid: Mapping[str, list[tuple[str, _Share, int]]]) -> list[TaskCost]:
    groups: dict[tuple[str, str, str, str], list[tuple[str, _Share, int]]] = defaultdict(list)
    for task, some in paid.items():
        fields = known[task].fields
        for basis, share, nanos in some:
            key = (_text(fields["name"]), _text(fields["queue"]), from_event(fields["stamps"]).get(TENANT, ""), basis)
            groups[key].append((task, share, nanos))
    return [
        TaskCost(
            *key, tasks=len({task for task, _, _ in some}), attempts=len(some), run_micros=sum(share.micros for _, share, _ in some),
            nanodollars=sum(nanos for _, _, nanos in some),
        )
        for key, some in groups.items()
    ]  # fmt: skip


def _aside(reports: Iterable[tuple[Stamp, Mapping[str, Any]]]) -> list[TaskCost]:
    sums: dict[str, tuple[int, int]] = {}
    for at, report in reports:
        micros, nanos = sums.get(_function(at), (0, 0))
        sums[_function(at)] = (micros + round(_number(report.get("duration_ms"), 0) * 1_000), nanos + price(report))
    return [
        TaskCost(*ASIDE[function], tenant="", basis=MEASURED, tasks=0, attempts=0, run_micros=micros, nanodollars=nanos)
        for function, (micros, nanos) in sums.items()
        if function in ASIDE
    ]


def _canvases(known: Mapping[str, Timeline], paid: Mapping[str, list[tuple[str, _Share, int]]]) -> list[CanvasCost]:
    members: dict[str, list[str]] = defaultdict(list)
    for task, timeline in known.items():
        members[_text(timeline.fields["root_id"]) or task].append(task)
    found = [
        CanvasCost(
            root=root, name=_text(known[root].fields["name"]) if root in known else "", tasks=len(some),
            nanodollars=sum(nanos for task in some for _, _, nanos in paid.get(task, ())),
        )
        for root, some in members.items() if len(some) > 1
    ]  # fmt: skip
    return sorted(found, key=lambda one: (-one.nanodollars, one.root))


def _workers(reports: Iterable[tuple[Stamp, Mapping[str, Any]]]) -> WorkerCost:
    some = [report for at, report in reports if _function(at) == "worker"]
    invocations = sum(int(_number(one.get("invocations"), 1)) for one in some)
    messages = sum(int(_number(one.get("messages"), 0)) for one in some)
    avoidable = max(invocations - ceil(messages / FULL_BATCH), 0)
    return WorkerCost(invocations, messages, sum(map(price, some)), round(avoidable * INVOCATIONS / MILLION * NANO))


def _function(at: Stamp) -> str:
    return at.type.removesuffix(INVOKED)


def _text(value: object) -> str:
    return "" if value is None else str(value)
