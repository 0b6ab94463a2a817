"""A world of controllers: three that are invoked by the minute, now and then at once, late, or not at all, in the weather of tasks.

Everything is the shipped code: `engine.cluster.controller` over `aws.memos`, `aws.members`, `aws.control` and `aws.consumers`, with the
clock that the table's answers bound; beside it workers that work and die. What is promised stands in `tests.simulation.controller_referee`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from sedano.aws.client.store_time import bounded
from sedano.aws.consumers import LambdaConsumers
from sedano.aws.control import DynamoControl
from sedano.aws.ledger import DynamoLedger
from sedano.aws.members import DynamoMembers
from sedano.aws.memos import DynamoMemos
from sedano.engine.cluster.controller import Controller
from sedano.engine.health import RegisteredCheck
from sedano.errors import SedanoError
from sedano.model.cluster.control_record import ControlRecord
from sedano.model.cluster.members import ACTIVE, MemberRecord
from sedano.model.ledger.records import Claim
from sedano.model.messages.lamport import LamportClock
from sedano.ports import Ports, command_queue
from tests.simulation import chores
from tests.simulation.claim_referee import LEDGER
from tests.simulation.claims import SETTINGS, URLS, ClaimWorld, Plan, Planted, plan_of
from tests.simulation.controller_referee import CHECK, CONTROL, QUEUE, RULE, ControllerReferee
from tests.simulation.dynamodb import Database
from tests.simulation.elections import STILL
from tests.simulation.network import Client
from tests.simulation.process import Process
from tests.simulation.world import START

CONTROLLERS, FIRST_NUMBER = 3, 500
LENGTH_S = 300
AFTER_S = 900
"""For how long controllers go on in calm: longer than any cool-down, and than any call may be under way."""
WRONG_S = (-400 * 86_400.0, -3_600.0, 3_600.0, 400 * 86_400.0)
"""By how much a controller's clock may be wrong that the table's answers contradict."""
BULK = command_queue(QUEUE)
MAPPINGS = {BULK: "mapping"}
EVERYWHERE = {**URLS, BULK: QUEUE}


@dataclass(frozen=True, slots=True)
class PlantedController(Planted):
    """A fault planted into controllers: *controller* takes the place of the library's own, *ports* changes what they are handed."""

    controller: type[Controller] = Controller


NOTHING = PlantedController()


