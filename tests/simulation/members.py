"""A world of members: workers come to life, work, idle, die and are lost, while somebody looks at the cluster with a clock of his own.

Everything is the shipped code: `engine.cluster.membership` in the worker, `engine.cluster.control.members` for who looks, over
`aws.members`. M1: idle is never lost: a member is shown as LOST only while its heartbeat is stale and a claim that bears its name has run
out, or after somebody who took such a claim over wrote it down. M2, refinement: a member writes its own heartbeats, with a clock that
rises; LOST is written by whoever took over, of a member that has said nothing since. M3: what is told of members happened: nobody is told
as lost from whom no claim was taken over, and nobody as online who is not written down. M4: who has just worked is shown as active. M5: who
is silent, and named a claim that ran out long ago, is shown as lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet
from dataclasses import replace
from random import Random
from typing import Any

from sedano.aws.client import keys
from sedano.engine.cluster.control import members
from sedano.errors import SedanoError
from sedano.model import states
from sedano.model.cluster.members import ACTIVE, HEARTBEAT, LOST, ONLINE, SKEW_S, STALE_S, WORKER_LOST, Member
from sedano.model.history import run_rows
from sedano.ports import RECORDS
from tests.simulation import chores
from tests.simulation.claim_referee import LEDGER, number, text
from tests.simulation.claims import SETTINGS, ClaimWorld, Planted, plan_of
from tests.simulation.dynamodb import Change
from tests.simulation.process import Process
from tests.simulation.values import Item

NOTHING = Planted()
WATCHER = 1_000
SKEW_MS = 2_000
"""By how much the clocks of two processes differ at most here, and a little."""


class MemberWorld(ClaimWorld):
    """One schedule: tasks keep workers busy now and then; somebody looks every few seconds."""

    def __init__(self, seed: int, planted: Planted = NOTHING, allowed: AbstractSet[int] | None = None) -> None:
        """Set the stage of *seed*."""
        plan, dice = plan_of(seed), Random(f"members of {seed}")
        kinds = tuple(dice.choice(("plain", "plain", "chain", "flaky")) for _ in range(dice.choice((2, 3, 4))))
        weather = replace(plan.weather, chance=min(plan.weather.chance, 0.4))
        limits = replace(plan.limits, environments=3)
        super().__init__(seed, replace(plan, kinds=kinds, weather=weather, limits=limits), planted, allowed)
        self.stale = dice.choice((5.0, 20.0, 70.0, STALE_S))
        self.seen_alive: dict[str, float] = {}
        self.took: dict[tuple[int, str], int] = {}
        self.database.watchers.append(self._changed)
        watcher = Process(self.world, WATCHER, "watcher")
        watcher.clock.offset = self.plan.skew * (2 * self.world.dice.random() - 1)
        watcher.actor = self.world.spawn(watcher, lambda: self._look(watcher), delay=5 * self.world.dice.random())

    def _publish(self) -> None:
        """Publish; a clock that is ahead takes the logical clocks of all workers with it, as far as they let it."""
        publisher: Process = chores.greenlet.getcurrent().owner
        publisher.clock.offset = 0.0 if self.world.dice.random() < 0.6 else 200.0
        for kind in self.plan.kinds:
            chores.publish(kind)
            self.world.sleep(90 * self.world.dice.random() ** 2)

    def _look(self, watcher: Process) -> None:
        """Look at the cluster now and then until a while after the weather."""
        ports = self.planted.ports(self.ports(watcher))
        while self.world.now < self.world.calm_from + 200:
            began = self.world.now
            try:
                for member in members(ports, self.stale):
                    self._shown(member, began, watcher)
            except SedanoError:
                self.world.branches["look not answered"] += 1
            self.world.sleep(5 + 30 * self.world.dice.random())

    def _shown(self, member: Member, began: float, watcher: Process) -> None:
        """Judge what is shown of a member (M1, M4); *began* is when the look began."""
        world, item = self.world, self.database.table("control").get(keys.member(member.name))
        world.branches[f"shown {member.state}"] += 1
        if member.state == LOST and text(item, "st") != LOST:
            lapsed = [one for one in self._claims(member.name) if number(one, "exp") < world.now * 1000 + SKEW_MS]
            ended = any(number(one, "clk") >= began * 1_000_000 for one in self.database.table(LEDGER).values())
            if not lapsed and not ended and number(item, "clk") == member.clock:
                world.fail("M1", f"{member.name} is shown as lost, and no claim of its own has run out")
        fresh = self.seen_alive.get(member.name, 0.0) > world.now - self.stale + 2 * SKEW_MS / 1000 + (world.now - began)
        if fresh and number(item, "clk") == member.clock and text(item, "st") == ACTIVE and member.state != ACTIVE:
            world.fail("M4", f"{member.name} has just worked and is shown as {member.state}")

        self._dead(member, item, began, watcher)

    def _dead(self, member: Member, item: Item | None, began: float, watcher: Process) -> None:
        """Judge what is shown of a member that has died for all to see: stale, and with a claim that ran out long ago (M5)."""
        named = {one["S"] for one in item["took"]["L"]} if item is not None and "took" in item else set()
        records = {task: self.database.table(LEDGER).get(keys.task(task)) for task in named}
        mine = [one for one in records.values() if text(one, "st") == states.RUNNING and text(one, "own") == member.name]
        long_ago = any(number(one, "exp") / 1000 < began - SKEW_S - 2 * SKEW_MS / 1000 for one in mine)
        silent = number(item, "seen") / 1000 < began - self.stale - 2 * SKEW_MS / 1000
        if silent and long_ago and number(item, "clk") == member.clock and member.state != LOST:
            self.world.fail("M5", f"{member.name} is dead, its claim ran out, and it is shown as {member.state}")
        self.world.branches["dead for all to see"] += silent and long_ago

    def _claims(self, name: str) -> list[Item]:
        """Return the claims that stand under *name*."""
        table = self.database.table(LEDGER).values()
        return [item for item in table if text(item, "st") == states.RUNNING and text(item, "own") == name]

    def _changed(self, change: Change) -> None:
        """Judge a write to a member (M2); note who took over whose claim."""
        process, old, new = change.author[0] if change.author is not None else None, change.old, change.new
        if process is not None and text(old, "st") == text(new, "st") == states.RUNNING and text(old, "nc") != text(new, "nc"):
            self.took[process.number, text(old, "own")] = number(old, "exp")
        if process is None or not change.key.startswith(keys.MEMBER):
            return
        if number(new, "clk") <= number(old, "clk"):
            self.world.fail("M2", f"{text(new, 'nm')}: clock {number(old, 'clk')} → {number(new, 'clk')}")
        if text(new, "st") == LOST:
            self._lost(process, old, new)
        else:
            if text(new, "nm") != process.name:
                self.world.fail("M2", f"{process.name} wrote the heartbeat of {text(new, 'nm')}")
            self.seen_alive[process.name] = number(new, "seen") / 1000 - process.clock.offset
            self.world.branches["joined" if old is None else "beat"] += 1

    def _lost(self, process: Process, old: Item | None, new: Item | None) -> None:
        name = text(new, "nm")
        self.world.branches["lost"] += 1
        if name == process.name or text(old, "st") != ACTIVE:
            self.world.fail("M2", f"{process.name} wrote that {name}, which was {text(old, 'st')}, is lost")
        if number(old, "seen") >= self.took.get((process.number, name), 0):
            self.world.fail("M2", f"{process.name} wrote that {name} is lost: it took nothing over from it, or it has spoken since")

    def at_rest(self) -> None:
        """Judge what was told (M3), and what is shown in the end."""
        expected: Counter[str] = Counter()
        for kind in self.plan.kinds:
            expected.update(chores.EXPECTED[kind])
        self.referee.at_rest(expected, SETTINGS.poison_after)
        lines: list[dict[str, Any]] = [line for m in self.queues.queue(RECORDS).values() for line in run_rows.unpack(m.body)]
        lost = {line["hostname"] for line in lines if line["type"] == WORKER_LOST}
        known = {text(item, "nm") for key, item in self.database.table("control").items() if key.startswith(keys.MEMBER)}
        if not lost <= {owner for _, owner in self.took}:
            self.world.fail("M3", f"told as lost: {sorted(lost)}, and nobody took a claim over from some of them")
        beating = {line["hostname"] for line in lines if line["type"] in (ONLINE, HEARTBEAT)}
        if not beating <= known:
            self.world.fail("M3", f"told as online, and never written: {sorted(beating - known)}")
        self.world.branches["told as lost"] += len(lost)
