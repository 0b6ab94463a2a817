"""A world of singletons: tasks of which, or of each of whose keys, one run is let in at a time, in the weather of tasks.

Everything is the shipped code: `engine.singletons` over `engine.leases` and `aws.leases`, inside the shipped worker. S1: whenever two runs
of one key overlap, the earlier one's invocation is over its deadline by true time: it is dead, or a zombie that its token gives away. S2:
tokens of a key rise with its runs. S3: nothing is lost: who waits runs, who is dropped ends as revoked, also after a crash, within the
lease of the dead; nobody is dropped because of himself. What each lease goes through is judged by `LeaseBook`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet
from dataclasses import replace
from random import Random
from typing import Any

from sedano import current
from sedano.aws.client import keys
from sedano.aws.leases import DynamoLeases
from sedano.model import states
from sedano.ports import Ports
from tests.simulation import chores
from tests.simulation.claim_referee import text
from tests.simulation.claims import SETTINGS, ClaimWorld, Plan, Planted, plan_of
from tests.simulation.dynamodb import Change
from tests.simulation.lease_book import LeaseBook
from tests.simulation.lease_referee import CONTROL, LEASE
from tests.simulation.network import Client
from tests.simulation.process import Process

NOTHING = Planted()
SLACK_S = 2.5
"""By how much the clocks of workers and store may differ here, together with the margins that the rule keeps."""
KEYS = ("a", "b")


@chores.app.task(name="sole", singleton="key")
def sole(key: str) -> str:
    """Be alone with *key*."""
    return _alone(key)


@chores.app.task(name="casual", singleton="key", on_busy="drop")
def casual(key: str) -> str:
    """Be alone with *key*, or not be at all."""
    return _alone(f"casual {key}")


def _alone(key: str) -> str:
    owner: Process = chores.greenlet.getcurrent().owner
    world: Any = owner.world
    run = world.singles.enter(owner, key, current().token, current().deadline - owner.clock.offset)
    world.sleep(3 * world.dice.random() if world.dice.random() < 0.8 else 25 * world.dice.random())
    world.singles.leave(run)
    return key


class Singles:
    """Watches who is inside."""

    def __init__(self, world: Any) -> None:
        """Nobody is."""
        self.world = world
        self.inside: dict[int, tuple[Process, str, float]] = {}
        self.tokens: dict[str, int] = {}
        self.runs = 0

    def enter(self, process: Process, key: str, token: int, until: float) -> int:
        """Judge somebody who begins (S1, S2)."""
        world = self.world
        for other, name, deadline in self.inside.values():
            if name == key and other.alive and world.now < deadline - SLACK_S:
                world.fail("S1", f"processes {other.number} and {process.number} are alone with {key}, {deadline - world.now:.1f} s to go")
            if name == key:
                world.branches["beside the dead" if not other.alive else "beside a zombie"] += 1
        if token <= self.tokens.get(key, 0):
            world.fail("S2", f"{key}: token {token} after {self.tokens[key]}")
        self.tokens[key], self.runs = token, self.runs + 1
        self.inside[self.runs] = (process, key, until)
        return self.runs

    def leave(self, run: int) -> None:
        """Note that a run is over."""
        del self.inside[run]


class SingletonWorld(ClaimWorld):
    """One schedule: a few singletons of few keys are published."""

    def __init__(self, seed: int, planted: Planted = NOTHING, allowed: AbstractSet[int] | None = None) -> None:
        """Set the stage of *seed*."""
        super().__init__(seed, _plan(seed), planted, allowed)
        self.database.clock = lambda: self.world.now
        self.book = LeaseBook(self.world, self.database)
        self.singles = self.world.singles = Singles(self.world)  # type: ignore[attr-defined] # where bodies find it
        self.owners: set[str] = set()
        self.database.watchers.append(self._changed)

    def ports(self, process: Process) -> Ports:
        """Return the ports of *process*, with simulated leases."""
        client = Client(process, self.database.call, self.plan.weather, self.planted.rewrite)
        clock: Any = process.clock
        leases: Any = DynamoLeases(client, CONTROL, clock)
        return replace(super().ports(process), leases=leases)

    def _changed(self, change: Change) -> None:
        """Judge an end that a task has only because another one ran (S3)."""
        if change.key.startswith(LEASE):
            self.owners.add(text(change.new, "own"))
        elif text(change.new, "st") == states.REVOKED and text(change.new, "nm") == "casual":
            task = change.key.removeprefix(keys.TASK)
            if not {owner for owner in self.owners if owner.startswith("casual ")} - {f"casual {task}"}:
                self.world.fail("S3", f"{task}: dropped, and nobody else ever ran")

    def at_rest(self) -> None:
        """Judge the world when nothing is left to happen (S3)."""
        self.referee.at_rest(Counter(self.plan.kinds), SETTINGS.poison_after)
        ended = Counter(text(item, "st") for item in self.database.table("ledger").values() if text(item, "nm") == "sole")
        if ended[states.REVOKED] or ended[states.FAILURE]:
            self.world.fail("S3", f"of those that wait, some ended as {dict(ended)}")
        self.world.branches["dropped"] += sum(text(i, "st") == states.REVOKED for i in self.database.table("ledger").values())

    def _publish(self) -> None:
        for kind in self.plan.kinds:
            task: Any = sole if kind == "sole" else casual
            task.delay(KEYS[int(1.3 * self.world.dice.random())])
            self.world.sleep(6 * self.world.dice.random() ** 2)


def _plan(seed: int) -> Plan:
    """Draw what the schedule of *seed* is about."""
    dice, plan = Random(f"singletons of {seed}"), plan_of(seed)
    kinds = tuple(dice.choice(("sole", "sole", "casual")) for _ in range(dice.choice((2, 3, 4))))
    if dice.random() < 0.2:
        kinds = ("casual",)
    weather = replace(plan.weather, chance=min(plan.weather.chance, 0.25))
    return replace(plan, kinds=kinds, weather=weather, limits=replace(plan.limits, environments=3))
