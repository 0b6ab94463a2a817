"""Singletons: one run at a time of a task, or of each of its keys. The others wait as messages, end, or fail, as declared.

A run holds a lease until its invocation's deadline, taken before the claim and released after all follow-ups. A job that finds the lease
taken leaves its message's receipt in the lease and is held back until the lease expires. If the holder ends earlier, it makes the first
waiting message visible again and keeps the lease for it for a moment. A dead holder blocks the others no longer than its lease.

A lease has room for the receipts of ten messages of its key. Only these are woken, one by each release. Further messages are delivered
again after 2.5 to 7.5 s, then after a wait that doubles each time, up to 900 s; they take the lease or a place among the ten that is free
then. So the order is not that of publication, and a message may wait for ten hours before it reaches the limit of receives.

A wake-up is not guaranteed: the holder may die between the release and the waking, or the queue may refuse to make the message visible.
Then the message is delivered when its hold ends, which is at most the holder's lease and a second after it was taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sedano.engine.batch import Arguments, Batch, Job, Stillborn
from sedano.engine.canvas.chord_results import HeaderFailed
from sedano.engine.gate import Gate
from sedano.engine.leases import Busy, Leasing
from sedano.engine.pauses import may_be_woken, put_off, tell_held
from sedano.engine.wake_ups import TakenOff, WaitingMessage, wake_first, written
from sedano.errors import ArgumentError, ConfigurationError, MessageRefused, SedanoError, Unavailable
from sedano.model import refusals, states
from sedano.model.deferrals import patience, waited
from sedano.model.leases import GUARD_MS, MOST_WAITING, SHORTEST_MS, LeaseRecord, Term
from sedano.model.limits.task_limits import Key
from sedano.model.messages.message import Command
from sedano.model.states import TaskState
from sedano.model.tasks.task_spec import alone
from sedano.ports import Delivery, Ports

AGAIN_S = 5.0
"""How long (s) a message that cannot be woken waits at first; twice as long each time that it was sent anew, at most 900 s."""
TRIES = 3
"""How often a message tries to leave its receipt in a lease that changes hands meanwhile."""


class Singletons(Gate):
    """Admits singletons."""

    def __init__(self, ports: Ports, leasing: Leasing, arguments: Callable[[Command], Arguments]) -> None:
        """Take leases by *leasing*; *arguments* fetches those of a command."""
        self.ports, self.leasing, self.arguments = ports, leasing, arguments

    def admit(self, jobs: Sequence[Job], batch: Batch) -> Sequence[Job]:
        """Return the jobs that may continue: those that are not singletons, those whose lease this worker has taken, and those that must
        end unrun."""
        if all(job.task.singleton is None for job in jobs):
            return jobs
        admitted = [self._admit(job, job.task.singleton, batch) if job.stillborn is None else job for job in jobs]
        return [job for job in admitted if job is not None]

    def release(self, batch: Batch) -> None:
        """Give back the leases of the runs that have ended, and wake the next in line."""
        while batch.terms:
            term = batch.terms.pop()
            try:
                released = self.leasing.release(term)
                if released is not None:
                    wake(self.ports, released)
            except SedanoError as error:
                self.ports.telemetry.log("warning", "singleton not released; it will expire", lease=term.name, error=str(error))

    def _admit(self, job: Job, key: Key | None, batch: Batch) -> Job | None:
        if key is None:
            return job
        try:
            name = self._name(job, key)
        except (ArgumentError, MessageRefused, HeaderFailed):
            return job  # its arguments are wrong or lost for good: it will not run, and is told why where they are read again
        except (Unavailable, ConfigurationError) as away:
            self._not_now(job, away, batch)
            return None
        except Exception as error:  # noqa: BLE001 - the key is the user's function
            return _unrun(job, states.FAILURE, f"the singleton's key: {type(error).__name__}: {error}")
        try:
            duration = max(SHORTEST_MS, round((batch.deadline - self.ports.clock.now()) * 1000) + GUARD_MS)
            found = self.leasing.attempt(name, self._owner(job), duration, job.delivery.message_id)
            return self._settle(job, found, batch)
        except SedanoError as away:
            self._not_now(job, away, batch)
            return None

    def _not_now(self, job: Job, away: SedanoError, batch: Batch) -> None:
        self.ports.telemetry.log("warning", "singleton not answered", task_id=job.command.task_id, error=str(away))
        batch.defer_job(job, away)

    def _settle(self, job: Job, found: Term | Busy, batch: Batch) -> Job | None:
        if isinstance(found, Term):
            batch.terms.append(found)
            return job._replace(token=found.token)
        batch.count("SingletonsBusy", job.task.name)
        own = found.record.owner == self._owner(job)  # an earlier delivery of this very message died: its lease is not a reason to drop it
        if own or job.task.on_busy == "wait":
            self._hold(job, found, batch)
            return None
        state = states.REVOKED if job.task.on_busy == "drop" else states.FAILURE
        return _unrun(job, state, f"{found.record.name} is held by {found.record.owner}", refusals.BUSY)

    def _owner(self, job: Job) -> str:
        return f"{job.command.task} {job.command.task_id}"

    def _name(self, job: Job, key: Key) -> str:
        return f"singleton/{job.task.name}/{'' if key is alone else key(*self.arguments(job.command))}"

    def _hold(self, job: Job, busy: Busy, batch: Batch) -> None:
        """Hold the message back until the holder's lease expires, and leave its receipt so that it can be woken earlier.

        It is invisible before its receipt is in the lease, so a holder that wakes it makes it visible after this. Its patience counts the
        waits that it was sent anew for: a receipt may follow a wake-up, after which it need not wait for longer.
        """
        unit, again = self.ports.entropy.unit(), patience(waited(job.delivery.attributes).times, AGAIN_S)
        why = f"singleton held by {busy.record.owner}"
        batch.leave(job.delivery)
        seconds, is_woken = self._line_up(job, busy, again, unit)
        if is_woken:
            tell_held(self.ports, job, why, seconds, batch)
            batch.give_back(job.delivery)
        else:
            put_off(self.ports, job, why, seconds, batch)

    def _line_up(self, job: Job, busy: Busy, again: float, unit: float) -> tuple[float, bool]:
        """Leave the receipt of the message in the lease, and return for how many seconds it waits and whether it will be woken earlier.

        A lease that is not held takes no receipt, so nothing would wake the message: it is delivered again when that lease may be taken.
        """
        found: Busy | None = busy
        for _ in range(TRIES if may_be_woken(job) else 0):
            if found is None:  # it was released in between
                return 0.0, False
            if not found.record.held:
                return found.wait, False
            if len(found.record.waiting) >= MOST_WAITING:
                break
            seconds = max(found.wait, again) + unit
            if self._waits(job.delivery, found.record, seconds):
                return seconds, True
            found = self.leasing.look(found.record.name, job.delivery.message_id)
        return again * (0.5 + unit), False

    def _waits(self, delivery: Delivery, seen: LeaseRecord, seconds: float) -> bool:
        """Make *delivery* invisible for *seconds* and then leave its receipt in the lease; return whether it will be woken."""
        until = self.ports.clock.now() + seconds
        self.ports.queues.hold(delivery, seconds)
        return self.ports.leases.wait(seen, written(delivery, until))


def wake(ports: Ports, released: LeaseRecord) -> None:
    """Make the first message visible that waits for a *released* singleton and can be woken."""
    wake_first(ports, released.waiting, _AtLease(ports, released))  # ten at most


class _AtLease(NamedTuple):
    """The messages that wait for a *released* lease."""

    ports: Ports
    released: LeaseRecord

    def take_off(self, message: WaitingMessage) -> TakenOff:
        """Take *message* off the lease if it is the first there, and keep the lease for it."""
        seen = self.released._replace(waiting=(message.text,))
        done = self.ports.leases.call(seen, message.delivery.message_id)
        return TakenOff(done, is_free=done)

    def keep(self, message: WaitingMessage) -> None:
        """Do nothing: the write that takes the message off keeps the lease."""


def _unrun(job: Job, state: TaskState, why: str, code: str = "") -> Job:
    return job._replace(stillborn=Stillborn(state, code, "singleton", why, park=False))
