"""The step before the claim: what may not run just anywhere, or not beside another run, is let in, held back or ended here.

Two kinds of tasks are asked about: those that must run on the winner of an election (`engine.elections`) and singletons
(`engine.singletons`). Most apps have neither, so both are loaded by name: when the worker is built for an app that declares them, else when
the first of their messages comes. What lies in a paused queue (`engine.pauses`) is not even looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sedano.engine.batch import Arguments, Batch, Job, Later, Ran, Stillborn
from sedano.engine.context import TaskContext
from sedano.engine.registry import Registry
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import TIMER_OPENING, Command
from sedano.ports import Delivery, Ports

if TYPE_CHECKING:
    from sedano.engine.batch import Judged
    from sedano.engine.circuits import Circuits
    from sedano.engine.elections import Gossip
    from sedano.engine.limits.gate import Limiting
    from sedano.engine.parked.lot import ParkingLot
    from sedano.engine.priority import Preferring
    from sedano.engine.singletons import Singletons
    from sedano.engine.worker.coroutine_turns import Turns
    from sedano.engine.worker.execution import Ready
    from sedano.engine.worker.redelivery_credit import Spared


class Admission:
    """Lets jobs in on behalf of the worker *name*. *arguments* fetches those of a command."""

    def __init__(
        self, registry: Registry, ports: Ports, lamport: LamportClock, name: str, arguments: Callable[[Command], Arguments], lanes: int = 1
    ) -> None:
        """Load what the tasks of *registry* will need; *lanes*: `def` bodies that run at once."""
        self.lanes = lanes
        self.registry, self.ports, self.lamport, self.name, self.arguments = registry, ports, lamport, name, arguments
        if registry.led:
            self.gossip  # noqa: B018 - loaded while the function starts, not while a message waits
        if any(task.singleton is not None for task in registry.tasks.values()):
            self.singletons  # noqa: B018 - the same

        if self.guards:
            self.circuits  # noqa: B018 - the same
        if any(task.limits is not None for task in registry.tasks.values()):
            self.limiting  # noqa: B018 - the same

    @property
    def guards(self) -> bool:
        """Whether a task of this app has a circuit."""
        return any(task.circuit is not None for task in self.registry.tasks.values())

    def pool(self, concurrency: int) -> ThreadPoolExecutor | None:
        """Return the threads for `def` bodies: as many as the app's budget says, else *concurrency*; None: they run inline."""
        budget = self.registry.threads
        if budget is not None:
            from sedano.engine.worker.body_threads import BudgetedThreads

            return BudgetedThreads(*budget, self.ports.clock)
        return ThreadPoolExecutor(concurrency, "sedano-body") if concurrency > 1 else None

    def coroutines(self) -> Turns | None:
        """Return what gives turns to async bodies; None: all of a batch run at once."""
        budget = self.registry.coroutines
        if budget is None:
            return None
        from sedano.engine.worker.coroutine_turns import Turns

        return Turns(*budget, self.ports.clock)

    @cached_property
    def circuits(self) -> Circuits:
        """What leaves alone what has failed too often."""
        from sedano.engine.circuits import Circuits

        return Circuits(self.registry, self.ports)

    @cached_property
    def gossip(self) -> Gossip:
        """This worker's part in elections."""
        from sedano.engine.elections import Gossip

        return Gossip(self.registry, self.ports, self.lamport, self.name)

    @cached_property
    def singletons(self) -> Singletons:
        """What lets singletons in."""
        from sedano.engine.leases import Leasing
        from sedano.engine.singletons import Singletons

        return Singletons(self.ports, Leasing(self.ports), self.arguments)

    @cached_property
    def limiting(self) -> Limiting:
        """What lets limited tasks in."""
        from sedano.engine.limits.gate import Limiting

        return Limiting(self.ports, self.lamport, self.name, self.lanes, self.arguments)

    @cached_property
    def preferring(self) -> Preferring | None:
        """What orders a batch as the app prefers; None: it has no preference."""
        if self.registry.prefer is None:
            return None
        from sedano.engine.priority import Preferring

        return Preferring(self.ports, self.registry.prefer, self.lanes)

    def unpaused(self, deliveries: Sequence[Delivery], paused: Collection[str], batch: Batch) -> list[Delivery]:
        """Return those of *deliveries* whose queue is not among the *paused*; give the others back in *batch*."""
        if not paused:
            return list(deliveries)
        from sedano.engine.pauses import unpaused

        return unpaused(self.ports, deliveries, paused, batch)

    def due(self, deliveries: list[Delivery], batch: Batch) -> list[Delivery]:
        """Return *deliveries* with those that a timer sent taken out of their envelopes; what came early is sent on, to come in time."""
        if not any(delivery.body.startswith(TIMER_OPENING) for delivery in deliveries):
            return deliveries
        from sedano.engine.timers import due

        return due(self.ports, deliveries, batch)

    def turns(self, deliveries: Sequence[Delivery], jobs: Sequence[Job], batch: Batch, parking: ParkingLot) -> Iterator[list[Job]]:
        """Yield which of *jobs*, some of which came in order, go together, turn after turn; give back those whose turn does not come."""
        from sedano.engine.order import turns

        return turns(self.ports, deliveries, jobs, batch, parking)

    def admit(self, jobs: Sequence[Job], batch: Batch, paused: Collection[str] = ()) -> Sequence[Job]:
        """Return the jobs that may go on, those that shall end unrun among them; the others are decided in *batch*."""
        if any("=" in one for one in paused):
            from sedano.engine.pauses import going

            jobs = going(self.ports, jobs, paused, batch, self.arguments)
        tasks = {job.task.name: job.task for job in jobs}.values()  # a batch is mostly of one task, and most have none of this
        if any(task.circuit is not None for task in tasks):
            jobs = self.circuits.admit(jobs, batch)
        if batch.limits or any(task.limits is not None for task in tasks):
            jobs = self.limiting.admit(jobs, batch.limits, batch)
        if self.registry.led:
            jobs = self.gossip.admit(jobs, batch)
        if any(task.singleton is not None for task in tasks):
            jobs = self.singletons.admit(jobs, batch)
        return self.preferring.order(jobs, batch) if self.preferring is not None and len(jobs) > 1 else jobs

    def stopped(self, job: Job, paused: Collection[str], now: float) -> Later | None:
        """Return when *job*, which was let in, may begin if something of the texts *paused* stops it at *now*; None: nothing does."""
        from sedano.engine.pauses import stopping

        return stopping(self.ports, job, paused, self.arguments, now)

    def circuit(self, job: Job, now: float) -> Stillborn | Later | None:
        """Return why the circuit of the task of *job*, which was let in, forbids its body at *now*; None: it is closed."""
        return self.circuits.at(job, now)

    def put_off(self, job: Job, later: Later, batch: Batch) -> None:
        """Let *job*, which was let in, come again *later*, unrun."""
        from sedano.engine.pauses import put_off

        put_off(self.ports, job, later.reason, later.seconds, batch)

    def note(self, ran: Ran) -> None:
        """Let what begins next know how *ran*, of a task with a circuit, went."""
        self.circuits.note(ran)

    def learn(self, ended: Sequence[Judged], ready: Sequence[Ready], batch: Batch) -> None:
        """Let circuits and preferences know how it went with those of *ended* whose bodies were *ready* to run."""
        if self.preferring is not None:
            self.preferring.learn(ended)
        watched = any(task.circuit is not None for task in {one.job.task.name: one.job.task for one, _ in ready}.values())
        if watched or any(check.inbox for check in self.registry.checks.values()):
            ran = {one.job.delivery.message_id for one, _ in ready}
            self.circuits.learn([one for one in ended if one.ran.held.job.delivery.message_id in ran], batch)

    def release(self, batch: Batch) -> None:
        """Give back the leases and permits of what has ended, and wake the next in line."""
        if batch.terms:
            self.singletons.release(batch)
        if batch.permits:
            self.limiting.release(batch)

    def settle(self, batch: Batch, spared: Spared) -> None:
        """Send what was deferred anew, so that it waits outside of this worker and is not in flight."""
        if batch.deferred:
            from sedano.engine.deferrals import settle

            settle(self.ports, self.lamport, spared, batch)

    def vote(self, context: TaskContext, election_id: str, last: bool, about: Sequence[Any] = ()) -> None:
        """Open an election, or take part in one, on behalf of the running command; see `Gossip.vote`."""
        self.gossip.vote(context, election_id, last, about)
