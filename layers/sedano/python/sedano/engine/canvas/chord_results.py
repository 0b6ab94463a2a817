"""The results of a chord's members: the body reads them in order, a hundred per call, right before it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sedano.errors import MessageRefused
from sedano.model import refusals, states
from sedano.model.canvas.continuation import ADDED
from sedano.model.ledger.records import ErrorRecord, TaskRecord, copied_from
from sedano.model.messages import codec
from sedano.model.messages.lineage import derived_id
from sedano.model.messages.message import Command, Gather
from sedano.model.messages.strict_json import shown
from sedano.model.packs import member_id
from sedano.ports import Ports

CAUSES = 10
PAGE = 100
"""Records that are read together: what a call to DynamoDB answers at once."""
GONE = "ResultGone"


class HeaderFailed(Exception):
    """Members of the header failed; *error* is that of the first of them, with all causes in its notes."""

    def __init__(self, error: ErrorRecord) -> None:
        """Carry *error*."""
        super().__init__(error.message)
        self.error = error


@dataclass(frozen=True, slots=True)
class Gathering:
    """Reads members' results."""

    ports: Ports

    def arguments(self, command: Command) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Return the arguments of *command*, from the message, the blob store or the results of a chord.

        Raises:
            MessageRefused: they do not exist, or do not match their declaration.
            HeaderFailed: they are results of tasks that failed.
        """
        args, kwargs = command.args, command.kwargs
        if command.data_ref is not None:
            args, kwargs = codec.decode_data(self.ports.blobs.get(command.data_ref))
        if command.gather is not None:
            results = self.results(command.gather)
            args = (results, *args) if command.gather.hand_on else args
        return args, kwargs

    def results(self, gather: Gather) -> list[Any]:
        """Return the results of all members in the order of the header, or how each ended when *gather* asks for outcomes.

        A member's record exists before the member arrives, so a missing record was deleted.

        Raises:
            HeaderFailed: at least one member did not succeed, or its result is gone.
            Unavailable: a member's record cannot be read now.
        """
        ends = self._ends(gather)
        if gather.outcomes:
            return [self._outcome(r) for r in ends]
        if (failed := _failure(ends)) is not None:
            raise HeaderFailed(failed)
        return [self.value(r) for r in ends]

    def failure(self, gather: Gather) -> ErrorRecord | None:
        """Return why the body of a join must not run: the error of the member that failed first; None when it may.

        Raises:
            Unavailable: a member's record cannot be read now.
        """
        return None if gather.outcomes else _failure(self._ends(gather))

    def is_open(self, join_id: str, size: int) -> bool:
        """Return whether a join with this id and this number of members was opened.

        Raises:
            Unavailable: it cannot be read now.
        """
        join = self.ports.ledger.read_join(join_id)
        return join is not None and join.size == size

    def _ends(self, gather: Gather) -> list[TaskRecord]:
        """Return how the members of a join ended; after them, those that members added to it.

        The size comes from a message, so reading is bounded: beyond one page of records the size must be that of the stored join, a page
        without any record ends the reading (all were deleted), and the results together may have no more bytes than arguments.
        """
        if gather.size > PAGE and not self.is_open(gather.join_id, gather.size):
            raise MessageRefused(refusals.SCHEMA, "gathersize", f"no group {shown(gather.join_id)} of {gather.size} members was launched")
        ends: list[TaskRecord] = []
        added: list[tuple[str, int]] = [(gather.join_id, gather.size)]
        room = codec.MAX_DATA_BYTES
        while added:
            join_id, size = added.pop(0)
            first = len(ends)
            for page in self._pages(join_id, size):
                room -= sum(map(_weight, page))
                if room < 0:
                    raise MessageRefused(refusals.TOO_LARGE, "gatherid", f"results of more than {codec.MAX_DATA_BYTES} bytes")
                ends += page
            added[:0] = [(derived_id(one.task_id, ADDED), one.added) for one in ends[first:] if one.added]
        return ends

    def _pages(self, join_id: str, size: int) -> Iterator[list[TaskRecord]]:
        """Yield the records of the members of a join, a page at a time, until a page holds none."""
        for first in range(0, size, PAGE):
            ids = [member_id(join_id, number) for number in range(first, min(first + PAGE, size))]
            records = self.ports.ledger.read(ids)
            yield [_kept(records.get(i) or TaskRecord(i, states.PENDING)) for i in ids]
            if not records:
                return

    def value(self, record: TaskRecord) -> Any:
        """Return the value of a succeeded task."""
        if record.result_ref is not None:
            return codec.decode_value(self.ports.blobs.get(record.result_ref).decode())
        return codec.decode_value(record.result) if record.result is not None else None

    def _outcome(self, record: TaskRecord) -> dict[str, Any]:
        if record.state == states.SUCCESS:
            return {"id": record.task_id, "state": record.state, "value": self.value(record)}
        error = error_of(record)
        told = {"type": error.type_name, "message": error.message, "traceback": error.traceback}
        return {"id": record.task_id, "state": record.state, "error": told, "cause": error.cause}


def error_of(record: TaskRecord) -> ErrorRecord:
    """Return why the task of *record*, which ended without success, did; its *cause* is the id of the task that failed first."""
    error = record.error
    if error is None:
        error = ErrorRecord("TaskRevoked", f"task {record.task_id} was revoked before it ran")
    return error if error.cause else error._replace(cause=record.task_id)


def _weight(record: TaskRecord) -> int:
    """Return the bytes of the result that *record* holds, or names."""
    return record.result_ref.size if record.result_ref is not None else len(record.result or "")


def _kept(record: TaskRecord) -> TaskRecord:
    """Return *record* under the id that its task has, as failed when its result does not exist any more."""
    record = record._replace(task_id=copied_from(record))
    if record.state == states.PENDING:
        gone = "the record of a member does not exist: it has expired, or was deleted"
    elif record.forgotten:
        gone = "the result of a member was forgotten before it was used"
    else:
        return record
    return record._replace(state=states.FAILURE, error=ErrorRecord(GONE, f"{gone} (task {record.task_id})"))


def _failure(ends: Sequence[TaskRecord]) -> ErrorRecord | None:
    failures = [(n, r) for n, r in enumerate(ends) if r.state != states.SUCCESS]
    return _causes(failures, len(ends)) if failures else None


def _causes(failures: Sequence[tuple[int, TaskRecord]], size: int) -> ErrorRecord:
    """Return the error of the member that failed first, by the clock, with all that failed in its notes."""
    told = [
        f"member {number} ({record.name}, {record.task_id}) {record.state}"
        + (f": {record.error.type_name}: {record.error.message[:200]}" if record.error else "")
        for number, record in failures[:CAUSES]
    ]
    more = [f"and {len(failures) - CAUSES} more"] if len(failures) > CAUSES else []
    _, first = min(failures, key=lambda failure: (failure[1].clock, failure[0]))
    notes = f"{len(failures)} of {size} members of the header did not succeed: {'; '.join([*told, *more])}"
    return error_of(first)._replace(notes=notes)
