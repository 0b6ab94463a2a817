"""A world of one lease: a few processes take it, believe in it, write under its token, renew it, lose it, and die with it.

What contends is the shipped code: `engine.leases` with its rule over `aws.leases`. The store's own machines disagree about the time by
less than the guard, the processes by anything; wall clocks step or monotonic ones stand still, though not both in one process.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from sedano import memory
from sedano.aws.leases import DynamoLeases
from sedano.engine.leases import Acquisition, Leasing
from sedano.errors import Unavailable
from sedano.model.leases import GUARD_MS, Leased, LeaseRecord, Term
from sedano.ports import Ports
from tests.simulation.claims import Telemetry
from tests.simulation.dynamodb import Database
from tests.simulation.lease_referee import CONTROL, RESOURCE, LeaseReferee
from tests.simulation.linearizability import NEVER, Operation, linearizable, overlapping
from tests.simulation.network import Client, Fault, Rewrite, Weather
from tests.simulation.process import Process
from tests.simulation.world import START, World

NAME = "report"
REST_S = 6 * 3_600.0
IDLE_S = 3_600.0
"""How long a process goes without the lease at the most: long enough for TTL to delete it."""
LATEST_S = 300.0
_PORTS = memory.ports()
OVERLAPS = "history with operations that overlap"
FENCE = "attribute_not_exists(ftok) OR ftok <= :t"


@dataclass(frozen=True, slots=True)
class LeasePlan:
    """What a schedule is about: how many processes take it how often, for how long, in which weather, and how wrong clocks are."""

    processes: int
    rounds: int
    duration: int
    weather: Weather
    calm_after: float
    store_skew: float
    wall_skew: float
    steps: bool


@dataclass(frozen=True, slots=True)
class PlantedLease:
    """A fault planted on purpose: *rewrite* changes what is sent, *leasing* the code, *fence* the resource's own condition."""

    rewrite: Rewrite | None = None
    leasing: Callable[[Leasing], Any] = field(default=lambda leasing: leasing)
    fence: str = FENCE
    entropy: Callable[[Process], Any] = field(default=lambda process: process.entropy)


SOUND = PlantedLease()


def plan_of(seed: int) -> LeasePlan:
    """Draw what the schedule of *seed* is about."""
    dice = Random(f"plan of {seed}")
    faults = tuple(dice.sample(tuple(Fault), dice.choice((1, 2, 3, 4))))
    weather = Weather(dice.choice((0.0, 0.1, 0.2, 0.4)), faults)
    return LeasePlan(
        dice.choice((2, 2, 2, 3)), dice.choice((1, 1, 1, 2)), dice.choice((3_000, 5_000, 9_000)), weather, dice.choice((60.0, 120.0)),
        dice.choice((0.0, 0.3, 0.9)), dice.choice((0.0, 1.0, 3_600.0)), dice.random() < 0.5,
    )  # fmt: skip


class Recorded:
    """Leases (`sedano.ports.Leases`) that write down what their callers asked and were answered."""

    def __init__(self, inner: Any, world: World, history: list[Operation]) -> None:
        """Write into *history*."""
        self._inner, self._world, self._history = inner, world, history

    def take(self, grant: LeaseRecord, seen: LeaseRecord | None) -> Leased:
        """Take."""
        saw, held = (seen.token, seen.held) if seen is not None else (0, False)
        asked = Operation("take", grant.nonce, grant.token, self._world.now, NEVER, saw=saw, held=held)
        return self._noted(asked, lambda: self._inner.take(grant, seen))

    def renew(self, term: Term, expires: int) -> Leased:
        """Renew."""
        asked = Operation("renew", term.nonce, term.token, self._world.now, NEVER)
        return self._noted(asked, lambda: self._inner.renew(term, expires))

    def release(self, term: Term, reserved: int) -> Leased:
        """Release."""
        asked = Operation("release", term.nonce, term.token, self._world.now, NEVER)
        return self._noted(asked, lambda: self._inner.release(term, reserved))

    def _noted(self, asked: Operation, call: Callable[[], Leased]) -> Leased:
        number = len(self._history)
        self._history.append(asked)
        answer = call()
        self._history[number] = asked._replace(ended=self._world.now, granted=answer.done)
        return answer

    def __getattr__(self, name: str) -> Any:
        """Return what changes no holder."""
        return getattr(self._inner, name)


