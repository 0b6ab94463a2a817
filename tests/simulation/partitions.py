"""A world of partitions: workers come, balance in rounds, pause, freeze, die and go; then it is calm, and shares must be fair.

What shares is the shipped code: `engine.partitions` with its pure plan, over `engine.leases` and `aws.leases`. P1: at most one holder
of a partition, by token and by belief; once the faults have stopped, everything is held within a few rounds and no load is more than one
above the fair share; a worker that asks gets its own by the others' giving, not by force.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from sedano import memory
from sedano.aws.leases import DynamoLeases
from sedano.engine import partitions as partitioning
from sedano.engine.leases import Leasing
from sedano.engine.partitions import Partitioning
from sedano.errors import Unavailable
from sedano.model import partitions
from sedano.model.partitions import Plan, fair_share
from sedano.ports import Ports
from tests.simulation.claim_referee import number, text
from tests.simulation.claims import Telemetry
from tests.simulation.dynamodb import Change, Database
from tests.simulation.lease_book import LeaseBook
from tests.simulation.lease_referee import CONTROL, LEASE
from tests.simulation.network import Client, Fault, Rewrite, Weather
from tests.simulation.process import Process
from tests.simulation.world import START, World

_PORTS = memory.ports()
ROUND_S = 4.0
"""How long a worker waits at most between two rounds."""


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """What a schedule is about: how many workers share how many partitions of which duration, in which weather, how long."""

    workers: int
    count: int
    duration: int
    weather: Weather
    calm_after: float
    store_skew: float
    wall_skew: float
    hopeless: float
    """The chance that a worker dies in a round after which it waits for a partition."""


@dataclass(frozen=True, slots=True)
class PlantedShare:
    """A fault planted on purpose: *rewrite* changes what is sent, *leasing* the code below, *plan* the rule of who should hold what."""

    rewrite: Rewrite | None = None
    leasing: Callable[[Leasing], Leasing] = field(default=lambda leasing: leasing)
    plan: Callable[..., Plan] = partitions.plan


FAIR = PlantedShare()


def plan_of(seed: int) -> PartitionPlan:
    """Draw what the schedule of *seed* is about."""
    dice = Random(f"partitions of {seed}")
    faults = tuple(dice.sample(tuple(Fault), dice.choice((1, 2, 3))))
    weather = Weather(dice.choice((0.0, 0.05, 0.15, 0.4)), faults)
    count = dice.choice((1, 3, 4, 5, 7, 7, 32 if seed % 8 == 0 else 9))
    return PartitionPlan(
        dice.choice((1, 2, 3, 4)), count, dice.choice((12_000, 20_000)), weather, dice.choice((20.0, 40.0)),
        dice.choice((0.0, 0.3, 0.9)), dice.choice((0.0, 1.0, 3_600.0)), dice.choice((0.0, 0.3, 0.6)),
    )  # fmt: skip


class PartitionWorld:
    """One schedule: `run` plays it to its end and raises the `Violation` that it finds."""

    def __init__(self, seed: int, planted: PlantedShare = FAIR, allowed: AbstractSet[int] | None = None) -> None:
        """Set the stage of *seed*."""
        self.plan, self.planted = plan_of(seed), planted
        self.world = world = World(seed, allowed)
        world.calm_from = START + self.plan.calm_after
        self.database = Database()
        self.database.clock = lambda: world.now + self.plan.store_skew * (2 * world.dice.random() - 1)
        self.book = LeaseBook(world, self.database)
        self.database.watchers.append(self._handed_over)
        self.born = 0
        self.shares: dict[int, tuple[Process, set[int]]] = {}
        self.ends = world.calm_from

    def run(self) -> World:
        """Play the schedule; return its world."""
        for _ in range(self.plan.workers):
            self._start()
        self.world.at(self.world.calm_from, self._calm)
        partitioning.plan = self.planted.plan  # type: ignore[attr-defined] # where a wrong rule is planted
        try:
            self.world.run(self.world.calm_from + 3_600)
            self.at_rest()
        finally:
            partitioning.plan = partitions.plan  # type: ignore[attr-defined]
            self.world.end()
        return self.world

    def _calm(self) -> None:
        """Decide when it ends: when the last fault has had its consequences, terms of the dead are over, and rounds enough were done."""
        rounds = 6 + self.plan.count
        self.ends = max(self.world.quiet_from, self.world.now) + 2 * self.plan.duration / 1000 + rounds * ROUND_S

    def _start(self) -> None:
        self.born += 1
        dice = self.world.dice
        process = Process(self.world, self.born, "clone" if dice.random() < 0.3 else f"worker{self.born}")
        process.clock.offset = self.plan.wall_skew * (2 * dice.random() - 1)
        process.clock.rate = 1 + 4e-4 * (2 * dice.random() - 1)
        process.died = lambda: self._died(process)
        self.shares[process.number] = (process, set())
        process.actor = self.world.spawn(process, lambda: self._work(process), delay=3 * dice.random())

    def _died(self, process: Process) -> None:
        """Let another worker come in the place of one that died, mostly."""
        self.world.branches["a worker died"] += 1
        self.shares.pop(process.number, None)
        self.book.gone(process)
        if self.world.dice.random() < 0.7 or not self.shares:
            self.world.at(self.world.now + 5 * self.world.dice.random(), self._start)

    def ports(self, process: Process) -> Ports:
        """Return the ports of *process*."""
        client = Client(process, self.database.call, self.plan.weather, self.planted.rewrite)
        clock: Any = process.clock
        telemetry: Any = Telemetry(self.world)
        leases: Any = DynamoLeases(client, CONTROL, clock)
        return replace(_PORTS, leases=leases, clock=clock, entropy=process.entropy, telemetry=telemetry)

    def _work(self, process: Process) -> None:
        leasing = self.planted.leasing(Leasing(self.ports(process)))
        me = f"{process.name} {process.number}"
        share = Partitioning(leasing, "orders", self.plan.count, self.plan.duration, me)
        leaves = self.world.dice.random() < 0.2 and self.world.now + 60 * self.world.dice.random()
        while self.world.now < self.ends:
            process.invocation += 1
            self._round(process, leasing, share)
            if leaves and self.world.now > leaves and self.world.now < self.world.calm_from and len(self.shares) > 1:
                self._leave(process, share)
                return
            if self._asks(me) and self.world.strikes(self.plan.hopeless) is not None:
                process.die()
            self._wait(process)

    def _asks(self, me: str) -> bool:
        """Tell whether the worker *me* waits for a partition to be given to it."""
        return any(text(item, "want") == me for item in self.database.table(CONTROL).values())

    def _round(self, process: Process, leasing: Leasing, share: Partitioning) -> None:
        try:
            terms = share.balance()
        except Unavailable:
            self.world.branches["round not answered"] += 1
            return
        held = self.shares[process.number][1]
        for index in held - terms.keys():
            self.book.over(process, share._names[index])
        held.clear()
        held.update(index for index, term in terms.items() if self.book.believes(process, term, leasing))

    def _leave(self, process: Process, share: Partitioning) -> None:
        self.world.branches["a worker left"] += 1
        self.shares.pop(process.number, None)
        self.book.gone(process)
        try:
            share.release()
        except Unavailable:
            self.world.branches["release not answered"] += 1

    def _wait(self, process: Process) -> None:
        self.world.sleep(ROUND_S * (0.3 + 0.7 * self.world.dice.random()))
        if self.world.strikes(self.plan.weather.chance / 3) is not None:
            process.pause(30 * self.world.dice.random(), stops=True)
            self.world.branches["freeze"] += 1

    def _handed_over(self, change: Change) -> None:
        """Count what went from one to another because it was asked for."""
        old, new = change.old, change.new
        if change.key.startswith(LEASE) and text(new, "st") == "H" and text(old, "st") == "F" and number(new, "tok") > number(old, "tok"):
            self.world.branches["handed over"] += text(old, "want") == text(new, "own")

    def at_rest(self) -> None:
        """Judge the shares when it has been calm for long (P1)."""
        loads = {number: len(held) for number, (process, held) in self.shares.items() if process.alive}
        owned = Counter(index for process, held in self.shares.values() if process.alive for index in held)
        if not loads:
            self.world.fail("P1", "nobody is left to hold anything")
        doubled, missing = [i for i, n in owned.items() if n > 1], [i for i in range(self.plan.count) if i not in owned]
        if doubled or missing:
            self.world.fail("P1", f"held twice: {doubled}, held by nobody: {missing}")
        most = fair_share(self.plan.count, len(loads)) + 1
        if max(loads.values()) > most:
            self.world.fail("P1", f"loads {sorted(loads.values())}, where none should be above {most}")
        spread = max(loads.values()) - min(loads.values())
        self.world.branches["shares differ by one at most" if spread <= 1 else "shares differ by two"] += 1
