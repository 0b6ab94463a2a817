"""A world of limited tasks, in the weather of tasks: how often and how many at a time they start, whoever dies and whatever gets lost.

Everything is the shipped code: `engine.limits.limit_gate` over `aws.limits`, inside the shipped worker. Clocks differ by a second at most.

What is promised stands in `tests.simulation.limit_referee`; that nothing is lost is the referee's of tasks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import greenlet

from sedano import current
from sedano.aws.limits import DynamoLimits
from sedano.engine.batch import Batch, Job
from sedano.engine.limits.concurrency import Permitting
from sedano.engine.limits.rate import Pacing, RateRequest
from sedano.engine.publisher.requeue import Requeued
from sedano.engine.worker.pipeline import Worker
from sedano.model.limits.concurrency import BOARD_SIZE
from sedano.model.limits.task_limits import SLOT, Slot, slot_of
from sedano.ports import Ports
from tests.simulation import chores
from tests.simulation.claims import COMMANDS, SETTINGS, URLS, ClaimWorld, Plan, Planted, plan_of
from tests.simulation.lambdas import Lambda
from tests.simulation.lease_referee import CONTROL
from tests.simulation.limit_referee import LIMIT, SKEW_S, Holders, Starts, line_changed, permits_changed
from tests.simulation.network import Client, Fault, Weather
from tests.simulation.process import Process
from tests.simulation.world import START

NOTHING = Planted()


@chores.app.task(name="paced", rate="2/s", burst=2)
def paced(n: int) -> int:
    """Start twice a second, two at once."""
    return n


@chores.app.task(name="windowed", rate=("4/s", "60/m"), burst=(1, 4))
def windowed(n: int) -> int:
    """Start four times a second, and after four of them once."""
    return n


@chores.app.task(name="shared", concurrency=LIMIT, concurrency_key="{key}")
def shared(key: str) -> str:
    """Be one of two with *key*."""
    owner: Process = greenlet.getcurrent().owner  # type: ignore[attr-defined] # bodies run in actors
    world: Any = owner.world
    context = current()
    run = world.holders.enter(owner, key, context.permit, context.token, context.deadline - owner.clock.offset)
    world.sleep(3 * world.dice.random() if world.dice.random() < 0.8 else 25 * world.dice.random())
    world.holders.leave(run)
    return key


class Watched(Pacing):
    """The shipped pacing; the world is told whom it let start, and under which slot."""

    starts: Starts

    def admit(self, asked: Sequence[RateRequest], batch: Batch) -> list[Job]:
        """Let the shipped code decide, and tell."""
        self.fresh: dict[str, int] = {}
        going = super().admit(asked, batch)
        ids = {job.delivery.message_id for job in going}
        for one in asked:
            delivery = one.job.delivery
            if delivery.message_id in ids:
                late = self.fresh.get(delivery.message_id)
                own = slot_of(delivery.attributes.get(SLOT, "").rpartition(";")[2]) if late is None else None
                self.starts.note(one, own, delivery, own if own is not None else Slot(0, late or 0, "own"))
        return going

    def _ticket(self, name: str, some: list[tuple[RateRequest, int]], going: list[Job], waiting: list[Requeued], batch: Batch) -> None:
        """Remember whose slot is one that was taken just now."""
        super()._ticket(name, some, going, waiting, batch)
        self.fresh |= {one.job.delivery.message_id: late for one, late in some}


def held_up(seed: int) -> bool:
    """Whether what comes is held up for a while in the schedule of *seed*."""
    return seed % 5 == 0


class Switched(Lambda):
    """An event source that may be off for a while: then whatever was given a slot meanwhile comes too late for it, all at once."""

    off = range(0)
    """The seconds of the world in which it is."""

    def switch_off(self, moment: int, seconds: int) -> None:
        """Be off from *moment* on for so many seconds."""
        self.off = range(moment, moment + seconds)
        self.world.at(float(self.off.stop), self.poll)

    def poll(self) -> None:
        """Hand out nothing while it is off."""
        if int(self.world.now) in self.off:
            self.world.branches["nothing is handed out"] += 1
        else:
            super().poll()


class LimitWorld(ClaimWorld):
    """One schedule: a backlog of tasks of one rate. In every fifth the event source is off for a while, soon after slots were given."""

    tasks: tuple[Any, ...] = (paced, windowed)
    board_size = BOARD_SIZE

    def __init__(self, seed: int, planted: Planted = NOTHING, allowed: AbstractSet[int] | None = None, pacing: type[Watched] = Watched):
        """Set the stage of *seed*; *pacing* is what decides."""
        super().__init__(seed, self.drawn(seed), planted, allowed)
        self.database.clock = lambda: self.world.now
        self.starts = Starts(self.world)
        self.pacing = pacing
        self.database.watchers.append(partial(line_changed, self.world))
        self.function = Switched(self.world, self.queues, URLS[COMMANDS], self.plan.limits, self._environment)
        self.function.delivered = self.referee.delivered
        if held_up(seed):
            dice = Random(f"the event source of {seed}")
            self.function.switch_off(int(START) + dice.choice((1, 2)), dice.choice((10, 20)))

    def drawn(self, seed: int) -> Plan:
        """Draw what the schedule of *seed* is about: processes do not pause between a decision and what it decides about."""
        counts = (12,) if held_up(seed) else (3, 6, 12)
        return _plan(seed, ("paced", "paced", "windowed"), counts, tuple(f for f in Fault if f is not Fault.PAUSE))

    def ports(self, process: Process) -> Ports:
        """Return the ports of *process*, with simulated limits."""
        client = Client(process, self.database.call, self.plan.weather, self.planted.rewrite)
        limits: Any = DynamoLimits(client, CONTROL, self.board_size)
        return replace(super().ports(process), limits=limits)

    def at_rest(self) -> None:
        """Judge the world when nothing is left to happen (R2)."""
        self.referee.at_rest(Counter(self.plan.kinds), SETTINGS.poison_after)

    def _environment(self, number: int) -> Any:
        planted = self.planted

        def watched(worker: Worker) -> None:
            limiting: Any = worker._admission.gate("limits")
            limiting.pacing = self.pacing(limiting.ports)
            limiting.pacing.starts = self.starts
            limiting.permitting = Permitting(limiting.ports, limiting.permitting.owner, self.board_size)
            planted.worker(worker)

        self.planted = replace(planted, worker=watched)
        try:
            return super()._environment(number)
        finally:
            self.planted = planted

    def _publish(self) -> None:
        for number, kind in enumerate(self.plan.kinds):
            task: Any = paced if kind == "paced" else windowed
            task.delay(number)
            if self.world.dice.random() < 0.2:
                self.world.sleep(6 * self.world.dice.random() ** 2)


class PermitWorld(LimitWorld):
    """One schedule: tasks of which two run at a time for each of two keys."""

    def __init__(self, seed: int, planted: Planted = NOTHING, allowed: AbstractSet[int] | None = None) -> None:
        """Set the stage of *seed*."""
        super().__init__(seed, planted, allowed)
        self.holders = self.world.holders = Holders(self.world)  # type: ignore[attr-defined] # where bodies find it
        self.database.watchers.append(partial(permits_changed, self.world))

    def drawn(self, seed: int) -> Plan:
        """Draw what the schedule of *seed* is about."""
        return _plan(seed, ("shared",), (3, 4, 6), tuple(Fault))

    def _publish(self) -> None:
        for _ in self.plan.kinds:
            shared.delay("ab"[int(1.2 * self.world.dice.random())])
            self.world.sleep(4 * self.world.dice.random() ** 2)


class BoardWorld(PermitWorld):
    """One schedule of permits that are on a board each, so that their limit has several boards and a line of messages."""

    board_size = 1


def _plan(seed: int, kinds: Sequence[str], counts: Sequence[int], faults: Sequence[Fault]) -> Plan:
    """Draw a schedule of some of *counts* tasks, all of one of *kinds*."""
    dice, plan = Random(f"limits of {seed}"), plan_of(seed)
    drawn = tuple(fault for fault in plan.weather.kinds if fault in faults) or (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)
    weather = Weather(min(plan.weather.chance, 0.2), drawn)
    quick = tuple(fault for fault in drawn if fault in (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)) or (Fault.CRASH_AFTER,)
    limits = replace(plan.limits, environments=dice.choice((2, 3, 4)), batch=dice.choice((1, 5, 10)))
    chosen = (dice.choice(kinds),) * dice.choice(counts)
    return replace(
        plan, kinds=chosen, weather=weather, limits=limits, skew=min(plan.skew, SKEW_S), queues=Weather(min(weather.chance, 0.1), quick)
    )
