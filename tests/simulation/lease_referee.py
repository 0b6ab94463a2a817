"""The referee of leases: watches every write to a lease and every moment at which somebody believes to hold it.

I7 again: whatever the expressions say, a write must be a take of what nobody holds any more, a renewal or a release by the holder, or the
mark of somebody who asks. Belief is compared at true time, which no process knows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sedano.engine.leases import POLL_S
from sedano.model import leases as lease
from sedano.model.leases import GUARD_MS, Term
from sedano.model.store_clock import DRIFT, Moment
from tests.simulation.claim_referee import number, text
from tests.simulation.dynamodb import Change, Database
from tests.simulation.process import Process
from tests.simulation.values import Item
from tests.simulation.world import World

CONTROL, LEASE, RESOURCE = "control", "LEASE#", "RESOURCE#"
HOLDERS_OWN = ("lease", "tok", "nc", "own", "rv", "st", "dur", "exp")


class LeaseReferee:
    """Watches one world in which processes contend for one lease."""

    def __init__(self, world: World, database: Database) -> None:
        """Watch from now on."""
        self.world, self.database = world, database
        self.highest = 0
        self.fenced = 0
        self.terms: dict[int, tuple[Process, Term, Callable[[], Moment]]] = {}
        self.held_until = 0.0
        self.waiting: dict[int, float] = {}
        database.watchers.append(self.changed)

    def _require(self, holds: bool, promise: str, what: str, *about: Any) -> None:
        """Say that *promise* is broken unless it *holds*; *what* is put into words only then."""
        if not holds:
            self.world.fail(promise, what.format(*about) if about else what)

    def changed(self, change: Change) -> None:
        """Judge a write (I1, I2, I5, I7)."""
        if change.table != CONTROL or change.author is None:
            return
        if change.key.startswith(RESOURCE):
            self._resource(change.new)
        elif change.key.startswith(LEASE):
            self._lease(change.old, change.new, change.author[1])

    def _resource(self, new: Item | None) -> None:
        token = number(new, "ftok")
        self._require(token >= self.fenced, "I2", "a write under token {} came after one under {}", token, self.fenced)
        self.fenced = token

    def _lease(self, old: Item | None, new: Item | None, mark: str) -> None:
        process = mark.partition(".")[0]
        if new is None:
            self.world.fail("I7", f"{mark} deleted the lease")
        elif text(old, "nc") != text(new, "nc") or number(old, "tok") != number(new, "tok"):
            self._granted(old, new, mark)
        elif all((old or {}).get(name) == new.get(name) for name in HOLDERS_OWN):
            self.world.branches["asked for"] += 1
        else:
            mine = text(old, "nc").partition(".")[0] == process
            self._require(mine, "I7", "{} changed the grant of {}", mark, text(old, "nc"))
            self._require(text(old, "st") == "H", "I7", "{} changed a lease that was released", mark)
            self._require(number(new, "rv") == number(old, "rv") + 1, "I7", "{} wrote without a new version", mark)
            less = number(old, "exp") - number(new, "exp")
            self._require(less <= 0 or text(new, "st") == "F", "I5", "{} shortened its grant by {} ms", mark, less)
            self.held_until = self.world.now

    def _granted(self, old: Item | None, new: Item, mark: str) -> None:
        token = number(new, "tok")
        self._require(token > self.highest, "I1", "token {} after {}", token, self.highest)
        self.highest = token
        self._require(text(new, "nc").startswith(f"{mark.partition('.')[0]}."), "I7", "{} took it as {}", mark, text(new, "nc"))
        self._require(text(new, "st") == "H", "I7", "{} took it and it is not held", mark)
        stolen = text(old, "st") == "H"
        self.world.branches["steal" if stolen else "lease taken"] += 1
        if stolen:
            self._taken_over(old, new)
        self.held_until = self.world.now

    def _taken_over(self, old: Item | None, new: Item) -> None:
        """Judge how long a take-over took once the faults had stopped (the liveness of PROTOCOLS §2)."""
        world = self.world
        longest = number(old, "dur") / 1000 * (1 + DRIFT) + 2 * GUARD_MS / 1000 + POLL_S
        if world.now > world.quiet_from:
            world.branches["take-over after the faults"] += 1
        since = max(world.quiet_from, self.held_until, min(self.waiting.values(), default=world.now))
        self._require(world.now - since <= longest, "L", "taken over after {:.1f} s, not {:.1f} s", world.now - since, longest)

    def believes(self, process: Process, term: Term, moment: Callable[[], Moment]) -> bool:
        """Judge and return whether *process* believes now, by its clocks' *moment*, to hold the lease by *term* (I3, I4)."""
        self.terms[process.number] = (process, term, moment)
        believers = [who for who, (one, its, clocks) in self.terms.items() if one.alive and lease.believes(its, clocks())]
        self._require(len(believers) < 2, "I3", "processes {} believe at once", believers)
        if process.number not in believers:
            return False
        item = self.database.table(CONTROL).get(next(iter(k for k in self.database.table(CONTROL) if k.startswith(LEASE)), ""))
        ours = text(item, "nc") == term.nonce
        self._require(ours, "I3", "process {} believes while {} holds it", process.number, text(item, "nc"))
        left = number(item, "exp") / 1000 - self.world.now
        early = left > -GUARD_MS / 1000
        self._require(early, "I4", "process {} believes {:.1f} s after the end of its lease", process.number, -left)
        return True

    def over(self, process: Process) -> None:
        """Note that *process* gave its term back or lost it."""
        self.terms.pop(process.number, None)

    def refused(self, process: Process, mark: str) -> None:
        """Judge that somebody was told that another holds the lease (I6)."""
        for key, item in self.database.table(CONTROL).items():
            misread = key.startswith(LEASE) and text(item, "st") == "H" and text(item, "nc").startswith(f"{mark}~")
            self._require(not misread, "I6", "process {} was refused by its own write", process.number)
