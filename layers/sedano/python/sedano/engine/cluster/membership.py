"""Membership: a worker says hello when it starts, says that it is here when it is invoked, and learns what the cluster must know.

The hello is one read of the control record (the cluster's clock, revoked headers, paused queues). It is read
again with each heartbeat: one write and one read in an interval, only while there is work. A heartbeat names the claimed tasks that its
invocation took, so that a reader can distinguish an idle worker from a dead one (`sedano.model.cluster.members`).

A deployment without a control record pauses and revokes nothing by header; one without members has workers that do not know of one another.

Less critical than the work: a heartbeat that is not written, a hello that is not answered are logged, and tried with the next batch.
"""

from __future__ import annotations

from collections.abc import Sequence

from sedano.engine.batch import Batch, Held, Job
from sedano.engine.history.run_events import count_at_once
from sedano.engine.worker_events import Chronicle
from sedano.errors import SedanoError
from sedano.model.cluster.control_record import ControlRecord
from sedano.model.cluster.members import ACTIVE, HEARTBEAT, LEFT, OFFLINE, ONLINE, WORKER_LOST
from sedano.model.messages.lamport import ClockAhead, LamportClock
from sedano.ports import MemberRecord, Ports
from sedano.ports.absent import has


class Membership:
    """One worker's place in the cluster. *control* is what it knows of the control record."""

    __slots__ = ("_due", "_every", "_heard", "_joined", "_lamport", "_last", "_ports", "_ticked", "control", "name")

    def __init__(self, ports: Ports, lamport: LamportClock, name: str, every: float) -> None:
        """Beat as *name*, at most once in *every* seconds."""
        self._ports = ports
        self._lamport = lamport
        self.name = name
        self._every = every
        self._last = self._ticked = float("-inf")
        self._due = self._joined = self._heard = False
        self.control = ControlRecord()

    def hello(self) -> None:
        """Read the control record when this worker starts, again when a heartbeat is due, and each time while something is paused.

        A deferred message waits for up to 900 s, so no message is deferred for a pause that is over.
        Due is what either clock says: the wall clock can be set back, and the monotonic one stops while a sandbox is frozen.
        """
        clock = self._ports.clock
        self._due = max(clock.now() - self._last, clock.monotonic() - self._ticked) >= self._every
        if not self._heard or self._due or self._is_paused(clock.now()):
            self.look()

    def _is_paused(self, now: float) -> bool:
        if not self.control.paused:
            return False
        from sedano.model.pauses import in_force

        return bool(in_force(self.control.paused, now))

    def look(self) -> None:
        """Read the control record; without an answer the last known one holds."""
        if not has(self._ports.control):
            return
        try:
            self.control = self._ports.control.read()
            self._heard = True
            self._lamport.adjust(self.control.clock)
        except SedanoError as error:
            self._ports.telemetry.log("warning", "hello not answered", error=str(error))
        except ClockAhead as ahead:
            self._ports.telemetry.log("warning", "the cluster's clock was not taken over", error=str(ahead))

    def beat(self, in_flight: int, jobs: Sequence[Job], chronicle: Chronicle) -> None:
        """Write the heartbeat when it is due: *in_flight* messages, with *jobs* admitted."""
        if not self._due:
            return
        now = self._ports.clock.now()
        tasks = tuple(job.command.task_id for job in jobs if job.mode == "claimed")
        self._due, self._last, self._ticked = False, now, self._ports.clock.monotonic()
        if not self._write(MemberRecord(
            name=self.name, clock=self._lamport.forward(), state=ACTIVE, in_flight=in_flight, seen=now, tasks=tasks,
        )):
            return
        kind = HEARTBEAT if self._joined else ONLINE
        self._joined = True
        chronicle.line(kind, self._lamport.forward(), now, active=in_flight, freq=self._every)

    def leave(self, chronicle: Chronicle) -> None:
        """Say that this worker takes no more work."""
        now = self._ports.clock.now()
        if self._write(MemberRecord(self.name, self._lamport.forward(), LEFT, 0, now)):
            chronicle.line(OFFLINE, self._lamport.forward(), now)

    def lose(self, held: Held, batch: Batch, lapsed: float, owner: str) -> None:
        """Report that *owner* is lost: the claim that it held until *lapsed* (epoch s) ran out, and was taken over as *held*."""
        if not owner or owner == self.name or not has(self._ports.members):
            return
        try:
            if not self._ports.members.lose(owner, self._lamport.forward(), lapsed):
                return
        except SedanoError as error:
            self._ports.telemetry.log("warning", "a lost worker was not written down", worker=owner, error=str(error))
        job, now = held.job, self._ports.clock.now()
        count_at_once(self._ports.telemetry, "WorkersLost", job.task.name)
        batch.chronicle.line(WORKER_LOST, self._lamport.forward(), now, hostname=owner, told_by=self.name, task=job.command.task_id)

    def _write(self, member: MemberRecord) -> bool:
        if not has(self._ports.members):
            return False
        try:
            self._ports.members.beat(member)
        except SedanoError as error:
            self._ports.telemetry.log("warning", "heartbeat not written", error=str(error))
            return False
        return True
