"""The rule for the next actions of a flow run. Pure. The same records always give the same result.

A step begins after every step that it needs has ended. The worker that records an end then publishes a command that evaluates this rule.
Records are read with strong consistency, so if several steps end together, the last evaluation sees all ends. If two evaluations see all
ends, a step is published twice under one id, and its claim refuses the second message.

After a failure or a cancellation, the run is wound up in an order that is safe under every schedule:

1. A step that has not begun is revoked under its future id, so that a message of an earlier, delayed evaluation does not run.
2. Running steps end (after a cancellation, on request). From then on, the set of successful steps is final.
3. Those with a compensation are compensated in sequence, the latest end first by the logical clock of their records, and each before the
   steps that it needed.
4. The run ends. A failed compensation does not prevent the others; its step is recorded with the end of the run as not compensated.

A run with steps that were not compensated is not started again before these are undone, because their effects would occur twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sedano.model import states
from sedano.model.ledger.records import NO_RETRY, TERMINATE, TaskRecord
from sedano.model.messages.message import NOTHING
from sedano.model.workflow.definition import StepSpec
from sedano.model.workflow.flow_run import BY_HAND, CANCELLED, CANCELLING, ENDED, FAILING, PAUSED, SUCCEEDED, WINDING_UP, FlowRun
from sedano.model.workflow.flow_run import FAILED as RUN_FAILED
from sedano.model.workflow.flow_run import RUNNING as RUN_RUNNING
from sedano.model.workflow.progress import DONE, FAILED, OPEN, READY, RETRYING, RUNNING, SKIPPED, FlowProgress, Status
from sedano.model.workflow.progress import SUCCEEDED as STEP_SUCCEEDED


class Publish(NamedTuple):
    """Start a step under this id; *attempt* is the number of the start."""

    step: StepSpec
    task_id: str
    attempt: int


class Compensate(NamedTuple):
    """Undo a step under this id."""

    step: StepSpec
    task_id: str


class Stop(NamedTuple):
    """Revoke these tasks; *terminate*: also ask running ones to end."""

    task_ids: tuple[str, ...]
    terminate: bool


class WindUp(NamedTuple):
    """A step has finally failed, so no other step may begin."""

    cause: str


class End(NamedTuple):
    """Record that the run has ended; *uncompensated*: the reasons for which steps were not undone, by name."""

    state: str
    uncompensated: Mapping[str, str] = NOTHING


Action = Publish | Compensate | Stop | WindUp | End


def advance(progress: FlowProgress, trigger: str | None) -> Sequence[Action]:
    """Return the next actions.

    *trigger* is the step that ended: only the steps that wait for it are evaluated, so that a wide workflow does not publish each of its
    steps once for each of the others. None evaluates all steps: at the beginning, a resumption and a repair.
    """
    run = progress.run
    if run.state in ENDED:
        return ()
    if run.state in WINDING_UP:
        return _wind_up(progress)
    statuses = progress.statuses()
    if all(status.state in DONE for status in statuses.values()):
        return (End(SUCCEEDED),)
    if run.state == PAUSED:
        return ()
    for name, status in statuses.items():
        if status.state == FAILED:
            return (WindUp(f"step {name}: {status.detail or 'it did not end well'}"),)
    candidates = [s.name for s in progress.definition.steps] if trigger is None else _candidates(progress, trigger)
    return [
        Publish(progress.definition.step(name), statuses[name].task_id, statuses[name].attempt)
        for name in candidates
        if statuses[name].state == READY or (statuses[name].state == RETRYING and statuses[name].record is None)
    ]


def retried(progress: FlowProgress) -> FlowRun:
    """Return an ended run in the state for another start: only steps that succeeded and were not compensated keep their results.

    If a step runs again, the steps that need it also run again, because their arguments may differ. Of a `map` that was not compensated,
    only the calls that did not succeed are made again. If steps were left uncompensated, the run only continues their compensation.
    """
    left = uncompensated(progress)
    if left:
        again = {name: progress.run.undoing.get(name, 0) + 1 for name in left}
        undoing, state = {**progress.run.undoing, **again}, CANCELLING if progress.run.state == CANCELLED else FAILING
        return progress.run._replace(state=state, ended=0.0, undoing=undoing, uncompensated=NOTHING)
    return _begun_again(progress)


def _begun_again(progress: FlowProgress) -> FlowRun:
    run, needs, again = progress.run, progress.definition.needs(), set[str]()
    for _ in progress.definition.steps:
        more = {s.name for s in progress.definition.steps if not _stays(progress, s) or again & set(needs[s.name])}
        if more == again:
            break
        again = more
    steps = [s for s in progress.definition.steps if s.name in again]
    rounds = {s.name: run.rounds.get(s.name, 0) + s.retry.most_retries + 1 for s in steps}
    fresh = {s.name: rounds[s.name] for s in steps if _compensated(progress, s) or again & set(needs[s.name])}
    rounds, whole = {**run.rounds, **rounds}, {**run.whole, **fresh}
    return run._replace(
        state=RUN_RUNNING, cause="", ended=0.0, given_up={}, rounds=rounds, whole=whole, undoing=NOTHING, uncompensated=NOTHING
    )


def undone_by_hand(run: FlowRun, names: Iterable[str]) -> FlowRun:
    """Return *run* with its uncompensated steps *names* marked as undone by hand."""
    return run._replace(undoing={**run.undoing, **dict.fromkeys(names, BY_HAND)})


def uncompensated(progress: FlowProgress) -> dict[str, str]:
    """Return the reasons for which compensations failed, by step, the latest end first."""
    found = {step.name: progress.compensation(step.name) for step in to_compensate(progress)}
    return {name: status.detail or "it did not end well" for name, status in found.items() if status.state == FAILED}


def to_compensate(progress: FlowProgress) -> list[StepSpec]:
    """Return the successful steps with a compensation, the latest end first, and each before the steps that it needed.

    Clocks alone do not ensure the second order: a step may be published by a process whose clock is behind the records that it read.
    """
    needs = progress.definition.needs()
    left = {step.name: (clock, step) for step in progress.definition.steps if (clock := _ended_at(progress, step)) is not None}
    found: list[StepSpec] = []
    while left:
        needed = _needed_by(left, needs)
        name = max((name for name in left if name not in needed), key=lambda name: (left[name][0], name))
        found.append(left.pop(name)[1])
    return found


def _needed_by(names: Iterable[str], needs: Mapping[str, Sequence[str]]) -> set[str]:
    """Return every step that one of *names* needs, directly or through others."""
    found, ahead = set[str](), list(names)
    while ahead:
        fresh = [name for name in needs[ahead.pop()] if name not in found]
        found |= set(fresh)
        ahead += fresh
    return found


def _stays(progress: FlowProgress, step: StepSpec) -> bool:
    return progress.status(step.name).state in DONE and not _compensated(progress, step)


def _compensated(progress: FlowProgress, step: StepSpec) -> bool:
    return step.compensation is not None and progress.compensation(step.name).state != READY


def _candidates(progress: FlowProgress, trigger: str) -> list[str]:
    """Return the step that ended, and those that wait for it, directly or through skipped steps."""
    needs = progress.definition.needs()
    found, ahead = [trigger], [trigger]
    while ahead:
        ended = ahead.pop()
        for name, before in needs.items():
            if ended in before and name not in found:
                found.append(name)
                if progress.status(name).state == SKIPPED:
                    ahead.append(name)
    return found


def _wind_up(progress: FlowProgress) -> Sequence[Action]:
    cancelled = progress.run.state == CANCELLING
    to_stop = tuple(i for step in progress.definition.steps for i in _unsettled(progress, step, TERMINATE if cancelled else NO_RETRY))
    if to_stop:
        return (Stop(to_stop, cancelled),)
    undoing = tuple(i for step in progress.definition.steps for i in _open(progress, progress.undid(step), NO_RETRY))
    if undoing:
        return (Stop(undoing, False),)
    if any(_runs(progress, step) for step in progress.definition.steps):
        return ()
    if cancelled or progress.definition.on_failure == "compensate":
        for step in to_compensate(progress):
            state = progress.compensation(step.name).state
            if state == READY:
                return (Compensate(step, progress.run.compensation_id(step.name)),)
            if state in (RUNNING, RETRYING):
                return ()
    return (End(CANCELLED if cancelled else RUN_FAILED, uncompensated(progress)),)


def _unsettled(progress: FlowProgress, step: StepSpec, asked: int) -> Iterator[str]:
    """Yield the ids of *step* that may still begin, or that run and were not asked to end yet."""
    return _open(progress, _ids(progress, step, progress.status(step.name)), asked)


def _open(progress: FlowProgress, task_ids: Iterable[str], asked: int) -> Iterator[str]:
    for task_id in task_ids:
        record = progress.records.get(task_id)
        if record is None or record.state in (states.PENDING, states.RETRY) or (_is_running(record) and record.asked < asked):
            yield task_id


def _runs(progress: FlowProgress, step: StepSpec) -> bool:
    ids = (*_ids(progress, step, progress.status(step.name)), *progress.undid(step))
    return any(_is_running(progress.records.get(i)) for i in ids)


def _ids(progress: FlowProgress, step: StepSpec, status: Status) -> list[str]:
    """Return the ids of the current tasks of *step*: empty if it never began, with those of all calls if it is a `map`."""
    calls = list(progress.calls(step).values()) if step.each is not None else []
    return [*calls, status.task_id] if status.state in OPEN else calls


def _is_running(record: TaskRecord | None) -> bool:
    return record is not None and record.state == states.RUNNING


def _ended_at(progress: FlowProgress, step: StepSpec) -> int | None:
    """Return the clock at which *step*, or the last of its items, succeeded; None if there is nothing to compensate."""
    if step.compensation is None:
        return None
    status = progress.status(step.name)
    if step.each is not None:
        return max((record.clock for record in progress.succeeded(step).values()), default=None)
    return status.record.clock if status.state == STEP_SUCCEEDED and status.record is not None else None
