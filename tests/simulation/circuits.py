"""A world of circuits: tasks that need what breaks now and then, workers that share what they know of it, in the weather of tasks.

Everything is the shipped code: `engine.circuits` over `aws.memos`, inside the shipped worker. What is outside breaks for a while, once for
good, and comes back; a worker's clock may be set. What is promised stands in `tests.simulation.circuit_referee`; that nothing is lost is
the referee's of tasks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any

from sedano.aws.memos import DynamoMemos
from sedano.engine.circuits import Circuits
from sedano.engine.worker.pipeline import Worker
from sedano.model.health import HEALTHY, UNAVAILABLE, UNHEALTHY
from sedano.model.history import run_rows
from sedano.ports import RECORDS, Ports
from tests.simulation import circuit_tasks
from tests.simulation.circuit_referee import CONTROL, CircuitReferee
from tests.simulation.circuit_tasks import call, pay
from tests.simulation.claims import SETTINGS, ClaimWorld, Plan, Telemetry, plan_of
from tests.simulation.claims import Planted as PlantedClaim
from tests.simulation.dynamodb import Change
from tests.simulation.lambdas import Environment
from tests.simulation.network import Client, Rewrite
from tests.simulation.process import Process
from tests.simulation.world import START

SET_S = (-250.0, -120.0, -3.0)
"""By how much a clock is set back. By more than 300 s its worker sets messages aside, whose clocks are too far ahead for it."""
LAST_S = 400.0
"""When everything works again, at the latest."""


@dataclass(frozen=True, slots=True)
class Planted:
    """A fault planted on purpose: *rewrite* changes what is sent to DynamoDB, *circuits* takes the place of the library's own."""

    rewrite: Rewrite | None = None
    circuits: type[Circuits] = Circuits


NOTHING = Planted()


class Outside:
    """What tasks need: it breaks, for a while or as if for good, and works at last."""

    def __init__(self, world: Any, dice: Random, referee: CircuitReferee) -> None:
        """Draw when."""
        self.world, self.referee = world, referee
        self.changes = sorted(START + dice.random() * LAST_S for _ in range(dice.choice((1, 2, 3, 5))))
        self.states = [dice.choice((UNHEALTHY, UNHEALTHY, HEALTHY, UNAVAILABLE)) for _ in self.changes]
        self.first = dice.choice((HEALTHY, UNHEALTHY))

    def state(self) -> str:
        """Return what it is like now."""
        if self.world.now > START + LAST_S:
            return HEALTHY
        past = [state for moment, state in zip(self.changes, self.states, strict=True) if moment <= self.world.now]
        return past[-1] if past else self.first

    def begins(self, process: Process, circuit: str) -> None:
        """Let the referee judge a body that begins."""
        self.referee.begins(process, circuit)


class Heard(Telemetry):
    """Telemetry of one process; the referee learns what it could not read."""

    def __init__(self, process: Process, referee: CircuitReferee) -> None:
        """Hear *process*."""
        super().__init__(process.world)
        self._process, self._referee = process, referee

    def log(self, level: str, message: str, /, **fields: Any) -> None:
        """Count the line."""
        super().log(level, message, **fields)
        if message == "circuits not read; the last known state holds":
            self._referee.blind.add(self._process.mark)


class CircuitWorld(ClaimWorld):
    """One schedule: a backlog of tasks whose circuits trip and close."""

    app = circuit_tasks.app

    def __init__(self, seed: int, planted: Planted = NOTHING, allowed: AbstractSet[int] | None = None) -> None:
        """Set the stage of *seed*."""
        self.fault = planted
        super().__init__(seed, _plan(seed), PlantedClaim(rewrite=planted.rewrite, worker=self._planted), allowed)
        dice = Random(f"circuits of {seed}")
        self.judge = CircuitReferee(self.world)
        self.world.outside = Outside(self.world, dice, self.judge)  # type: ignore[attr-defined] # where bodies find it
        self.before: dict[Process, float] = {}
        self.set_back = dice.choice((0.0, 0.0, 0.0, *SET_S))
        watchers = self.database.watchers
        watchers[watchers.index(self.referee.changed)] = self._changed
        watchers.append(self.judge.changed)
        delivered = self.function.delivered

        def told(process: Process, messages: Any) -> None:
            delivered(process, messages)
            self.judge.invoked(process)

        self.function.delivered = told

    def ports(self, process: Process) -> Ports:
        """Return the ports of *process*, with simulated memos."""
        client = Client(process, self.database.call, self.plan.weather, self.planted.rewrite)
        telemetry: Any = Heard(process, self.judge)
        return replace(super().ports(process), memos=DynamoMemos(client, CONTROL), telemetry=telemetry)

    def at_rest(self) -> None:
        """Judge the world when nothing is left to happen."""
        self.referee.at_rest(Counter(self.plan.kinds), SETTINGS.poison_after)
        self.judge.at_rest([line for m in self.queues.queue(RECORDS).values() for line in run_rows.unpack(m.body)])

    def _changed(self, change: Change) -> None:
        """Let the referee of tasks judge a write by the clock that its author had when it decided: it may have been set back since."""
        process = change.author[0] if change.author is not None else None
        if process not in self.before:
            self.referee.changed(change)
            return
        now, process.clock.offset = process.clock.offset, self.before[process]
        try:
            self.referee.changed(change)
        finally:
            process.clock.offset = now

    def _planted(self, worker: Worker) -> None:
        worker._admission._put("circuits", self.fault.circuits(self.app.registry, worker.ports))

    def _environment(self, number: int) -> Environment:
        environment = super()._environment(number)
        if self.set_back and number == 1:
            self.world.at(self.world.now + 100 * self.world.dice.random(), partial(self._set, environment.process))
        return environment

    def _set(self, process: Process) -> None:
        self.before[process] = process.clock.offset
        process.clock.offset += self.set_back
        self.world.branches["clock set back"] += 1

    def _publish(self) -> None:
        for number, kind in enumerate(self.plan.kinds):
            (call if kind == "call" else pay).delay(number)
            if self.world.dice.random() < 0.5:
                self.world.sleep(40 * self.world.dice.random() ** 2)


def _plan(seed: int) -> Plan:
    """Draw a schedule of some tasks; the more of them, the better the weather."""
    plan, dice = plan_of(seed), Random(f"tasks with circuits of {seed}")
    kinds = tuple(dice.choice(("call", "pay")) for _ in range(dice.choice((4, 6, 10))))
    weather = replace(plan.weather, chance=min(plan.weather.chance, 0.2))
    limits = replace(plan.limits, environments=dice.choice((2, 3)), batch=dice.choice((1, 3)), unpunctual=plan.limits.unpunctual / 3)
    return replace(plan, kinds=kinds, weather=weather, limits=limits)


def stage(seed: int, allowed: AbstractSet[int] | None) -> CircuitWorld:
    """The shipped library."""
    return CircuitWorld(seed, allowed=allowed)
