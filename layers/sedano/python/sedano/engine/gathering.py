"""Gathering: the body of a join reads the results of its members, in order, a hundred to a call, when it is about to run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sedano.errors import Unavailable
from sedano.model import codec, states
from sedano.model.lineage import derived_id
from sedano.model.messages import Gather
from sedano.model.records import TaskRecord
from sedano.ports import Ports

CAUSES = 10


class HeaderFailed(Exception):
    """Members of the header failed; the text names the first of them with their causes."""


def member_id(join_id: str, index: int) -> str:
    """Return the task id of member *index* of a join."""
    return derived_id(join_id, index)


def body_id(join_id: str) -> str:
    """Return the task id of a join's body."""
    return derived_id(join_id, "body")


@dataclass(frozen=True, slots=True)
class Gathering:
    """Reads members' results."""

    ports: Ports

    def results(self, gather: Gather) -> list[Any]:
        """Return the results of all members in the order of the header.

        Raises:
            HeaderFailed: at least one member did not succeed.
            Unavailable: a member's record cannot be read now.
        """
        ids = [member_id(gather.join_id, i) for i in range(gather.size)]
        records = self.ports.ledger.read(ids)
        missing = [i for i in ids if i not in records]
        if missing:
            raise Unavailable(f"{len(missing)} of {gather.size} results of the header cannot be read yet")
        failures = [(n, records[i]) for n, i in enumerate(ids) if records[i].state != states.SUCCESS]
        if failures:
            raise HeaderFailed(_causes(failures, gather.size))
        return [self.value(records[i]) for i in ids]

    def value(self, record: TaskRecord) -> Any:
        """Return the value of a succeeded task."""
        if record.result_ref is not None:
            return codec.decode_value(self.ports.blobs.get(record.result_ref).decode())
        return codec.decode_value(record.result) if record.result is not None else None


def _causes(failures: list[tuple[int, TaskRecord]], size: int) -> str:
    told = "; ".join(
        f"member {number} ({record.name}, {record.task_id}) {record.state}"
        + (f": {record.error.type_name}: {record.error.message[:200]}" if record.error else "")
        for number, record in failures[:CAUSES]
    )
    more = f"; and {len(failures) - CAUSES} more" if len(failures) > CAUSES else ""
    return f"{len(failures)} of {size} members of the header did not succeed: {told}{more}"