class LeaseWorld:
    """One schedule: `run` plays it to its end and raises the `Violation` that it finds."""

    def __init__(self, seed: int, planted: PlantedLease = SOUND, allowed: AbstractSet[int] | None = None) -> None:
        """Set the stage of *seed*."""
        self.plan, self.planted = plan_of(seed), planted
        self.world = world = World(seed, allowed)
        world.calm_from = START + self.plan.calm_after
        self.database = Database()
        self.database.clock = lambda: world.now + self.plan.store_skew * (2 * world.dice.random() - 1)
        self.referee = LeaseReferee(world, self.database)
        self.history: list[Operation] = []
        self.born = 0
        self.done = 0

    def run(self) -> World:
        """Play the schedule; return its world."""
        for _ in range(self.plan.processes):
            self._start(self.plan.rounds)
        self.world.at(START + 90 * self.world.dice.random(), self._forget)
        try:
            self.world.run(self.world.calm_from + REST_S)
            if self.done != self.plan.processes * self.plan.rounds:
                self.world.fail("L", f"{self.done} terms of {self.plan.processes * self.plan.rounds} came to their end")
            self.world.branches[OVERLAPS if overlapping(self.history) else "history of one after another"] += 1
            if not linearizable(self.history):
                self.world.fail("LIN", "no order of what the callers saw is one of an atomic lease")
        finally:
            self.world.end()
        return self.world

    def _forget(self) -> None:
        """Let the store's TTL delete a released lease that nobody wrote to for longer than any request can be late.

        That is days in truth; here it is a little more than the longest delay of this network.
        """
        world = self.world
        if world.now - self.referee.held_until > LATEST_S and self.database.expire(CONTROL, world.now + 30 * 86_400):
            world.branches["deleted by TTL"] += 1
            self.history.append(Operation("forget", "", 0, world.now, world.now))
        if self.done < self.plan.processes * self.plan.rounds:
            world.at(world.now + 40 + 60 * world.dice.random(), self._forget)

    def _start(self, rounds: int) -> None:
        """Start a process that takes the lease *rounds* times; when it dies, another goes on in its place."""
        self.born += 1
        process = Process(self.world, self.born, "clone" if self.world.dice.random() < 0.3 else f"process{self.born}")
        process.clock.offset = self.plan.wall_skew * (2 * self.world.dice.random() - 1)
        process.steps = self.plan.steps
        process.clock.rate = 1 + 4e-4 * (2 * self.world.dice.random() - 1)
        left = [rounds]
        process.actor = self.world.spawn(process, lambda: self._contend(process, left), delay=2 * self.world.dice.random())

        def died() -> None:
            self.referee.waiting.pop(process.number, None)
            if left[0]:
                self._start(left[0])

        process.died = lambda: self.world.at(self.world.now + 5 * self.world.dice.random(), died)

    def ports(self, process: Process) -> Ports:
        """Return the ports of *process*."""
        client = Client(process, self.database.call, self.plan.weather, self.planted.rewrite)
        clock: Any = process.clock
        telemetry: Any = Telemetry(self.world)
        leases: Any = Recorded(DynamoLeases(client, CONTROL, clock), self.world, self.history)
        return replace(_PORTS, leases=leases, clock=clock, entropy=self.planted.entropy(process), telemetry=telemetry)

    def _contend(self, process: Process, left: list[int]) -> None:
        leasing = self.planted.leasing(Leasing(self.ports(process)))
        client = Client(process, self.database.call, self.plan.weather)
        while left[0]:
            term = self._acquire(process, leasing)
            self._hold(process, leasing, term, client)
            left[0] -= 1
            self.done += 1
            self.world.sleep(3 * self.world.draw() if self.world.draw() < 0.85 else IDLE_S * self.world.draw())

    def _acquire(self, process: Process, leasing: Leasing) -> Term:
        fair = self.world.dice.random() < 0.3
        self.referee.waiting[process.number] = self.world.now
        acquisition = Acquisition(leasing, NAME, process.name, lambda: self.plan.duration, None, fair=fair)
        while True:
            process.invocation += 1
            try:
                found = acquisition.step()
            except Unavailable:
                self.world.sleep(0.5 * self.world.dice.random())
                continue
            if isinstance(found, Term):
                self.referee.waiting.pop(process.number, None)
                return found
            self.referee.refused(process, process.mark)
            self.world.sleep(found)

    def _hold(self, process: Process, leasing: Leasing, term: Term, client: Client) -> None:
        """Believe, write, renew and at last release; stop when the term is over."""
        for _ in range(1 + int(4 * self.world.draw())):
            if self.referee.believes(process, term, leasing.moment) and self.world.draw() < 0.6:
                self._write(client, term.token)
            self._wait(process)
            if self.world.draw() < 0.2:
                continue
            try:
                renewed = leasing.renew(term)
            except Unavailable:
                continue
            if renewed is None:
                self.world.branches["term over"] += 1
                break
            term = renewed
            self.referee.believes(process, term, leasing.moment)
        self.referee.over(process)
        try:
            leasing.release(term)
        except Unavailable:
            self.world.branches["release not answered"] += 1

    def _wait(self, process: Process) -> None:
        """Let time pass, sometimes until others may take over, sometimes with a pause or a step of the wall clock in it."""
        draw, duration = self.world.draw, self.plan.duration / 1000
        self.world.sleep(0.4 * duration * draw() ** 2 if draw() < 0.9 else duration + 2 * GUARD_MS / 1000 * draw())
        if self.world.strikes(self.plan.weather.chance / 2) is None:
            return
        if self.plan.steps:
            process.clock.offset += 40 * (2 * self.world.dice.random() - 1)
            self.world.note(process.number, "its wall clock steps")
            self.world.branches["clock step"] += 1
        else:
            process.pause(30 * self.world.dice.random(), stops=True)
            self.world.branches["freeze"] += 1

    def _write(self, client: Client, token: int) -> None:
        """Write to the resource that checks tokens."""
        try:
            client.update_item(
                TableName=CONTROL, Key={"pk": {"S": RESOURCE + NAME}}, UpdateExpression="SET ftok = :t",
                ConditionExpression=self.planted.fence, ExpressionAttributeValues={":t": {"N": str(token)}},
            )  # fmt: skip
        except Exception as refused:  # noqa: BLE001 - a late writer is fenced off, or the store is away
            self.world.branches["fenced off" if "Conditional" in str(refused) else "resource away"] += 1
