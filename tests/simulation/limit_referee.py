"""The referee of limits: watches who starts, who holds permits, and every write to a line or a permit.

R1: in no stretch of W seconds do more tasks of a rate start than ``W / T + burst``, W longer by what their slots were kept for and by what
clocks differ. R2: every write to a line moves each of its turns on by at least its tickets' intervals, so no two tickets share a slot.
R3: a slot is used once. P1: never more holders of permits that are alive and in their time than the limit. P2: a permit's number is below
the limit and its token rises, so a resource that is guarded by both never takes a write from more. P3: a permit ends with its holder's
invocation, so a dead holder's is free afterwards. P4: no process takes a permit before it is over, and only its holder gives it back.
A worker that sees a permit that is over, or kept for a message, may keep it for the message that it wakes.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from sedano.aws.client import keys
from sedano.engine.limits.rate import RateRequest
from sedano.engine.worker.claims import GUARD_S
from sedano.model.limits.concurrency import GUARD_MS
from sedano.model.limits.rate import SECOND, Paces
from sedano.model.limits.task_limits import Slot, kept
from sedano.ports import Delivery
from tests.simulation.claim_referee import number, text
from tests.simulation.dynamodb import Change
from tests.simulation.process import Process

SKEW_S = 0.45
"""By how much a clock may be off, so that two of them differ by less than a second."""
UNHEARD_S = 1.0
"""How long the queue may take to accept what is sent anew, before the tasks whose turn it is go on."""
LIMIT = 2
"""How many run at a time under permits."""


def line_changed(world: Any, change: Change) -> None:
    """Judge a write to a line (R2)."""
    if not change.key.startswith(keys.RATE) or change.old is None or change.new is None:
        return
    old, new = change.old, change.new
    tickets = number(new, "tkn") - (number(old, "tkn") if text(new, "nc") == text(old, "nc") else 0)
    rule = unquote(change.key.removeprefix(keys.RATE)).split("/")[1]
    for place, pace in enumerate(rule.split("+")):
        moved = number(new, f"t{place}") - number(old, f"t{place}")
        if tickets < 1 or moved < tickets * int(pace.partition("x")[0]):
            world.fail("R2", f"{change.key}: {tickets} tickets moved a turn by {moved} µs")


def permits_changed(world: Any, change: Change) -> None:
    """Judge a write to permits (P3, P4)."""
    if not change.key.startswith(keys.PERMITS) or change.new is None or change.author is None:
        return
    process, mark = change.author
    for name in change.new:
        if not (name[0] == "k" and name[1:].isdigit()):
            continue
        place = name[1:]
        old, new = ({part: item.get(f"{part}{place}") for part in "nkew"} if item else {} for item in (change.old, change.new))
        if old.get("k") is None or old["k"] != new["k"]:
            _taken(world, process, mark, old, new)
        elif old != new and not text(old, "n").startswith(f"{mark}~") and not _is_free(process, old):
            world.fail("P4", f"{change.key}: {mark} gave back the permit of {text(old, 'n')}")


def _is_free(process: Process, permit: Any) -> bool:
    return permit["w"] is not None or number(permit, "e") <= process.clock.now() * 1000 - GUARD_MS


def _taken(world: Any, process: Process, mark: str, old: Any, new: Any) -> None:
    world.branches["permits taken"] += 1
    old = {part: value for part, value in old.items() if value is not None}
    over, longest = number(new, "e"), (process.until + process.clock.offset + GUARD_S) * 1000
    if process.mark == mark and over > longest + GUARD_MS:
        world.fail("P3", f"taken for {over - longest:.0f} ms longer than the invocation")
    if number(old, "k") >= number(new, "k"):
        world.fail("P2", f"token {number(new, 'k')} after {number(old, 'k')}")
    if not text(old, "w") and number(old, "e") > process.clock.now() * 1000 - GUARD_MS:
        world.fail("P4", f"{mark} took a permit {number(old, 'e') - process.clock.now() * 1000:.0f} ms before it was over")


class Starts:
    """Judges the starts of limited tasks (R1)."""

    def __init__(self, world: Any) -> None:
        """Nothing has started."""
        self.world = world
        self.known: dict[tuple[str, Paces], list[tuple[float, float]]] = {}
        self.used: set[tuple[str, int]] = set()

    def note(self, asked: RateRequest, slot: Slot | None, delivery: Delivery, used: Slot) -> None:
        """Judge a start now, beside all before it; *slot*: the one that its message bore, *used*: that one, or a fresh one."""
        self._once(asked, slot, delivery)
        world, limits = self.world, asked.limits.paces
        late = (kept(used) - used.at) / SECOND
        known = self.known.setdefault((asked.job.task.name, limits), [])
        known.append((world.now, late))
        most_late = 0.0
        for starts, (moment, its_late) in enumerate(reversed(known), 1):
            most_late = max(most_late, its_late)
            stretch = world.now - moment + most_late + 2 * SKEW_S + UNHEARD_S
            for pace in limits:
                if starts > stretch * SECOND / pace.every + pace.burst:
                    world.fail("R1", f"{asked.job.task.name}: {starts} starts in {world.now - moment:.3f} s")
        if slot is not None:
            world.branches["started in its slot" if not slot.late else "started in a later slot"] += 1

    def _once(self, asked: RateRequest, slot: Slot | None, delivery: Delivery) -> None:
        """Judge that a slot that was given to a message is used once."""
        if slot is None:
            return
        use = (delivery.message_id, slot.at)
        if use in self.used:
            self.world.fail("R3", f"{asked.job.task.name}: started twice in one slot")
        self.used.add(use)


class Holders:
    """Judges who holds permits (P1, P2)."""

    def __init__(self, world: Any) -> None:
        """Nobody does."""
        self.world = world
        self.inside: dict[int, tuple[Process, str, int, float]] = {}
        self.tokens: dict[tuple[str, int], tuple[int, str]] = {}
        self.runs = 0

    def enter(self, process: Process, key: str, permit: int, token: int, until: float) -> int:
        """Judge somebody who begins under *permit*."""
        world = self.world
        others = {other.number for other, name, _, over in self.inside.values() if name == key and other.alive and world.now < over - 2.0}
        if len(others - {process.number}) >= LIMIT:
            world.fail("P1", f"process {process.number} is with {key} beside {sorted(others)}")
        last, by = self.tokens.get((key, permit), (0, ""))
        if not 0 <= permit < LIMIT:
            world.fail("P2", f"{key}: permit {permit} of {LIMIT}")
        if token < last or (token == last and by != process.mark):
            world.fail("P2", f"{key}: permit {permit} under token {token} of {process.mark} after {last} of {by}")
        if any(name == key and held == permit for _, name, held, _ in self.inside.values()):
            world.branches["after the dead or a zombie"] += 1
        self.tokens[key, permit] = token, process.mark
        self.runs += 1
        self.inside[self.runs] = (process, key, permit, until)
        return self.runs

    def leave(self, run: int) -> None:
        """Note that a run is over."""
        del self.inside[run]
