"""The referee of circuits: watches every write of a circuit and of a check's health, every body that begins, and how long who waits waits.

K1: a circuit that is open from an invocation's begin on lets none of its bodies begin before it closes, by that worker's clock, to which
a trip of far ahead is none; a worker that was not told how it stands goes by what it knew. K2, refinement: each write of a circuit is
what the rule makes of one failure or one success of the circuit that stood there, so no failure is written over, and a trip keeps it open
for no longer than declared. K3: so is each write of a check's health. K4: nobody waits longer for a circuit than it is open, whatever
became of a clock. K5: a trip is told once, by who wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sedano.aws.client import keys
from sedano.errors import SedanoError
from sedano.model import circuits as rule
from sedano.model import health
from sedano.model.circuits import FAILURE, SKEW_S, Circuit
from sedano.model.health import Health
from sedano.model.memos import CIRCUIT, HEALTH, memo_name
from tests.simulation.circuit_tasks import BREAKERS, payments
from tests.simulation.claim_referee import text
from tests.simulation.dynamodb import Change
from tests.simulation.process import Process

CONTROL = "control"
KEYS = {keys.memo(memo_name(CIRCUIT, name)): name for name in BREAKERS}
CHECK = payments._kept.spec
CHECK_KEY = keys.memo(memo_name(HEALTH, CHECK.name))
MARKS = (FAILURE, *(f"{CHECK.name}:{state}" for state in CHECK.states))
LONGEST_S = max(breaker.open_most for breaker in BREAKERS.values()) + SKEW_S + 5.0
"""For how long a message may be held back: as long as a circuit may be open, what clocks differ by, and a spread."""
AHEAD_S = 1.0


class CircuitReferee:
    """Watches one world."""

    def __init__(self, world: Any) -> None:
        """Know every circuit as closed."""
        self.world = world
        self.circuits = {name: Circuit(name) for name in BREAKERS}
        self.known: dict[str, tuple[float, Mapping[str, list[Circuit]]]] = {}
        self.blind: set[str] = set()
        self.trips = 0

    def invoked(self, process: Process) -> None:
        """Remember how the circuits stand when an invocation begins, and from then on, and what its clock shows."""
        self.known[process.mark] = process.clock.now(), {name: [circuit] for name, circuit in self.circuits.items()}

    def begins(self, process: Process, name: str) -> None:
        """Judge a body that begins (K1)."""
        began, known = self.known[process.mark]
        circuit, clocks = known[name][-1], (began, process.clock.now())
        if not all(one.is_open(clock) for one in known[name] for clock in clocks):
            self.world.branches["began under a closed circuit"] += 1
        elif process.mark in self.blind:
            self.world.branches["began by what was known"] += 1
        else:
            self.world.fail("K1", f"{process.mark} begins, though {name} was open until {circuit.until - max(clocks):.1f} s from now")

    def changed(self, change: Change) -> None:
        """Judge a write (K2, K3)."""
        if change.key in KEYS:
            self._circuit_changed(KEYS[change.key], rule.from_text(text(change.new, "memo")), change.author[1])
        elif change.key == CHECK_KEY:
            old = health.from_text(text(change.old, "memo")) if change.old is not None else Health(CHECK.name)
            self._health_changed(old, health.from_text(text(change.new, "memo")), change.author[1])

    def at_rest(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Judge what was told: of messages that were held back (*lines* of the history, K4), and of trips (K5)."""
        for line in lines:
            if line["type"] == "task-held" and line["until"] - line["timestamp"] > LONGEST_S:
                self.world.fail("K4", f"{line['reason']}: held back for {line['until'] - line['timestamp']:.0f} s")
        told = self.world.branches["CircuitsTripped"]
        if told > self.trips:
            self.world.fail("K5", f"{told} trips were told, {self.trips} written")

    def _circuit_changed(self, name: str, new: Circuit, mark: str) -> None:
        old, self.circuits[name] = self.circuits[name], new
        for _, known in self.known.values():
            known[name].append(new)
        tripped = new.since != old.since
        self.trips += tripped
        if new == rule.succeeded(old) and not tripped:
            self.world.branches["a success was written"] += 1
            return
        at = new.since if tripped else new.marks[-1][0] if new.marks else 0.0
        ours = any(rule.failed(BREAKERS[name], old, kind, at).circuit == new for kind in MARKS)
        if not ours or at > self.world.now + AHEAD_S:
            self.world.fail("K2", f"{mark} made {new} of {old}")
        row = min(new.row, 3)
        self.world.branches[f"tripped, {row} in a row" if tripped else "a failure was written"] += 1

    def _health_changed(self, old: Health, new: Health, mark: str) -> None:
        try:
            expected = health.reported(CHECK, old, new.state, new.at, new.detail)
        except SedanoError as wrong:
            self.world.fail("K3", f"{mark}: {wrong}")
        if new != expected or new.at > self.world.now + AHEAD_S:
            self.world.fail("K3", f"{mark} made {new} of {old}")
        self.world.branches[f"found {new.state}"] += 1
