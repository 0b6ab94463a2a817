"""Random canvases in bad weather: the shipped workers and AWS adapters over the simulator.

It loses, delays and repeats their calls, kills them at any of these, and delivers messages twice. However it went, the canvas has to have
meant what it means in memory; a canvas whose publisher died has been published whole, and means the same, or not at all.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from random import Random
from typing import Any

import greenlet

from sedano import memory
from sedano.aws import ledger_items as items
from sedano.aws.ledger import DynamoLedger
from sedano.aws.members import DynamoMembers
from sedano.aws.queues import SqsQueues
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.host import functions
from sedano.model.history.run_rows import Host
from sedano.model.ledger.records import TaskRecord, copied_from
from sedano.ports import PARKED, Ports
from tests.canvas.judge import complaints, complaints_when_revoked, unowned
from tests.canvas.meaning import meaning_of
from tests.canvas.playing import sketched
from tests.canvas.sketch import Sketch
from tests.canvas.workshop import Workshop, steps_of
from tests.simulation.campaign import Tally, campaign
from tests.simulation.claim_referee import LEDGER
from tests.simulation.claims import COMMANDS, NOTHING, URLS, Planted, Telemetry
from tests.simulation.dynamodb import Database
from tests.simulation.lambdas import Environment, Lambda, Limits
from tests.simulation.network import Client, Fault, Weather
from tests.simulation.process import Process
from tests.simulation.sqs import Queues
from tests.simulation.world import START, Violation, World

SETTINGS = WorkerSettings(lanes=0, poison_after=19)
"""Nobody is taken for a poison: a canvas with a poison in it has another meaning."""
REST_S = 6 * 3600.0
CALM_AFTER_S = 60.0
MOST_TASKS = 24
TASKS = "TASK#"
REVOKED = 0.12
"""So many of the canvases are revoked while they run."""
DEADLY = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)
PUBLISHER_SUFFERS = (Fault.TWICE, Fault.DELAYED, *DEADLY)
Publishing = Callable[[Workshop], Any]


class CanvasWorld:
    """One canvas in one weather: `run` plays it to its end and raises the `Violation` that it finds (`tests.simulation.campaign`)."""

    def __init__(
        self, seed: int, allowed: AbstractSet[int] | None = None, planted: Planted = NOTHING, sketch: Sketch | None = None,
        publishing: Publishing = Workshop.publish,
    ) -> None:  # fmt: skip
        """Set the stage of *seed*."""
        dice = Random(f"canvas in the storm {seed}")
        self.sketch = sketch or sketched(seed, MOST_TASKS)
        self.planted, self.publishing = planted, publishing
        self.world = world = World(seed, allowed)
        world.calm_from = START + CALM_AFTER_S
        faults = tuple(dice.sample(tuple(Fault), dice.choice((1, 2, 3, 5))))
        self.weather = Weather(dice.choice((0.0, 0.03, 0.1, 0.1, 0.25)), faults)
        self.skew = dice.choice((0.0, 0.2, 0.8))
        limits = Limits(10.0, dice.choice((12.0, 20.0, 60.0)), dice.choice((1, 2, 5, 10)), dice.choice((1, 2, 3)), dice.choice((0.0, 0.1)))
        self.database, self.queues = Database(), Queues(world)
        self.common = memory.ports()
        owned = Random(f"owned in the storm {seed}")
        share = owned.choice((0.0, 0.0, 0.5))
        chosen = {part.name for part in steps_of(self.sketch) if owned.random() < share}
        self.shop = Workshop(self.sketch, _work, lambda part: part.name in chosen)
        self.function = Lambda(world, self.queues, URLS[COMMANDS], limits, self._environment)
        revoking = Random(f"revoked in the storm {seed}")
        self.patience = revoking.choice((1.0, 5.0, 20.0)) * revoking.random() if revoking.random() < REVOKED else None
        self.result: Any = None
        self.found: list[str] = ["nobody judged"]

    def run(self) -> World:
        """Publish, let everything happen, and judge."""
        world = self.world
        publisher = Process(world, 0, "publisher")
        suffered = tuple(kind for kind in self.weather.kinds if kind in PUBLISHER_SUFFERS)
        chance = 0.4 if set(suffered) & set(DEADLY) else self.weather.chance if suffered else 0.0
        self.shop.app.attach(self._ports(publisher, Weather(chance, suffered)))
        try:
            publisher.actor = world.spawn(publisher, self._publish)
            world.run(world.calm_from + REST_S)
            world.calm_from = START
            if not publisher.alive:
                world.branches["the publisher died"] += 1
                publisher = Process(world, -1, "judge")
            publisher.actor = world.spawn(publisher, self._judge)
            world.run(world.now + REST_S)
        finally:
            world.end()
            self.shop.app.attach(None)
        if self.found:
            raise Violation("canvas", "\n".join(self.found))
        return world

    def _publish(self) -> None:
        result = self.publishing(self.shop)
        if self.patience is not None:
            self.world.sleep(self.patience)
            result.revoke(canvas=True)
        self.result = result

    def _judge(self) -> None:
        records = self._records()
        if self.result is None and not records and not self.shop.runs:
            self.world.branches["nothing was published"] += 1
            self.found = []
            return
        parked = [message.attributes["reason"]["StringValue"] for message in self.queues.queue(URLS[PARKED]).values()]
        if self.patience is not None and records:
            self.world.branches["revoked while it ran"] += self.result is not None
            self.found = complaints_when_revoked(meaning_of(self.sketch), self.result, records, parked)
            return
        meaning = meaning_of(self.sketch)
        self.found = complaints(meaning, self.result, records, self.shop.runs, parked, exactly=False)
        self.found += unowned(meaning, self.shop.owned, records, self.shop.runs)
        self.world.branches["a task with an id of its own"] += bool(self.shop.owned)

    def _records(self) -> dict[str, TaskRecord]:
        """Return the records of all tasks; ids of this world need no encoding in keys but that of `~` and the like."""
        kept = {key: item for key, item in self.database.table(LEDGER).items() if key.startswith(TASKS)}
        found = [items.record(key.removeprefix(TASKS), item) for key, item in kept.items()]
        return {record.task_id: record for record in found if copied_from(record) == record.task_id}

    def _ports(self, process: Process, weather: Weather) -> Ports:
        dynamodb = Client(process, self.database.call, weather, self.planted.rewrite)
        sqs = Client(process, self.queues.call, weather)
        clock: Any = process.clock
        telemetry: Any = Telemetry(self.world)
        return replace(
            self.common, ledger=DynamoLedger(dynamodb, LEDGER, lanes=1, now=clock.now), queues=SqsQueues(sqs, URLS, clock.monotonic),
            members=DynamoMembers(dynamodb, "control"), clock=clock, entropy=process.entropy, telemetry=telemetry,
        )  # fmt: skip

    def _environment(self, number: int) -> Environment:
        dice = self.world.dice
        process = Process(self.world, number, f"worker{number}")
        process.clock.offset = self.skew * (2 * dice.random() - 1)
        ports = self.planted.ports(self._ports(process, self.weather))
        worker = Worker(self.shop.app.registry, ports, Host(process.name, 1), SETTINGS, None)
        self.planted.worker(worker)
        return Environment(process, functions._handler(worker.work, ports, {"default": COMMANDS}, ""))


def _work() -> None:
    """Take a while, mostly little, and sometimes longer than an invocation may."""
    owner: Process = greenlet.getcurrent().owner  # type: ignore[attr-defined] # bodies run in actors
    dice = owner.world.dice
    long = dice.random() > 0.97 and owner.world.now < owner.world.calm_from
    owner.world.sleep(15.0 * dice.random() if long else 0.2 * dice.random())


def scale(first: int, count: int) -> Tally:
    """Play the canvases of *count* seeds from *first* on; the tally holds what broke, by seed."""
    return campaign(CanvasWorld, range(first, first + count))
