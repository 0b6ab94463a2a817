"""Many schedules of one kind of world, and what they came to; a failing one shrunk until only the faults are left that matter, and told.

A clean run in which no steal, no own write and no zombie ever happened proves nothing, so a tally counts the branches that fired as well.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.simulation.dynamodb import Database
from tests.simulation.network import Fault
from tests.simulation.process import Process
from tests.simulation.sqs import Queues
from tests.simulation.world import START, Violation, World

COLLECT_AFTER = 1_000
_CYCLIC = frozenset({World, Process, Database, Queues})
FAULTS = tuple(fault.value for fault in Fault)


class Schedule(Protocol):
    """One schedule of some kind of world."""

    world: World

    def run(self) -> World:
        """Play it to its end; raise the `Violation` that it finds."""


Stage = Callable[[int, AbstractSet[int] | None], Schedule]
"""Sets the stage of a seed; with a set, faults strike only at the decisions in it."""


@dataclass(slots=True)
class Tally:
    """What schedules came to: how many, the simulated seconds, the broken promises by seed, the faults and branches that fired."""

    schedules: int = 0
    seconds: float = 0.0
    violations: dict[int, str] = field(default_factory=dict)
    branches: Counter[str] = field(default_factory=Counter)

    @property
    def faults(self) -> dict[str, int]:
        """How many faults of each kind were injected."""
        return {name: self.branches[name] for name in FAULTS}

    def add(self, seed: int, world: World, broken: Violation | None) -> None:
        """Count one schedule."""
        self.schedules += 1
        self.seconds += world.seconds
        for name, fired in world.branches.items():
            self.branches[name] += fired
        if broken is not None:
            self.violations[seed] = str(broken)


def play(stage: Stage, seed: int, allowed: AbstractSet[int] | None = None) -> tuple[World, Violation | None]:
    """Play one schedule; return its world and the promise that it broke, if any."""
    schedule = stage(seed, allowed)
    broken = _broken(schedule)
    return schedule.world, broken


def _broken(schedule: Schedule) -> Violation | None:
    try:
        schedule.run()
    except Violation as broken:
        return broken.with_traceback(None)
    return None


def campaign(stage: Stage, seeds: Iterable[int], most: int | None = None) -> Tally:
    """Play the schedules of *seeds*, until *most* of them broke a promise."""
    tally = Tally()
    with uncollected():
        for seed in seeds:
            schedule = stage(seed, None)
            broken = _broken(schedule)
            tally.add(seed, schedule.world, broken)
            if broken is not None and most is not None and len(tally.violations) >= most:
                break
            take_apart(schedule)
            if tally.schedules % COLLECT_AFTER == 0:
                gc.collect()
    return tally


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the collector of cycles away: it would look at everything again and again, and costs as much as a third of the play."""
    aside = gc.get_freeze_count()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        if not aside:  # a run of pytest has set its tests and modules aside (`tests/plugins/garbage.py`), and they stay there
            gc.unfreeze()


def take_apart(schedule: Schedule) -> None:
    """Cut a schedule that was played into pieces, so that it is freed at once and nothing is left for the collector."""
    for part in (*schedule.world.processes, *vars(schedule).values()):
        if type(part) in _CYCLIC:
            vars(part).clear()
    vars(schedule).clear()


def shrunk(stage: Stage, seed: int) -> tuple[World, Violation]:
    """Return the failing schedule of *seed* with as few faults as it still fails with (delta debugging; Zeller 2002)."""
    world, broken = play(stage, seed)
    if broken is None:
        raise ValueError(f"the schedule of seed {seed} breaks no promise")
    kept, parts = world.fired, 2
    while len(kept) >= 1 and parts <= 2 * len(kept):
        size = -(-len(kept) // parts)
        for start in range(0, len(kept), size):
            fewer = frozenset(kept[:start] + kept[start + size :])
            found, still = play(stage, seed, fewer)
            if still is not None and len(found.fired) < len(kept):
                world, broken, kept, parts = found, still, found.fired, max(2, parts - 1)
                break
        else:
            parts *= 2
    return world, broken


def story(stage: Stage, seed: int, lines: int = 60) -> str:
    """Return the failing schedule of *seed*, shrunk, as a text to read: when, who, what."""
    world, broken = shrunk(stage, seed)
    told = [f"seed {seed} breaks {broken} ({len(world.fired)} faults are enough)"]
    told += [f"{line[0] - START:10.3f} s  {_words(line[1:])}" for line in world.trace[-lines:]]
    return "\n".join(told)


def _words(parts: tuple[Any, ...]) -> str:
    who, *what = parts
    return f"{f'process {who}' if isinstance(who, int) else who}: {' '.join(map(str, what))}"
