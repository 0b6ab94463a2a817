"""The check of a task right before its body starts.

The bodies of a batch that run one after the other begin long after their messages were let in. The conditions of the intake are checked
again:

- each gate (`sedano.engine.gate`, `begin`), before each body: no I/O. Among them are its expiry, and its circuit: the ends of earlier
  bodies of this batch count at once, in memory;
- when a second has passed since the last look, the gates of **revocation** by id or header, and of **pauses**, use newly read data: one
  read of the control record, and one of the ledger for the batch.

If a read fails, the known state stays. A job that may not begin any more ends or is deferred as at its intake.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from sedano.engine.batch import Arguments, Held, Job, Later, Stillborn
from sedano.engine.cluster.membership import Membership
from sedano.engine.worker.admission import Admission
from sedano.errors import SedanoError
from sedano.model import refusals, states
from sedano.model.packs import asked_of, member_of
from sedano.ports import Ports

LOOK_S = 1.0
"""Bodies that begin within this many seconds of a look need no other one."""

_NONE: frozenset[str] = frozenset()
_NO_MARKS: frozenset[int] = frozenset()


class SecondLook:
    """Checks the bodies that one worker is about to begin. One batch at a time; its bodies may begin on several threads."""

    def __init__(self, ports: Ports, membership: Membership, admission: Admission) -> None:
        """Use the gates of *admission*, which use the control record that *membership* has read."""
        self._ports, self._membership, self._admission = ports, membership, admission
        self._lock = threading.Lock()
        self._looked = 0.0
        self._fresh = False
        self._ready: Sequence[tuple[Held, Arguments]] = ()
        self._revoked: set[str] = set()
        self._marks: Mapping[str, frozenset[int]] = {}

    def begin(self, ready: Sequence[tuple[Held, Arguments]]) -> None:
        """Begin with the jobs that are now *ready* to run. The control record of an earlier look applies to later rounds of the batch too,
        because their messages were admitted before it.
        """
        control = self._membership.control
        self._fresh = self._fresh and bool(control.paused or control.revoked)
        self._looked, self._ready = self._ports.clock.now(), ready
        self._revoked.clear()
        self._marks = {}

    def due(self, now: float) -> bool:
        """Return whether the stores must be read before a body begins at *now*."""
        return not 0.0 <= now - self._looked < LOOK_S

    def ask(self, now: float) -> None:
        """Read the changes from the stores."""
        with self._lock:
            if not self.due(now):
                return
            self._looked, self._fresh = now, True
            self._membership.look()
            self._admission.meet_anew()
            try:
                named = [held.job.command.task_id for held, _ in self._ready if held.job.mode != "at_least_once"]
                records = self._ports.ledger.read(named) if named else {}
            except SedanoError as error:
                self._ports.telemetry.log("warning", "revocations not read; the last known state holds", error=str(error))
                return
            self._revoked = {task_id for task_id, record in records.items() if record.asked or record.state == states.REVOKED}
            self._marks = {task_id: record.marks for task_id, record in records.items() if record.marks}

    def at(self, job: Job, now: float) -> Stillborn | Later | None:
        """Return why the body of *job* must not begin at *now*, by the known state; None if it may."""
        anew = self._revoked if self._fresh else None
        for gate in self._admission.beginning:
            why = gate.begin(job, now, anew)
            if why is not None:
                return why
        return None

    def at_member(self, job: Job, now: float) -> Stillborn | Later | None:
        """Return why the body of *job*, a member of a pack, must not begin at *now*; None if it may.

        The known pauses and headers apply to it whether or not they were read since: its pack was admitted under its own name and id. A
        member that was revoked by id since its pack was claimed is marked in the record of the pack.
        """
        member = member_of(job.command.task_id)
        if member is not None and asked_of(self._marks.get(member.pack_id, _NO_MARKS), member.place):
            return Stillborn(states.REVOKED, refusals.REVOKED, "taskid", "revoked before it began")
        anew = self._revoked if self._fresh else _NONE
        return next((why for gate in self._admission.beginning if (why := gate.begin(job, now, anew)) is not None), None)