class ControlPlane:
    """Lambda's control plane: the event source mapping of one queue."""

    def __init__(self, limit: int) -> None:
        """Let *limit* invocations be in force."""
        self.limit = limit

    def call(self, operation: str, _author: Any, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out *operation* as a client would ask for it."""
        if operation == "UpdateEventSourceMapping":
            self.limit = parameters["ScalingConfig"]["MaximumConcurrency"]
        return {"ScalingConfig": {"MaximumConcurrency": self.limit}}


class ControllerWorld(ClaimWorld):
    """One schedule: a backlog that comes and goes, a check that expires, an operator who pauses the queue, a deployment."""

    def __init__(self, seed: int, planted: PlantedController = NOTHING, allowed: AbstractSet[int] | None = None) -> None:
        """Set the stage of *seed*."""
        self.fault = planted
        super().__init__(seed, _plan(seed), Planted(rewrite=planted.rewrite), allowed)
        dice = Random(f"controllers of {seed}")
        self.backlog = [dice.choice((0, 3, 40, 90, 400, 2_000)) for _ in range(dice.choice((1, 1, 2, 5)))]
        self.wrong = dice.choice((0.0, 0.0, 0.5))
        self.plane = ControlPlane(10)
        self.judge = ControllerReferee(self.world, self.plane)
        self.database.clock = lambda: self.world.now
        self.database.watchers.append(self.judge.changed)
        self.controllers: list[Process] = []

    def ports(self, process: Process) -> Ports:
        """Return the ports of *process*; a controller's clock is bound as `sedano.aws.deployment` does it."""
        ports, weather = super().ports(process), self.plan.weather
        client: Any = Client(process, self.database.call, weather, self.planted.rewrite)
        if process.name == "controller":
            clock: Any
            client, clock = bounded(client, ports.clock, ports.telemetry)
            plane = Client(process, self.plane.call, weather)
            consumers: Any = self.judge.told(process, LambdaConsumers(Client(process, self._load, weather), plane, EVERYWHERE, MAPPINGS))
            ports = replace(ports, clock=clock, consumers=consumers, members=DynamoMembers(client, CONTROL))
        return self.fault.ports(replace(ports, memos=DynamoMemos(client, CONTROL), control=DynamoControl(client, CONTROL)))

    def at_rest(self) -> None:
        """Judge the world when nothing is left to happen."""
        self.referee.at_rest(Counter(plain=len(self.plan.kinds)), SETTINGS.poison_after)
        self.judge.at_rest()

    def _load(self, _operation: str, _author: Any, _parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Answer what waits in the queue that is scaled: another number each minute, and the last one for good."""
        waiting = self.backlog[min(int((self.world.now - START) // 60), len(self.backlog) - 1)]
        return {"Attributes": {"ApproximateNumberOfMessages": str(waiting), "ApproximateNumberOfMessagesNotVisible": "0"}}

    def _publish(self) -> None:
        """Let controllers be invoked by the minute; publish tasks, of which some kill their workers; pause and deploy now and then."""
        world = self.world
        for minute in range(0, int(max(LENGTH_S, self.plan.calm_after)) + AFTER_S, 60):
            calm = world.now + minute > world.calm_from + 60
            for number in range(CONTROLLERS):
                if number == 0 if calm else world.dice.random() < 0.6:
                    world.at(START + minute + 8 * world.dice.random() ** 3, self._invoke)
        publisher = next(process for process in world.processes if process.name == "publisher")
        if world.dice.random() < 0.5:
            self._die_unheard(publisher)
        for kind in self.plan.kinds:
            chores.publish(kind)
            world.sleep(60 * world.dice.random())
        if world.dice.random() < 0.4:
            self._paused(publisher, frozenset({QUEUE}))
            world.sleep(120 * world.dice.random())
            self._paused(publisher, frozenset())
        if world.dice.random() < 0.3:
            world.sleep(200 * world.dice.random())
            world.note("operator", "deploys")
            self.plane.limit = 10

    def _die_unheard(self, host: Process) -> None:
        """Leave what a worker leaves that died, and whose message is gone: a heartbeat, and a claim that nobody will take over."""
        left, now = Database(), self.world.now
        client, until = Client(host, left.call, STILL), now + self.world.dice.uniform(1, 60)
        DynamoLedger(client, LEDGER, lanes=1).claim([Claim("orphan", 0, "m", "n", until, 1, "plain", owner="ghost")])
        DynamoMembers(client, CONTROL).beat(MemberRecord("ghost", int(now * 1_000_000), ACTIVE, 1, now, ("orphan",)))
        for table, items in left.tables.items():
            self.database.table(table).update(items)
        self.judge.claims["ghost"].add(int(until * 1000))

    def _paused(self, operator: Process, paused: frozenset[str]) -> None:
        """Write down what is paused, patiently."""
        ports = self.ports(operator)
        while True:
            try:
                seen = ports.control.read()
                if ports.control.change(ControlRecord(seen.clock + 1, ports.entropy.nonce(), paused=paused), seen).done:
                    return
            except SedanoError as error:
                self.world.branches[f"operator: {type(error).__name__}"] += 1
            self.world.sleep(5.0)

    def _invoke(self) -> None:
        """Invoke an idle controller; where none is, start one cold."""
        world = self.world
        self.controllers = [process for process in self.controllers if process.alive]
        idle = [process for process in self.controllers if process.actor is None or process.actor.over]
        process = idle[int(len(idle) * world.dice.random())] if idle else self._started()
        process.invocation += 1
        process.actor = world.spawn(process, lambda: self._round(process))

    def _started(self) -> Process:
        dice = self.world.dice
        process = Process(self.world, FIRST_NUMBER + len(self.world.processes), "controller")
        process.clock.offset = dice.random() - 0.5
        if dice.random() < self.wrong:
            process.clock.offset = dice.choice(WRONG_S)
        self.controllers.append(process)
        return process

    def _round(self, process: Process) -> None:
        ports, check = self.ports(process), RegisteredCheck(CHECK)
        lamport = LamportClock(lambda: int(ports.clock.now() * 1_000_000))
        announce = self.judge.announced(process)
        controller = self.fault.controller(ports, lamport, (QUEUE,), {QUEUE: RULE}, {CHECK.name: check}, announce)
        self.judge.begun(process)
        try:
            done = controller.round()
            self.world.branches.update({f"round: {name}": number for name, number in done._asdict().items() if number})
        except SedanoError as error:
            self.world.branches[f"round: {type(error).__name__}"] += 1


def _plan(seed: int) -> Plan:
    """Draw the weather of *seed*, and a few tasks."""
    plan, dice = plan_of(seed), Random(f"tasks beside controllers of {seed}")
    weather = replace(plan.weather, chance=min(plan.weather.chance, 0.3))
    limits = replace(plan.limits, unpunctual=min(plan.limits.unpunctual, 0.5))
    return replace(plan, kinds=("plain",) * dice.choice((1, 2)), weather=weather, limits=limits)


def stage(seed: int, allowed: AbstractSet[int] | None) -> ControllerWorld:
    """The shipped library."""
    return ControllerWorld(seed, allowed=allowed)
