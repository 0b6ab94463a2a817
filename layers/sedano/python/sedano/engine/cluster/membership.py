"""Membership: a worker says hello when it starts, says that it is here when it is invoked, and learns what the cluster must know.

The hello is one read of the control record (the cluster's clock, revoked headers, paused queues). It is read
again with each heartbeat: one write and one read in an interval, only while there is work. A heartbeat names the claimed tasks that its
invocation took, so that a reader can distinguish an idle worker from a dead one (`sedano.model.cluster.members`).

A deployment without a control record pauses and revokes nothing by header; one without members has workers that do not know of one another.

Less critical than the work: a heartbeat that is not written, a hello that is not answered are logged, and tried with the next batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sedano.engine.batch import Batch, Held, Job
from sedano.engine.history.run_events import count_at_once
from sedano.errors import SedanoError
from sedano.model.cluster.control_record import ControlRecord
from sedano.model.cluster.members import ACTIVE, HEARTBEAT, LEFT, OFFLINE, ONLINE, WORKER_LOST
from sedano.model.history.run_rows import Chronicle
from sedano.model.messages.lamport import ClockAhead, LamportClock
from sedano.ports import MemberRecord, Ports
from sedano.ports.absent import has

if TYPE_CHECKING:
    from sedano.engine.cluster.inbox import Inbox
    from sedano.engine.registry import Registry
    from sedano.engine.task_context import TaskContext
    from sedano.engine.worker.settings import WorkerSettings


def _no_report() -> str:
    """Report nothing, where no host says what it is."""
    return ""


def _none_overdue(running: Sequence[TaskContext]) -> Sequence[str]:
    """Return no task, where no worker says which claims have expired."""
    return ()


class Membership:
    """One worker's place in the cluster. *control* is what it knows of the control record, *report* returns what it says of itself, as its
    host sets it (`sedano.model.cluster.worker_report`)."""

    __slots__ = (
        "_answers", "_due", "_every", "_heard", "_joined", "_lamport", "_last", "_ports", "_said", "_ticked", "control", "name", "report",
    )  # fmt: skip

    def __init__(self, ports: Ports, lamport: LamportClock, name: str, every: float) -> None:
        """Beat as *name*, at most once in *every* seconds."""
        self._ports = ports
        self._lamport = lamport
        self.name = name
        self._every = every
        self._last = self._ticked = float("-inf")
        self._due = self._joined = self._heard = False
        self.control = ControlRecord()
        self._answers = ""
        self._said = MemberRecord(name, 0, ACTIVE, 0, 0.0)
        self.report: Callable[[], str] = _no_report

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
        self._said = MemberRecord(
            name=self.name, clock=self._lamport.forward(), state=ACTIVE, in_flight=in_flight, seen=now, tasks=tasks, answers=self._answers,
            report=self.report(),
        )  # fmt: skip
        if not self._write(self._said):
            return
        kind = HEARTBEAT if self._joined else ONLINE
        self._joined = True
        chronicle.line(kind, self._lamport.forward(), now, active=in_flight, freq=self._every)

    def answer(self, answers: str) -> None:
        """Write the *answers* to the inbox into this worker's record at once; they stay in it."""
        self._answers = answers
        self._said = self._said._replace(clock=self._lamport.forward(), seen=self._ports.clock.now(), answers=answers)
        self._write(self._said)

    def report_change(self) -> None:
        """Write this worker's record at once if its report is another one than in its last heartbeat."""
        if self.report() != self._said.report:
            self.stay()

    def stay(self) -> None:
        """Write this worker's record, so that others see that it lives although it has nothing to do."""
        if self._joined:
            said = self._said._replace(clock=self._lamport.forward(), seen=self._ports.clock.now(), report=self.report())
            if self._write(said):
                self._said = said

    def leave(self, chronicle: Chronicle) -> None:
        """Say that this worker takes no more work."""
        now = self._ports.clock.now()
        if self._write(MemberRecord(self.name, self._lamport.forward(), LEFT, 0, now, answers=self._answers, report=self.report())):
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


class InboxDoor:
    """Loads the inbox of one worker (`sedano.engine.cluster.inbox`) when the control record first announces a command.

    *worked*: how many messages the worker finished. *overdue* returns the ids of running tasks whose claims expired. *host*: what its
    host does for the verbs that only a process of its own can obey.
    """

    __slots__ = ("_inbox", "_membership", "_ports", "_registry", "_running", "_started", "_unsigned", "host", "overdue", "worked")

    def __init__(
        self, ports: Ports, membership: Membership, registry: Registry, settings: WorkerSettings, running: Callable[[], list[TaskContext]]
    ) -> None:
        """Load nothing; warn where *settings* let in commands without a seal."""
        self._ports, self._membership, self._registry, self._running = ports, membership, registry, running
        self.overdue: Callable[[Sequence[TaskContext]], Sequence[str]] = _none_overdue
        self._started, self._unsigned = ports.clock.now(), settings.unsigned_inbox
        self._inbox: Inbox | None = None
        self.host: dict[str, Callable[..., object]] = {}
        self.worked = 0
        if self._unsigned:
            ports.telemetry.log("warning", "the inbox of this worker obeys commands without a seal (unsigned_inbox)")

    def expired(self) -> Sequence[str]:
        """Return the ids of the running tasks whose claims have expired, as far as this worker knows."""
        return self.overdue(self._running())

    def obey(self) -> None:
        """Obey the commands to this worker that the known control record announces; nothing is read where it announces none.

        A batch does this after its hello. A host that lives looks at the control record (`Membership.look`) and calls this each second.

        Raises:
            Unavailable: the inbox was not read; the next call tries again.
        """
        if not self._membership.control.asked or not has(self._ports.memos):
            return
        from sedano.engine.cluster.inbox import Inbox, Staff

        if self._inbox is None:
            member = self._membership
            self._inbox = Inbox(self._ports, Staff(
                name=member.name, announced=lambda: member.control.asked, answer=member.answer,
                checks=self._registry.checks, running=lambda: len(self._running()), worked=lambda: self.worked, host=self.host,
                expired=self.expired, unsigned=self._unsigned, started=self._started,
                reload=None if self._registry.configuration is None else self._registry.configuration.reload,
            ))  # fmt: skip
        self._inbox.obey()
