"""Reading the record of one task, now or when the task has ended. A record that has ended never changes: it is read once and kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from sedano.errors import KeyReused, NoResult
from sedano.model.ledger.dedup_keys import is_of_another
from sedano.model.ledger.records import TaskRecord
from sedano.model.messages.message import COLLECT
from sedano.result.result_tree import is_set, steps_before
from sedano.result.waits import UNSEEN, Broken, EarlierTasks, Patience, Waits, error_of, has_ended, looks, unended, value_of, waited


class RecordReader:
    """Reads the record of the task of one result."""

    __slots__ = ("_kept", "_line", "_of")

    def __init__(self, result: Any) -> None:
        """Read for *result*, an `AsyncResult`; nothing is read yet."""
        self._of = result
        self._kept: TaskRecord | None = None
        self._line: EarlierTasks | None = None

    def record(self) -> TaskRecord | None:
        """Return the task's current record."""
        return self._kept or self._keep(self._of.outlet.ports.ledger.read([self._of.id]).get(self._of.id))

    def look(self) -> TaskRecord | None:
        """Return the task's record, or that of the ancestor whose failure keeps it from running."""
        return waited(self._looks())

    def ended(self) -> TaskRecord | None:
        """Return the record that `look` finds if the task ended, or never runs; None while it may still end."""
        record = self.look()
        return record if has_ended(record) else None

    def waits(self, timeout: float | None = None) -> Waits[TaskRecord]:
        """Wait as `AsyncResult.wait` does; the caller makes the pauses."""
        self.check()
        patience, task_id = Patience(self._of.outlet, timeout), self._of.id
        while not has_ended(record := (yield from self._looks())):
            yield patience.rest(unended(task_id, record), task_id, "" if record is not None else UNSEEN)
        return cast("TaskRecord", record)

    def gets(self, timeout: float | None = None, propagate: bool = True) -> Waits[Any]:
        """Wait as `AsyncResult.get` does; the caller makes the pauses."""
        return self.value_of((yield from self.waits(timeout)), propagate)

    def check(self) -> None:
        """Raise if there is nothing to wait for, or if waiting would block more than the caller; see `AsyncResult.wait`."""
        task_id = self._of.id
        if not self._of.keeps:
            why = "keeps no result (ignore_result, or batch): there is nothing to wait for"
            raise NoResult(f"task {task_id} {why}; app.control.explain({task_id!r}) shows how it ended")
        self._of.outlet.before_waiting()

    def value_of(self, record: TaskRecord, propagate: bool = True) -> Any:
        """Return the value that the terminal *record* holds; raise (or return) its error."""
        of = self._of
        reused = bool(of.keyed) and record.task_id == of.id and is_of_another(of.keyed, record)
        error = KeyReused(of.id) if reused else error_of(record, of.outlet)
        if error is None:
            value = value_of(of.outlet, record)
            return _each(of.parent.members(), value) if record.name == COLLECT and is_set(of.parent) else value
        if propagate:
            raise error
        return error

    def forget(self) -> None:
        """Read the record anew when asked next."""
        self._kept = None

    def look_behind_another(self) -> None:
        """Read the ancestors again, because the result has another parent."""
        self._line = None

    def _looks(self) -> Waits[TaskRecord | None]:
        if self._kept is not None:
            return self._kept
        if self._line is None:
            self._line = EarlierTasks(steps_before(self._of))
        try:
            return self._keep((yield from looks(self._of.outlet, [self._of.id], self._line)).get(self._of.id))
        except Broken as broken:
            return broken.record

    def _keep(self, record: TaskRecord | None) -> TaskRecord | None:
        if has_ended(record):
            self._kept = record
        return record


def _each(members: Iterable[Any], values: Any) -> Any:
    """Return *values*, the value of a group within another, each restored by the annotation of the task of its member."""
    if not isinstance(values, list):
        return values
    return [_restored(one, value) for one, value in zip(members, values, strict=False)]


def _restored(member: Any, value: Any) -> Any:
    if is_set(member):
        return _each(member.members(), value)
    if member.name == COLLECT and is_set(member.parent):
        return _each(member.parent.members(), value)
    task = member.outlet.registry.tasks.get(member.name)
    return value if task is None else task.parameters.returns.restored(value)
