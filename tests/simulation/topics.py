"""A world of one topic that must run on the winner of its election; winners die, and successors take over.

T1: the body begins only in the process that leads by the election's own record, while its time lasts. T2: two bodies never overlap but
beside a zombie whose time is over. T3: it ends in success, whoever dies, and waiting is not taken for a poison where few die. T4,
refinement: the lead changes only to the next candidate in order, when the time of the one before is over by the clock of who writes, one
term at a time; and the leader alone prolongs its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from sedano import current
from sedano.api.elections import topic_task
from sedano.aws.client import keys
from sedano.errors import SedanoError
from sedano.model import states
from sedano.model.elections import CLOSED, MOST_TERMS
from tests.simulation import chores
from tests.simulation.claim_referee import number, text
from tests.simulation.claims import SETTINGS, ClaimWorld, Planted, plan_of
from tests.simulation.dynamodb import Change
from tests.simulation.elections import ElectionReferee, ranked
from tests.simulation.process import Process
from tests.simulation.values import Item
from tests.simulation.world import World

NOTHING = Planted()
TOPIC, ELECTION = "lead", "e1"
TASK = topic_task(TOPIC)
SLACK_S = 2.5
"""By how much the clocks of workers may differ here, together with the margins of claim and deadline."""


@chores.app.election_topic(TOPIC)
def lead(action: str) -> str:
    """Do what the winner does."""
    owner: Process = chores.greenlet.getcurrent().owner
    world: Any = owner.world
    world.topic.enter(owner, current().deadline - owner.clock.offset)
    world.sleep(3 * world.dice.random() if world.dice.random() < 0.7 else 25 * world.dice.random())
    world.topic.inside.pop(owner.number, None)
    return action


class TopicReferee(ElectionReferee):
    """Watches the item of one election beyond its close, and the bodies that run for it."""

    def __init__(self, world: World, database: Any) -> None:
        """Watch *database*."""
        super().__init__(world)
        self.database = database
        self.inside: dict[int, tuple[Process, float]] = {}

    def changed(self, change: Change) -> None:
        """Judge a write to the election."""
        if not change.key.startswith(keys.ELECTION):
            return
        if text(change.old, "st") == CLOSED == text(change.new, "st"):
            self._passed(change.old, change.new, change.author[0])
        else:
            super().changed(change)

    def _passed(self, old: Item | None, new: Item | None, process: Process) -> None:
        """Judge a change of the lead (T4)."""
        before, after = text(old, "win"), text(new, "win")
        said = f"{before} term {number(old, 'term')} → {after} term {number(new, 'term')} by {process.name}"
        if number(new, "term") == number(old, "term"):
            mine = before == after == f"{process.name}" and number(new, "until") >= number(old, "until")
            self._require(mine, "T4", said)
            self.world.branches["leads"] += 1
            return
        self._require(number(new, "term") == number(old, "term") + 1, "T4", said)
        self._require(number(old, "until") < process.clock.now() * 1000, "T4", f"{said}: before its time was over")
        chain = [name for _, name in ranked(old)]
        following = chain[chain.index(before) + 1 : chain.index(before) + 2] if before in chain else []
        expected = following if number(new, "term") < MOST_TERMS and following else [process.name]
        self._require([after] == expected, "T4", f"{said}, not {expected}")
        self.world.branches["succeeded by a candidate" if following else "succeeded by whoever holds it"] += 1

    def enter(self, process: Process, until: float) -> None:
        """Judge a body that begins (T1, T2)."""
        world = self.world
        item = self.database.table("control").get(keys.election(ELECTION))
        over = number(item, "until") / 1000 - SLACK_S < world.now
        self._require(text(item, "win") == process.name or over, "T1", f"{process.name} runs what {text(item, 'win')} leads")
        for other, deadline in self.inside.values():
            alive = other.alive and world.now < deadline - SLACK_S
            self._require(not alive, "T2", f"processes {other.number} and {process.number} lead at once")
            world.branches["beside the dead" if not other.alive else "beside a zombie"] += 1
        self.inside[process.number] = (process, until)

    def _require(self, holds: bool, promise: str, what: str) -> None:
        if not holds:
            self.world.fail(promise, what)


class TopicWorld(ClaimWorld):
    """One schedule: a few tasks bring workers to life, then they elect one that leads."""

    def __init__(self, seed: int, planted: Planted = NOTHING, allowed: AbstractSet[int] | None = None) -> None:
        """Set the stage of *seed*."""
        plan = plan_of(seed)
        weather = replace(plan.weather, chance=min(plan.weather.chance, 0.4))
        super().__init__(seed, replace(plan, weather=weather, limits=replace(plan.limits, environments=3)), planted, allowed)
        self.votes = self.world.topic = TopicReferee(self.world, self.database)  # type: ignore[attr-defined] # where bodies find it
        self.database.watchers.append(self.votes.changed)

    def run(self) -> World:
        """Play the schedule; only here is the topic one that must run on the winner."""
        chores.app.registry.led.add(TASK)
        try:
            return super().run()
        finally:
            chores.app.registry.led.discard(TASK)

    def _publish(self) -> None:
        dice = self.world.dice
        self.warm = dice.choice((1, 2, 3))
        for _ in range(self.warm):
            chores.plain.delay(0)
            self.world.sleep(4 * dice.random())
        try:
            chores.app.control.election(ELECTION, TOPIC, "go", timeout=int(10 * dice.random() ** 3))
        except SedanoError:
            self.world.branches["election not asked for"] += 1

    def at_rest(self) -> None:
        """Judge the world when nothing is left to happen (T3)."""
        self.referee.at_rest(Counter({"plain": self.warm, TASK: 1}), SETTINGS.poison_after)
        ended = [item for item in self.database.table("ledger").values() if text(item, "nm") == TASK]
        waited = [item for item in ended if text(item, "st") == states.POISON and number(item, "cnt") < SETTINGS.poison_after]
        if waited and sum(not process.alive for process in self.world.processes) < SETTINGS.poison_after:
            self.world.fail("T3", "what waited for its winner was taken for a poison")
        done = [text(item, "st") for item in ended] == [states.SUCCESS]
        if self.votes.closes and not self.referee.set_aside and not done:
            self.world.fail("T3", "closed, and what should run on the winner did not end in success")
