"""The progress of a flow run: the state of each step, derived only from the records of its tasks.

A step without a record is WAITING for others, READY (it may have been published), or SKIPPED because its condition does not hold or because
it takes a value from a step that was skipped; in a run that has ended it is NOT_RUN instead of WAITING or READY. All of this is derived
from results, which never change; so every process derives the same state at any time, and a crash of a process loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

from sedano.errors import Ignore
from sedano.model import states
from sedano.model.ledger.records import TaskRecord
from sedano.model.workflow.conditions import holds
from sedano.model.workflow.definition import ITEM, Definition, Ref, StepSpec, TaskCall
from sedano.model.workflow.flow_run import BY_HAND, ENDED, WINDING_UP, FlowRun, call_id

WAITING, READY, RUNNING, RETRYING = "WAITING", "READY", "RUNNING", "RETRYING"
SUCCEEDED, FAILED, SKIPPED, CANCELLED, NOT_RUN = "SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED", "NOT_RUN"
COMPENSATING, COMPENSATED, COMPENSATION_FAILED = "COMPENSATING", "COMPENSATED", "COMPENSATION_FAILED"
DONE = frozenset({SUCCEEDED, SKIPPED})
OPEN = frozenset({READY, RUNNING, RETRYING})
"""It may run, now or later, independently of other steps."""


class Skipped(Exception):
    """A value was requested from a skipped step."""


class Status(NamedTuple):
    """A step's state; the task id and the number of its latest start; that task's record, if it exists; and a detail in words."""

    state: str
    task_id: str
    attempt: int = 0
    record: TaskRecord | None = None
    detail: str = ""


class FlowProgress:
    """Derives the states of steps. *value* reads the value of a successful record, once for each record."""

    def __init__(
        self, definition: Definition, run: FlowRun, inputs: Mapping[str, Any], records: Mapping[str, TaskRecord],
        value: Callable[[TaskRecord], Any],
    ) -> None:  # fmt: skip
        """Derive the states from *records*, by task id."""
        self.definition, self.run, self.inputs, self.records = definition, run, inputs, records
        self._value, self._values = value, dict[str, Any]()
        self._steps = {s.name: s for s in definition.steps}
        self._needs = definition.needs()
        self._known: dict[str, Status] = {}

    def status(self, name: str) -> Status:
        """Return the state of the step *name*."""
        if name not in self._known:
            ahead = [name]
            while ahead:  # not recursive: a chain may contain all steps of a workflow
                missing = [n for n in self._needs[ahead[-1]] if n not in self._known]
                if missing:
                    ahead += missing
                else:
                    done = ahead.pop()
                    self._known[done] = self._status(self._steps[done])
        return self._known[name]

    def statuses(self) -> dict[str, Status]:
        """Return the states of all steps, in the order of the definition."""
        return {s.name: self.status(s.name) for s in self.definition.steps}

    def compensation(self, name: str) -> Status:
        """Return the state of the compensation of the step *name*."""
        task_id = self.run.compensation_id(name)
        if self.run.undoing.get(name) == BY_HAND:
            return Status(SUCCEEDED, task_id, detail="undone by hand")
        if task_id in self.run.given_up:
            return Status(FAILED, task_id, detail=self.run.given_up[task_id])
        record = self.records.get(task_id)
        if record is None or record.state == states.PENDING:
            return Status(READY, task_id)
        if record.state in states.TERMINAL:
            return Status(SUCCEEDED if record.state == states.SUCCESS else FAILED, task_id, 0, record, reason_text(record))
        return Status(RUNNING if record.state == states.RUNNING else RETRYING, task_id, 0, record)

    def resolve(self, value: Any, item: Any = None) -> Any:
        """Return *value* with the values of its references; *item* is the item of a `map`.

        Raises:
            Skipped: a reference needs the value of a skipped step.
            ValueError: a part in a reference does not exist.
        """
        if isinstance(value, Ref):
            return self._resolve(value, item)
        if isinstance(value, Mapping):
            return {name: self.resolve(inner, item) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.resolve(inner, item) for inner in value]
        return value

    def knowing(self, name: str, value: Any) -> FlowProgress:
        """Return the same progress with *value* as the value of `$name`: the calls of a `map` are compensated one by one, each with its own
        result.
        """
        other = copy(self)
        other.inputs = {**self.inputs, name: value}
        return other

    def items(self, step: StepSpec) -> Sequence[Any]:
        """Return the items of a step with a `map`; raise `ValueError` if the value is not a list."""
        found = self.resolve(step.each)
        if not isinstance(found, list):
            raise ValueError(f"map: {step.each} is of type {type(found).__name__}, not a list")  # noqa: TRY004 - an error in the data
        return found

    def arguments(self, call: TaskCall, item: Any = None) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments of *call*, resolved."""
        return self.resolve(call.args, item), self.resolve(call.kwargs, item)

    def calls(self, step: StepSpec) -> dict[int, str]:
        """Return the ids of the calls of a `map` in its current start, by item: all except those that succeeded in an earlier start."""
        status = self.status(step.name)
        return self._calls(step, self.succeeded(step, status.attempt), status.task_id)

    def succeeded(self, step: StepSpec, before: int | None = None) -> dict[int, TaskRecord]:
        """Return the records of the successful calls of a `map`, by item; with *before*, only those of starts with a lower number."""
        until = self.status(step.name).attempt + 1 if before is None else before
        found: dict[int, TaskRecord] = {}
        for attempt in range(self.run.whole.get(step.name, 0), until):
            calls = self._calls(step, found, self.run.step_id(step.name, attempt))
            ended = {n: self.records[i] for n, i in calls.items() if i in self.records}
            found |= {n: record for n, record in ended.items() if record.state == states.SUCCESS}
        return found

    def counted(self, step: StepSpec) -> tuple[int, int, int]:
        """Return for a `map` the number of calls that succeeded, that ended otherwise, and the total."""
        ended = [self.records[i] for i in self.calls(step).values() if i in self.records]
        failed = sum(record.state in states.TERMINAL and record.state != states.SUCCESS for record in ended)
        return len(self.succeeded(step)), failed, self._size(step)

    def may_have_called(self, step: StepSpec) -> list[str]:
        """Return all ids under which a `map` may have made a call that counts, so that their records can be read."""
        wholes = range(self.run.whole.get(step.name, 0), self.status(step.name).attempt + 1)
        return [call_id(self.run.step_id(step.name, attempt), n) for attempt in wholes for n in range(self._size(step))]

    def to_undo(self, step: StepSpec, begin: int | None = None) -> dict[int, TaskRecord]:
        """Return the records of the calls of a `map` that its compensation undoes, by item.

        They are those that succeeded and that no earlier start of the compensation undid. *begin*: the number of the start; by default the
        current one.
        """
        left = self.succeeded(step)
        for number in range(self.run.undoing.get(step.name, 0) if begin is None else begin):
            whole = self.run.compensation_id(step.name, number)
            undone = [self.records.get(call_id(whole, position)) for position in range(len(left))]
            pairs = zip(sorted(left.items()), undone, strict=True)
            left = {n: record for (n, record), undo in pairs if undo is None or undo.state != states.SUCCESS}
        return left

    def undid(self, step: StepSpec) -> list[str]:
        """Return the ids of the calls that earlier starts of the compensation of a `map` made, or may still make."""
        begins = range(self.run.undoing.get(step.name, 0))
        wholes = [(self.run.compensation_id(step.name, n), len(self.to_undo(step, n))) for n in begins]
        return [call_id(whole, position) for whole, size in wholes for position in range(size)]

    def may_have_undone(self, step: StepSpec) -> list[str]:
        """Return all ids that `undid` may return, so that their records can be read."""
        wholes = [self.run.compensation_id(step.name, number) for number in range(self.run.undoing.get(step.name, 0))]
        return [call_id(whole, position) for whole in wholes for position in range(self._size(step))]

    def _calls(self, step: StepSpec, done: Mapping[int, TaskRecord], task_id: str) -> dict[int, str]:
        left = [n for n in range(self._size(step)) if n not in done]
        return {n: call_id(task_id, position) for position, n in enumerate(left)}

    def _size(self, step: StepSpec) -> int:
        """Return the number of items of a `map`; 0 while they are unknown."""
        before = [self.status(name).state for name in self._needs[step.name]]
        if step.each is None or self.status(step.name).state == SKIPPED or not all(state in DONE for state in before):
            return 0
        try:
            return len(self.items(step))
        except (Skipped, ValueError):
            return 0

    def value_of(self, record: TaskRecord) -> Any:
        """Return the value of a successful *record*."""
        if record.task_id not in self._values:
            self._values[record.task_id] = self._value(record)
        return self._values[record.task_id]

    def _status(self, step: StepSpec) -> Status:
        first = self.run.rounds.get(step.name, 0)
        last = first + step.retry.most_retries
        for attempt in range(first, last + 1):
            task_id = self.run.step_id(step.name, attempt)
            if task_id in self.run.given_up:
                return Status(FAILED, task_id, attempt, detail=self.run.given_up[task_id])
            record = self.records.get(task_id)
            if record is None or record.state == states.PENDING:
                return Status(RETRYING, task_id, attempt) if attempt > first else self._unbegun(step, task_id, attempt)
            if record.state not in states.TERMINAL:
                return Status(RUNNING if record.state == states.RUNNING else RETRYING, task_id, attempt, record)
            if attempt == last or not _begins_again(step, record):
                return self._ended(task_id, attempt, record)
        raise AssertionError("the last attempt returns")

    def _ended(self, task_id: str, attempt: int, record: TaskRecord) -> Status:
        if record.state == states.SUCCESS:
            return Status(SUCCEEDED, task_id, attempt, record)
        stopped = record.state == states.REVOKED and not record.message_id and self.run.state in STOPPED
        return Status(CANCELLED if stopped else FAILED, task_id, attempt, record, reason_text(record))

    def _unbegun(self, step: StepSpec, task_id: str, attempt: int) -> Status:
        before = [self._known[n] for n in self._needs[step.name]]
        if not all(status.state in DONE for status in before):
            return Status(NOT_RUN if self.run.state in ENDED else WAITING, task_id, attempt)
        try:
            met = all(holds(c, self.resolve(c.left)) for c in step.when)
            if not met:
                return Status(SKIPPED, task_id, attempt, detail="its condition does not hold")
            for item in self.items(step)[:1] if step.each is not None else [None]:
                self.arguments(step.call, item)
        except Skipped as skipped:
            return Status(SKIPPED, task_id, attempt, detail=str(skipped))
        except ValueError as wrong:
            return Status(FAILED, task_id, attempt, detail=str(wrong))
        return Status(NOT_RUN if self.run.state in ENDED else READY, task_id, attempt)

    def _resolve(self, ref: Ref, item: Any) -> Any:
        if ref.name == ITEM:
            return _at(item, ref)
        if ref.name in self.inputs:
            return _at(self.inputs[ref.name], ref)
        status = self.status(ref.name)
        if status.state == SUCCEEDED and status.record is not None:
            return _at(self.value_of(status.record), ref)
        if ref.maybe:
            return None
        raise Skipped(f"it takes {ref}, and that step was skipped")


STOPPED = WINDING_UP | {FAILED, CANCELLED}
STOPPABLE = frozenset(state for state, row in states.ROWS.items() if row.dependents == states.REVOKED)
"""The states in which a task may end after the time limit of its step."""


def reason_text(record: TaskRecord) -> str:
    """Return in one line why a task did not succeed."""
    if record.error is not None:
        return f"{record.error.type_name}: {record.error.message[:300]}"
    return "revoked" if record.state == states.REVOKED else ""


def _begins_again(step: StepSpec, record: TaskRecord) -> bool:
    """Return whether a step's retry covers this end: a failure, or its time limit; not a poison, a revocation or an `Ignore`."""
    ignored = record.error is not None and record.error.type_name == Ignore.__name__
    return record.state == states.FAILURE or (record.state in STOPPABLE and step.time_limit is not None and not ignored)


def _at(value: Any, ref: Ref) -> Any:
    for part in ref.path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            raise ValueError(f"{ref}: {type(value).__name__} has no part {part!r}") from None
    return value
