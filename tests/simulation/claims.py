"""A world of tasks: a publisher, a queue, and the shipped worker in Lambda environments, under whatever weather the seed brings.

Everything between the user's call and the simulated services is the shipped code: `Sedano`, the handler of `sedano.host.functions`,
`Worker`, `DynamoLedger`, `SqsQueues`. A schedule ends when nothing is left to happen; then every task must have ended exactly once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields
from random import Random
from typing import Any

from sedano import Sedano, memory
from sedano.aws.elections import DynamoElections
from sedano.aws.ledger import DynamoLedger
from sedano.aws.members import DynamoMembers
from sedano.aws.queues import SqsQueues
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.host import functions
from sedano.model.history.run_rows import Host
from sedano.ports import EVENTS, PARKED, RECORDS, Ports, command_queue
from tests.simulation import chores
from tests.simulation.claim_referee import LEDGER, ClaimReferee
from tests.simulation.dynamodb import Database
from tests.simulation.lambdas import Environment, Lambda, Limits
from tests.simulation.network import Client, Fault, Rewrite, Weather
from tests.simulation.process import Process
from tests.simulation.shelf import Shelf
from tests.simulation.sqs import Queues
from tests.simulation.world import START, World

COMMANDS = command_queue("default")
URLS = {COMMANDS: "default", EVENTS: EVENTS, RECORDS: RECORDS, PARKED: PARKED}
SETTINGS = WorkerSettings(lanes=0, poison_after=5)
REST_S = 6 * 3600.0
AWAY = Weather(0.9, (Fault.THROTTLED,))
"""The queues are hardly ever there, whatever the ledger does."""
_MEMORY = memory.ports()
_PORTS = {port.name: getattr(_MEMORY, port.name) for port in fields(_MEMORY)}


@dataclass(frozen=True, slots=True)
class Plan:
    """What a schedule is about, apart from its dice: the *kinds* of tasks, the limits, the weather, for how long, how wrong clocks are.

    *queues*: the weather between everybody and the queues, where it is another than the ledger's.
    """

    kinds: tuple[str, ...]
    limits: Limits
    weather: Weather
    calm_after: float
    skew: float
    queues: Weather | None = None


@dataclass(frozen=True, slots=True)
class Planted:
    """A fault planted into the library on purpose: *rewrite* changes what is sent to DynamoDB, *worker* and *ports* change the code."""

    rewrite: Rewrite | None = None
    worker: Callable[[Worker], None] = field(default=lambda _worker: None)
    ports: Callable[[Ports], Ports] = field(default=lambda ports: ports)


NOTHING = Planted()


def plan_of(seed: int) -> Plan:
    """Draw what the schedule of *seed* is about (swarm testing: each leaves most kinds of faults out)."""
    dice = Random(f"plan of {seed}")
    kinds = tuple(dice.choice(chores.KINDS) for _ in range(dice.choice((1, 1, 1, 1, 1, 1, 1, 2))))
    timeout = dice.choice((6.0, 10.0, 20.0))
    visibility = timeout * dice.choice((0.3, 1.0, 2.0, 2.0, 6.0))
    limits = Limits(timeout, visibility, dice.choice((1, 2, 5)), dice.choice((1, 2, 2, 2, 3, 3)), dice.choice((0.0, 0.5, 0.9)))
    faults = tuple(dice.sample(tuple(Fault), dice.choice((1, 2, 3, 4))))
    weather = Weather(dice.choice((0.0, 0.05, 0.1, 0.1, 0.2, 0.2, 0.4, 0.7)), faults)
    calm_after, skew = dice.choice((40.0, 40.0, 40.0, 180.0)), dice.choice((0.0, 0.2, 0.8))
    return Plan(kinds, limits, weather, calm_after, skew, AWAY if dice.random() < 0.06 else None)


class Telemetry:
    """Counts what the worker says into the branches of its world (`sedano.ports.Telemetry`)."""

    def __init__(self, world: World) -> None:
        """Count for *world*."""
        self._branches = world.branches

    def log(self, _level: str, message: str, /, **_fields: Any) -> None:
        """Count the line."""
        self._branches[message] += 1

    def count(self, metric: str, value: float = 1, **_dimensions: str) -> None:
        """Count the metric."""
        self._branches[metric] += int(value)

    def calls(self) -> Mapping[str, int]:
        """Return nothing: calls are counted by the services."""
        return {}

    def flush(self) -> None:
        """Do nothing."""


class ClaimWorld:
    """One schedule: `run` plays it to its end and raises the `Violation` that it finds."""

    app: Sedano = chores.app
    """Whose tasks are published and run."""
    judge: type[ClaimReferee] = ClaimReferee

    def __init__(self, seed: int, plan: Plan | None = None, planted: Planted = NOTHING, allowed: AbstractSet[int] | None = None) -> None:
        """Set the stage of *seed*."""
        self.plan, self.planted = plan or plan_of(seed), planted
        self.world = world = World(seed, allowed)
        world.calm_from = START + self.plan.calm_after
        self.database, self.queues = Database(), Queues(world)
        self.referee = self.judge(world, self.database, self.queues, URLS[COMMANDS], URLS[PARKED])
        self.function = Lambda(world, self.queues, URLS[COMMANDS], self.plan.limits, self._environment)
        self.function.delivered = self.referee.delivered
        self.shelf = Shelf()

    def run(self) -> World:
        """Play the schedule; return its world."""
        world = self.world
        publisher = Process(world, 0, "publisher")
        self.app.attach(self.ports(publisher), backlog=self.shelf)
        publisher.actor = world.spawn(publisher, self._publish_all)
        try:
            world.run(world.calm_from + REST_S)
            self.at_rest()
        finally:
            world.end()
        return world

    def at_rest(self) -> None:
        """Judge the world when nothing is left to happen."""
        expected: Counter[str] = Counter()
        for kind in self.plan.kinds:
            expected.update(chores.EXPECTED[kind])
        self.referee.at_rest(expected, SETTINGS.poison_after)

    def ports(self, process: Process) -> Ports:
        """Return the ports of *process*: the shipped adapters over simulated clients."""
        weather = self.plan.weather
        dynamodb = Client(process, self.database.call, weather, self.planted.rewrite)
        sqs = Client(process, self.queues.call, self.plan.queues or weather)
        clock: Any = process.clock
        ledger = DynamoLedger(dynamodb, LEDGER, lanes=1, now=clock.now)
        telemetry: Any = Telemetry(self.world)
        simulated = {
            "ledger": ledger, "queues": SqsQueues(sqs, URLS, clock.monotonic), "members": DynamoMembers(dynamodb, "control"),
            "elections": DynamoElections(dynamodb, "control", LEDGER), "clock": clock, "entropy": process.entropy, "telemetry": telemetry,
        }  # fmt: skip
        return Ports(**{**_PORTS, **simulated})

    def _publish_all(self) -> None:
        """Publish, and send what the queue did not take until it takes it, as the next run of a program does."""
        self._publish()
        while self.shelf.exists():
            self.world.sleep(1.0)
            self.app.outlet._publisher.drain()

    def _publish(self) -> None:
        for kind in self.plan.kinds:
            chores.publish(kind)

    def _environment(self, number: int) -> Environment:
        """Start an environment cold; a third of them are clones of the first in everything that was made before."""
        dice = self.world.dice
        process = Process(self.world, number, "clone" if dice.random() < 0.3 else f"worker{number}")
        process.clock.offset = self.plan.skew * (2 * dice.random() - 1)
        process.clock.rate = 1 + 1e-4 * (2 * dice.random() - 1)
        ports = self.planted.ports(self.ports(process))
        worker = Worker(self.app.registry, ports, Host(process.name, 1), SETTINGS, None)
        self.planted.worker(worker)
        handler = functions._handler(worker.work, ports, {"default": COMMANDS}, "")
        return Environment(process, handler)
