"""A simulated process: its own clocks, its own randomness, and the ways in which a process goes wrong.

A clock is off by a constant, runs too fast or too slow, and may be set back or forward. A process may pause anywhere
(a collection of garbage, a frozen sandbox), while its monotonic clock stands still or not; it may die at any call. Two
processes may be clones: of one name, and of one state as far as that was made before they were split.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import greenlet

from tests.simulation.world import Actor, World


@dataclass(slots=True)
class Clock:
    """The clock of one process (`sedano.ports.Clock`): true time, *offset* seconds off, running at *rate*.

    *frozen*: seconds that the monotonic clock did not count.
    """

    world: World
    offset: float = 0.0
    rate: float = 1.0
    began: float = 0.0
    frozen: float = 0.0

    def now(self) -> float:
        """Return what the wall clock shows."""
        return self.world.now + self.offset + (self.world.now - self.began) * (self.rate - 1.0)

    def monotonic(self) -> float:
        """Return the seconds that this process knows to have passed."""
        return (self.world.now - self.began) * self.rate - self.frozen

    def sleep(self, seconds: float) -> None:
        """Wait."""
        self.world.sleep(seconds)

    async def sleep_async(self, seconds: float) -> None:
        """Wait."""
        self.world.sleep(seconds)


class Entropy:
    """Ids and nonces that say who drew them (`sedano.ports.Entropy`): the referee reads off a nonce to whom it belongs."""

    __slots__ = ("_drawn", "_owner")

    def __init__(self, owner: Process) -> None:
        """Draw for *owner*."""
        self._owner = owner
        self._drawn = 0

    def uuid(self) -> str:
        """Return a fresh id."""
        self._drawn += 1
        return f"{self._owner.mark}~{self._drawn}"

    def nonce(self) -> str:
        """Return a fresh nonce."""
        return self.uuid()

    def unit(self) -> float:
        """Return a number in [0, 1)."""
        return self._owner.world.dice.random()


def _unnoticed() -> None:
    """Let a process die without consequence."""


class Process:
    """One process; *name* is what it calls itself, *number* is what tells it from its clones.

    *until*: when its present invocation shall be stopped; *unpunctual*: it is not. *steps*: its wall clock may be set, so its monotonic
    one never rests: no rule is safe when both clocks lie at once.
    """

    def __init__(self, world: World, number: int, name: str) -> None:
        """Be born now."""
        self.world, self.number, self.name = world, number, name
        self.clock = Clock(world, began=world.now)
        self.entropy: Any = Entropy(self)
        self.invocation = 0
        self.until = 0.0
        self.unpunctual = False
        self.steps = False
        self.alive = True
        self.actor: Actor | None = None
        self.died: Callable[[], None] = _unnoticed
        world.processes.append(self)

    @property
    def mark(self) -> str:
        """Who acts: this process in its present invocation."""
        return f"{self.number}.{self.invocation}"

    def takes(self) -> float:
        """Return how long the body that begins now takes: mostly little, sometimes longer than any invocation may."""
        draw = self.world.draw
        return 0.5 * draw() if draw() < 0.9 else 25.0 * draw()

    def pause(self, seconds: float, *, stops: bool) -> None:
        """Stand still for *seconds*; *stops*: the monotonic clock does as well."""
        self.world.note(self.number, "pauses", round(seconds, 3))
        self.world.sleep(seconds)
        if stops:
            self.clock.frozen += seconds

    def die(self) -> None:
        """Stop for good, at once."""
        self.alive = False
        self.world.note(self.number, "dies")
        self.world.at(self.world.now, self.died)
        if self.actor is None or self.actor.over:
            return
        if greenlet.getcurrent() is self.actor.stage:
            raise greenlet.GreenletExit
        self.actor.stop()
