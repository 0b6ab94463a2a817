"""Revocation by id: a durable write to the task's own record, without a broadcast, a list of limited size, or a race.

- Before it runs, the record becomes REVOKED, which the claim of a later message finds.
- While it runs, the record is marked. The next claim reads the mark, so the task is not retried; with *terminate* the running body reads it
  too, at its next `check()`.
- After it ended, nothing changes.
- A member of a pack is marked in the record of its pack (`sedano.model.packs`), and in its own record after it has left the pack; there
  alone if the record of the pack is deleted already.
"""

from __future__ import annotations

from math import inf

from sedano.errors import SedanoError, TaskRevoked, Unavailable
from sedano.model import states
from sedano.model.ledger.records import NO_RETRY, TERMINATE
from sedano.model.messages.lamport import LamportClock
from sedano.model.packs import PackMember, marks_of, member_of, spoken
from sedano.ports import Ports

TRIES = 5
"""How often a revocation is repeated because the task changes between waiting and running."""
CHECK_S = 1.0
"""A body's checkpoints read the ledger at most this often."""


def revoke(ports: Ports, lamport: LamportClock, task_id: str, *, terminate: bool) -> str:
    """Revoke the task and return the state that it is in now: REVOKED, RUNNING (it is marked), or the state in which it ended before.

    Raises:
        Unavailable: the ledger did not answer; revoking again is safe.
    """
    asked, member = TERMINATE if terminate else NO_RETRY, member_of(task_id)
    for _ in range(TRIES):
        now = ports.clock.now()
        if member is not None and not _outlived(ports, member):
            # The pack's record first: until it has ended, it alone says how the member ends.
            said, left = spoken(member, ports.ledger.mark(member.pack_id, marks_of([member.place], asked), now))
            if said is not None and not left:
                return said.state
        record = ports.ledger.revoke(task_id, lamport.forward(), now)
        if record is None:
            return states.REVOKED
        if record.state in states.TERMINAL:
            return record.state
        if ports.ledger.ask(task_id, asked):
            return states.RUNNING
    raise Unavailable(f"task {task_id}: it changed during each of {TRIES} attempts to revoke it; try again")


def _outlived(ports: Ports, member: PackMember) -> bool:
    """Return whether *member* left a pack whose record is deleted by now: its own record is younger, and alone says how it ends.

    A mark would make a new record for the pack, which hides that of the member.
    """
    records = ports.ledger.read([member.pack_id, member.task_id])
    return member.pack_id not in records and member.task_id in records


class Checkpoint:
    """The checkpoint of a running body: whether it must end, with at most one read per second; and what the body shows."""

    __slots__ = ("fence", "last", "ports", "task_id")

    def __init__(self, ports: Ports, task_id: str, fence: int) -> None:
        """Check the task *task_id*, which is claimed under *fence*."""
        self.ports, self.task_id, self.fence, self.last = ports, task_id, fence, -inf

    def show(self, custom: str) -> None:
        """Show the *custom* state while the task is claimed under this fence."""
        try:
            self.ports.ledger.show(self.task_id, self.fence, custom)
        except SedanoError as error:
            self.ports.telemetry.log("warning", "custom state not written", task_id=self.task_id, error=str(error))

    def __call__(self) -> None:
        """Raise `TaskRevoked` if the task was revoked with *terminate*, also if another worker has taken it over and ended it."""
        now = self.ports.clock.monotonic()
        if now - self.last < CHECK_S:
            return
        self.last = now
        try:
            record = self.ports.ledger.read([self.task_id]).get(self.task_id)
        except SedanoError as error:
            self.ports.telemetry.log("warning", "checkpoint not answered", task_id=self.task_id, error=str(error))
            return
        if record is not None and (record.asked >= TERMINATE or record.state == states.REVOKED):
            raise TaskRevoked(f"task {self.task_id} was revoked while it ran")
