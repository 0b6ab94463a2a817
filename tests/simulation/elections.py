"""A world of one election: workers that said a moment ago that they are there, then `signature.election()`, in the same weather as tasks.

Everything is the shipped code again: the command that each worker acknowledges, the close and the dispatch in one
transaction, the follow-up of whoever closed. The task that is elected for must run once, whoever wins, dies, or comes
late.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet
from dataclasses import replace

from sedano.aws.client import keys
from sedano.aws.members import DynamoMembers
from sedano.errors import SedanoError
from sedano.model import states
from sedano.model.cluster.members import ACTIVE, MemberRecord
from sedano.model.elections import CLOSED, OPEN
from tests.simulation import chores
from tests.simulation.claim_referee import LEDGER, number, text
from tests.simulation.claims import SETTINGS, ClaimWorld, Plan, Planted, plan_of
from tests.simulation.dynamodb import Change
from tests.simulation.network import Client, Fault, Weather
from tests.simulation.values import Item
from tests.simulation.world import World

NOTHING = Planted()
CONTROL = "control"
STILL = Weather(0.0, ())


def ranked(item: Item | None) -> list[tuple[int, str]]:
    """Return who registered, the lowest first."""
    entries = item["cand"]["SS"] if item is not None and "cand" in item else ()
    return sorted((int(clock), name) for clock, _, name in (entry.partition(" ") for entry in entries))


class ElectionReferee:
    """Watches the item of one election."""

    def __init__(self, world: World) -> None:
        """Watch for *world*."""
        self.world = world
        self.closes = 0

    def changed(self, change: Change) -> None:
        """Judge a write to the election (I7, L1, L2)."""
        old, new = change.old, change.new
        if not change.key.startswith(keys.ELECTION):
            return
        before, after = text(old, "st"), text(new, "st")
        if after == CLOSED and before != CLOSED:
            self._closed(old, new)
        elif before == OPEN and after == OPEN:
            more = set(ranked(new)) - set(ranked(old))
            fresh = len(more) == 1 and not {name for _, name in more} & {name for _, name in ranked(old)}
            if not fresh or number(new, "ver") != number(old, "ver") + 1:
                self.world.fail("I7", f"a registration made {ranked(old)} into {ranked(new)}")
            self.world.branches["registered"] += 1
        elif before or after != OPEN:
            self.world.fail("I7", f"an election that was {before or 'absent'} became {after or 'absent'}")

    def _closed(self, old: Item | None, new: Item | None) -> None:
        self.closes += 1
        self.world.branches["closed fast" if old is None else "closed"] += 1
        if self.closes > 1:
            self.world.fail("L1", "closed twice")
        if old is not None and ranked(old) != ranked(new):
            self.world.fail("I7", "the close changed who registered")
        if text(new, "win") != ranked(new)[0][1]:
            self.world.fail("L2", f"{text(new, 'win')} won over {ranked(new)}")


class ElectionWorld(ClaimWorld):
    """One schedule: an election among workers of which a few are known to the cluster; some of those will never come again."""

    def __init__(self, seed: int, planted: Planted = NOTHING, allowed: AbstractSet[int] | None = None) -> None:
        """Set the stage of *seed*."""
        super().__init__(seed, self.drawn(seed), planted, allowed)
        self.votes = ElectionReferee(self.world)
        self.asked = False
        self.database.watchers.append(self.votes.changed)
        self.database.watchers.append(self._closed)

    def drawn(self, seed: int) -> Plan:
        """Draw what the schedule of *seed* is about."""
        plan = plan_of(seed)
        limits = replace(plan.limits, environments=3, eager=0.3, unpunctual=plan.limits.unpunctual / 3)
        return replace(plan, limits=limits, skew=max(plan.skew, 0.6), calm_after=40.0)

    def _publish(self) -> None:
        dice, world = self.world.dice, self.world
        members = DynamoMembers(Client(world.processes[0], self.database.call, STILL), CONTROL)
        for place in range(dice.choice((0, 1, 2))):
            members.beat(MemberRecord(f"worker{place + 1}", int(world.now * 1_000_000), ACTIVE, 0, world.now))
        try:
            chores.elected.s(0).election(mode="fast" if dice.random() < 0.2 else "faithful", timeout=int(20 * dice.random() ** 4))
            self.asked = not self.shelf.exists()
        except SedanoError:
            self.world.branches["election not asked for"] += 1

    def _closed(self, change: Change) -> None:
        """Judge that an open election is closed in the name of a call by who holds the claim of that call, and will dispatch (L3).

        One that is closed as it is opened is dispatched by whoever holds the call next: he finds it closed in his call's name.
        """
        by = text(change.new, "closer") if change.key.startswith(keys.ELECTION) and text(change.new, "st") == CLOSED else ""
        if by and text(change.old, "st") == OPEN:
            call, mark = self.database.table(LEDGER).get(keys.task(by)), change.author[1]
            if text(call, "st") != states.RUNNING or not text(call, "nc").startswith(f"{mark}~"):
                self.world.fail("L3", f"{mark} closed for the call {by}, which is {text(call, 'st')} under {text(call, 'nc')}")

    def at_rest(self) -> None:
        """Judge the world when nothing is left to happen (L3, and one dispatch)."""
        self.referee.at_rest(Counter({"elected": 1}), SETTINGS.poison_after)
        dispatched = [name for name in self.referee.names.values() if name == "elected"]
        if self.votes.closes and not dispatched and not self.referee.set_aside:
            self.world.fail("L3", "closed and never dispatched")
        left = [key for key, item in self.database.table(CONTROL).items() if key.startswith(keys.ELECTION) and text(item, "st") == OPEN]
        if left and not self.referee.set_aside:
            self.world.fail("L3", "opened and never closed")
        if self.asked and not self.votes.closes and not self.referee.set_aside:
            self.world.fail("L3", "asked for and never closed")


class PausedElectionWorld(ElectionWorld):
    """The same where workers stand still before what they ask for, and are not stopped: others take their calls over meanwhile."""

    def drawn(self, seed: int) -> Plan:
        """Draw what the schedule of *seed* is about."""
        plan = super().drawn(seed)
        limits = replace(plan.limits, timeout=6.0, visibility=6.0, unpunctual=0.9)
        return replace(plan, limits=limits, weather=Weather(0.25, (Fault.PAUSE,)), calm_after=180.0, queues=None)
