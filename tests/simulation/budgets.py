"""What coordination may cost, counted at the simulated services while nothing fails: every request, also one that is refused.

A task that is claimed: two writes. Joining the members: one write for each environment that starts. A lease that is free and known as it
is: one write to take it; one that is not known, or changed since: two requests, a read or a refused write being the first, and one more for
each write of somebody else in between. One write to renew, one to release.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sedano.aws.client import keys
from sedano.engine.leases import Leasing
from sedano.model.leases import Term
from tests.simulation.claim_referee import number
from tests.simulation.claims import ClaimWorld, plan_of
from tests.simulation.lease_referee import CONTROL
from tests.simulation.leases import LeaseWorld, PlantedLease
from tests.simulation.network import Weather

CALM = Weather(0.0, ())
WRITES = ("UpdateItem", "PutItem", "DeleteItem", "TransactWriteItems")
READS = ("GetItem", "BatchGetItem", "Query", "Scan")
Budget = tuple[int, int]
"""The reads and writes that something may cost at most."""


class Meter:
    """Counts the requests to a simulated DynamoDB."""

    def __init__(self, database: Any) -> None:
        """Count from now on."""
        self.made: Counter[tuple[Any, str]] = Counter()
        self.beats: Counter[Any] = Counter()
        self.writes = 0
        call = database.call

        def counted(operation: str, author: Any, parameters: Any) -> Any:
            self.made[author[0], operation] += 1
            self.writes += operation in WRITES
            self.beats[author[0]] += operation in WRITES and parameters.get("Key", {}).get("pk", {}).get("S", "").startswith(keys.MEMBER)
            return call(operation, author, parameters)

        database.call = counted

    def spent(self, process: Any) -> Budget:
        """Return the reads and writes of *process* so far."""
        return sum(self.made[process, kind] for kind in READS), sum(self.made[process, kind] for kind in WRITES)


class Metered(Leasing):
    """Leases whose every operation is held to its budget."""

    meter: Meter
    process: Any
    database: Any

    def attempt(self, name: str, owner: str, duration: int, asker: str = "") -> Any:
        """Try once."""
        known, before, all_before = self._current(name), self.meter.spent(self.process), self.meter.writes
        found = super().attempt(name, owner, duration, asker)
        reads, writes = _less(self.meter.spent(self.process), before)
        others = self.meter.writes - all_before - writes
        took = isinstance(found, Term)
        self.process.world.branches[f"{'took' if took else 'refused'} {'known' if known else 'unknown'}"] += 1
        if reads > 1 or reads + writes > 2 + others or (took and known and (reads, writes) != (0, 1)):
            self.process.world.fail("W", f"{'taking' if took else 'not taking'} a lease cost {reads} reads and {writes} writes")
        return found

    def _current(self, name: str) -> bool:
        """Tell whether the lease is free, and known just as it is."""
        sight, item = self._known.get(name), self.database.table(CONTROL).get(keys.lease(name))
        record = sight.record if sight is not None else None
        return record is not None and not record.held and (record.token, record.version) == (number(item, "tok"), number(item, "rv"))

    def renew(self, term: Term) -> Term | None:
        """Renew."""
        return self._once("renew", lambda: super(Metered, self).renew(term))

    def release(self, term: Term) -> Any:
        """Release."""
        return self._once("release", lambda: super(Metered, self).release(term))

    def _once(self, what: str, call: Callable[[], Any]) -> Any:
        before = self.meter.spent(self.process)
        found = call()
        spent = _less(self.meter.spent(self.process), before)
        if spent != (0, 1):
            self.process.world.fail("W", f"{what} cost {spent[0]} reads and {spent[1]} writes")
        self.process.world.branches[what] += 1
        return found


def _less(one: Budget, other: Budget) -> Budget:
    return one[0] - other[0], one[1] - other[1]


class CalmLeases(LeaseWorld):
    """One schedule of a lease without a fault, metered."""

    def __init__(self, seed: int) -> None:
        """Set the stage of *seed*."""
        super().__init__(seed, PlantedLease(leasing=self._metered))
        self.plan = replace(self.plan, weather=CALM)
        self.meter = Meter(self.database)

    def _metered(self, leasing: Leasing) -> Leasing:
        found = Metered(leasing.ports)
        owner: Any = leasing.ports.entropy
        found.meter, found.process, found.database = self.meter, owner._owner, self.database
        return found


class CalmTasks(ClaimWorld):
    """One schedule of plain tasks without a fault or a kill, metered."""

    def __init__(self, seed: int, tasks: int) -> None:
        """Publish so many *tasks*."""
        plan = plan_of(seed)
        limits = replace(plan.limits, timeout=120.0, visibility=720.0)
        super().__init__(seed, replace(plan, weather=CALM, limits=limits, kinds=("plain",) * tasks, calm_after=0.0))
        self.meter, self.tasks = Meter(self.database), tasks

    def at_rest(self) -> None:
        """Judge what was spent: two writes a task, one for each environment that joined."""
        super().at_rest()
        beats = sum(self.meter.beats.values())
        if self.meter.writes - beats != 2 * self.tasks:
            self.world.fail("W", f"{self.meter.writes - beats} writes for {self.tasks} tasks")
        if beats != len(self.meter.beats):
            self.world.fail("W", f"{beats} heartbeats of {len(self.meter.beats)} environments within a minute")
        self.world.branches.update({"tasks": self.tasks, "joined": len(self.meter.beats)})
