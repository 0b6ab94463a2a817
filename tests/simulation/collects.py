"""A world of collected calls: debounced ones of which the last runs, and batched ones that run together, in the weather of tasks.

Everything is the shipped code: `engine.collection` over `aws.limits`, inside the shipped worker. Clocks differ by a second at most. What is
promised stands in `tests.simulation.collect_referee`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet
from dataclasses import replace
from random import Random
from typing import Any

from sedano.aws.limits import DynamoLimits
from sedano.ports import PARKED, Ports
from tests.simulation import collect_tasks
from tests.simulation.claims import COMMANDS, SETTINGS, URLS, ClaimWorld, Plan, Planted, plan_of
from tests.simulation.collect_referee import CONTROL, SKEW_S, CollectReferee
from tests.simulation.collect_tasks import reindex, store
from tests.simulation.dynamodb import Database
from tests.simulation.network import Client
from tests.simulation.process import Process
from tests.simulation.sqs import Queues

NOTHING = Planted()


class CollectWorld(ClaimWorld):
    """One schedule: calls of two tasks, now many at once and now few."""

    app = collect_tasks.app

    def __init__(self, seed: int, planted: Planted = NOTHING, allowed: AbstractSet[int] | None = None) -> None:
        """Set the stage of *seed*."""
        super().__init__(seed, _plan(seed), planted, allowed)
        self.database, self.queues = Database(), Queues(self.world)
        self.function.queues, self.queues.arrived = self.queues, self.function.arrived
        self.referee = CollectReferee(self.world, self.database, self.queues, URLS[COMMANDS], URLS[PARKED])
        self.world.collected = self.referee  # type: ignore[attr-defined] # where bodies find it
        self.function.delivered = self.referee.delivered

    def ports(self, process: Process) -> Ports:
        """Return the ports of *process*, with simulated limits."""
        client = Client(process, self.database.call, self.plan.weather, self.planted.rewrite)
        limits: Any = DynamoLimits(client, CONTROL)
        return replace(super().ports(process), limits=limits)

    def at_rest(self) -> None:
        """Judge the world when nothing is left to happen."""
        self.referee.at_rest(Counter(kind for kind in self.plan.kinds if kind == "reindex"), SETTINGS.poison_after)

    def _publish(self) -> None:
        for number, kind in enumerate(self.plan.kinds):
            if kind == "reindex":
                reindex.delay("ab"[int(1.3 * self.world.dice.random())], number)
            else:
                store.delay(number)
            if self.world.dice.random() < 0.5:
                self.world.sleep(12 * self.world.dice.random() ** 2)


def _plan(seed: int) -> Plan:
    """Draw a schedule of some calls."""
    plan, dice = plan_of(seed), Random(f"collected calls of {seed}")
    kinds = tuple(dice.choice(dice.choice((("reindex",), ("store",), ("reindex", "store")))) for _ in range(dice.choice((3, 5, 9))))
    weather = replace(plan.weather, chance=min(plan.weather.chance, 0.2))
    limits = replace(plan.limits, environments=dice.choice((2, 3)), batch=dice.choice((1, 3, 10)), unpunctual=plan.limits.unpunctual / 3)
    return replace(plan, kinds=kinds, weather=weather, limits=limits, skew=min(plan.skew, SKEW_S))


def stage(seed: int, allowed: AbstractSet[int] | None) -> CollectWorld:
    """The shipped library."""
    return CollectWorld(seed, allowed=allowed)
