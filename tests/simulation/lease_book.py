"""A referee for worlds of many leases: each lease of the control table is judged by itself, as soon as it is written or believed in."""

from __future__ import annotations

import math
from typing import Any

from sedano.aws.client import keys
from sedano.engine.leases import Leasing
from sedano.model.leases import Term
from sedano.model.store_clock import Moment
from tests.simulation.dynamodb import Change, Database
from tests.simulation.lease_referee import CONTROL, LEASE, LeaseReferee
from tests.simulation.process import Process
from tests.simulation.values import Item
from tests.simulation.world import World

LONG_AGO = Moment(math.inf, math.inf)
"""What the clocks show to whoever does not believe any more."""


class Alone:
    """A database in which there is nothing but one item of the control table, and whose writes are told by somebody else."""

    def __init__(self, database: Database, key: str) -> None:
        """Show the item at *key*."""
        self.watchers: list[Any] = []
        self._database, self._key = database, key

    def table(self, name: str) -> dict[str, Item]:
        """Return the item by its key, where it exists."""
        item = self._database.table(name).get(self._key)
        return {} if item is None else {self._key: item}


class OneOfMany(LeaseReferee):
    """Judges the lease at *key*. How soon it is taken over is the business of its world."""

    def __init__(self, world: World, database: Database, key: str) -> None:
        """Judge what it is told of."""
        alone: Any = Alone(database, key)
        super().__init__(world, alone)

    def _taken_over(self, old: Item | None, new: Item) -> None:
        self.world.branches["take-over"] += 1


class LeaseBook:
    """Watches all leases of one world (I1, I3, I4, I5, I7)."""

    def __init__(self, world: World, database: Database) -> None:
        """Watch from now on."""
        self.world, self.database = world, database
        self.referees: dict[str, OneOfMany] = {}
        database.watchers.append(self.changed)

    def changed(self, change: Change) -> None:
        """Judge a write to a lease."""
        if change.table == CONTROL and change.key.startswith(LEASE):
            self.of(change.key).changed(change)

    def of(self, key: str) -> OneOfMany:
        """Return the referee of the lease at *key*."""
        if key not in self.referees:
            self.referees[key] = OneOfMany(self.world, self.database, key)
        return self.referees[key]

    def believes(self, process: Process, term: Term, leasing: Leasing) -> bool:
        """Judge and return whether *process* believes now to hold the lease by *term*, as its own *leasing* tells."""
        return self.of(keys.lease(term.name)).believes(process, term, lambda: leasing.moment() if leasing.believes(term) else LONG_AGO)

    def over(self, process: Process, name: str) -> None:
        """Note that *process* does not hold the lease *name* any more."""
        self.of(keys.lease(name)).over(process)

    def gone(self, process: Process) -> None:
        """Note that *process* holds nothing any more."""
        for referee in self.referees.values():
            referee.over(process)
