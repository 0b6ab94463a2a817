"""The look at a task right before its body begins: may it still begin?

The bodies of a batch that run one after the other begin long after their messages were let in. What was true then is looked at again:

- **expiry**, before each body: no I/O;
- its **circuit**, before each body: what earlier bodies of this batch came to counts at once, in memory;
- **revocation** by id or header, and **pauses**, when a second has passed since the last look: one read of the control record, and one of
  the ledger for the batch.

A read that is not answered leaves what was known. What may not begin any more ends or is put off as it would have been at its intake.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence

from sedano.engine.batch import Arguments, Held, Job, Later, Stillborn
from sedano.engine.cluster.membership import Membership
from sedano.errors import SedanoError
from sedano.model import refusals, states
from sedano.model.cluster.control_record import revoked_by
from sedano.model.queues import queue_of
from sedano.ports import Ports

LOOK_S = 1.0
"""Bodies that begin within so many seconds of a look need no other one."""


def judged(ports: Ports, shown: float) -> float:
    """Return the time (epoch s) by which a task is ended as expired, where this machine's clock shows *shown*.

    Such an end cannot be taken back, so what is known of the store's clock decides where this machine's is wrong.
    """
    store = ports.store_time()
    return shown if store is None else store.corrected(shown)


class SecondLook:
    """Looks at what one worker is about to begin. One batch at a time; its bodies may begin on several threads."""

    def __init__(
        self, ports: Ports, membership: Membership, circuit: Callable[[Job, float], Stillborn | Later | None],
        stopped: Callable[[Job, Collection[str], float], Later | None],
    ) -> None:  # fmt: skip
        """Look at what *membership* knows of the control record; *circuit* looks at that of a job, *stopped* at what is paused."""
        self._ports, self._membership, self._circuit, self._stopped_by = ports, membership, circuit, stopped
        self._lock = threading.Lock()
        self._looked = 0.0
        self._fresh = False
        self._ready: Sequence[tuple[Held, Arguments]] = ()
        self._revoked: set[str] = set()

    def begin(self, ready: Sequence[tuple[Held, Arguments]]) -> None:
        """Begin with what was *ready* to run just now.

        What the control record said at an earlier look of the batch holds for its later rounds too: their messages were let in before it.
        """
        control = self._membership.control
        self._fresh = self._fresh and bool(control.paused or control.revoked)
        self._looked, self._ready = self._ports.clock.now(), ready
        self._revoked.clear()

    def is_clear(self, job: Job, now: float) -> bool:
        """Tell, cheaply, that nothing can forbid the body of *job* at *now* that did not at its intake."""
        if self._fresh or not 0.0 <= now - self._looked < LOOK_S:
            return False
        return job.command.expires is None and job.task.circuit is None

    def due(self, now: float) -> bool:
        """Tell whether the stores are to be asked before a body begins at *now*."""
        return not 0.0 <= now - self._looked < LOOK_S

    def ask(self, now: float) -> None:
        """Ask the stores what has changed."""
        with self._lock:
            if not self.due(now):
                return
            self._looked, self._fresh = now, True
            self._membership.look()
            try:
                named = [held.job.command.task_id for held, _ in self._ready if held.job.mode != "at_least_once"]
                records = self._ports.ledger.read(named) if named else {}
            except SedanoError as error:
                self._ports.telemetry.log("warning", "revocations not read; what was known holds", error=str(error))
                return
            self._revoked = {task_id for task_id, record in records.items() if record.asked or record.state == states.REVOKED}

    def at(self, held: Held, now: float) -> Stillborn | Later | None:
        """Return why the body of *held* must not begin at *now*, as far as is known; None when it may."""
        job, expires = held.job, held.job.command.expires
        if expires is not None and expires <= (right := judged(self._ports, now)):
            why = f"expired {right - expires:.0f} s ago, while it waited for others of its batch"
            return Stillborn(states.EXPIRED, refusals.EXPIRED, "expirytime", why)
        if self._fresh and (found := self._stopped(job, now)) is not None:
            return found
        return self._circuit(job, now) if job.task.circuit is not None else None

    def _stopped(self, job: Job, now: float) -> Stillborn | Later | None:
        if job.command.task_id in self._revoked:
            return Stillborn(states.REVOKED, refusals.REVOKED, "taskid", "revoked before it began")
        control = self._membership.control
        pair = revoked_by(control, job.command, queue_of(job.delivery.queue)) if control.revoked else None
        if pair is not None:
            return Stillborn(states.REVOKED, refusals.REVOKED, pair.partition("=")[0], f"revoked by {pair}")
        return self._stopped_by(job, control.paused, now) if control.paused else None
