"""One simulated world: virtual time, actors that take turns, and dice that a seed decides.

Actors play on greenlets: plain code, such as the shipped engine, that gives way inside `World.sleep` and nowhere else. What happens
is noted in `trace`; two runs of one seed have the same trace, and `digest` says so in one line. What goes wrong on purpose is decided in
`strikes`, one numbered decision at a time, so that a failing run can be repeated with fewer faults until only those are left that matter.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from contextlib import suppress
from random import Random
from typing import Any

import greenlet

START = 1_800_000_000.0
"""What a perfect clock shows when a world begins."""
LONGEST_S = 100.0
"""The longest that a fault has consequences by itself: a pause, a request under way, the retries of a call."""
MOST_STEPS = 20_000
"""Turns after which a world counts as one that never comes to rest."""


class Violation(Exception):
    """A promise was broken: its name, and what happened."""

    def __init__(self, promise: str, what: str) -> None:
        """Say which *promise* was broken by *what*."""
        super().__init__(f"{promise}: {what}")
        self.promise = promise


class Stage(greenlet.greenlet):
    """A greenlet on which one actor after the other plays: to make one costs more than many an actor does."""

    actor: Actor | None = None

    @property
    def owner(self) -> Any:
        """The process that the present actor belongs to."""
        return self.actor.owner if self.actor is not None else None

    def run(self) -> None:
        """Play whoever has the stage, and wait for the next."""
        while self.actor is not None:
            with suppress(greenlet.GreenletExit):
                self.actor.action()
            self.actor.over, self.actor.stage, self.actor = True, None, None
            _FREE.append(self)
            self.parent.switch()


_FREE: list[Stage] = []
"""Stages that nobody plays on."""


class Actor:
    """One thread of a process, that is doing *action*. *owner* is the process that it belongs to; it stops for good when that dies."""

    __slots__ = ("action", "over", "owner", "stage")

    def __init__(self, owner: Any, action: Callable[[], None]) -> None:
        """Wait for the first turn."""
        self.owner, self.action = owner, action
        self.over = False
        self.stage: Stage | None = None

    def go_on(self, hub: greenlet.greenlet) -> None:
        """Play until the actor gives way to the *hub* or ends."""
        if self.stage is None:
            self.stage = _FREE.pop() if _FREE else Stage()
            self.stage.actor, self.stage.parent, self.stage.gr_context = self, hub, None
        self.stage.switch()

    def stop(self) -> None:
        """End it where it is, or before it began."""
        if self.stage is not None:
            self.stage.throw(greenlet.GreenletExit)
        self.over = True


class World:
    """Virtual time and everybody in it.

    Args:
        seed: decides everything.
        allowed: the numbers of the decisions at which a fault may strike; None allows all.
    """

    def __init__(self, seed: int, allowed: AbstractSet[int] | None = None) -> None:
        """Begin at `START` with nobody in it."""
        self.seed, self.allowed = seed, allowed
        self.dice, fate = Random(seed), Random(f"faults of {seed}")
        self.draw, self._fate = self.dice.random, fate.random
        self.now = START
        self.calm_from = self.quiet_from = START
        self.trace: list[tuple[Any, ...]] = []
        self.fired: list[int] = []
        self.branches: Counter[str] = Counter()
        self.failure: BaseException | None = None
        self.processes: list[Any] = []
        self._decisions = 0
        self._steps = 0
        self._turns: list[tuple[float, int, Any]] = []
        self._numbers = 0
        self._until = START
        self._hub = greenlet.getcurrent()

    def note(self, *what: Any) -> None:
        """Add a line to the trace."""
        self.trace.append((self.now, *what))

    def at(self, moment: float, action: Callable[[], None] | Actor) -> None:
        """Let *action* happen, or an actor go on, at *moment*."""
        self._numbers += 1
        heapq.heappush(self._turns, (moment, self._numbers, action))

    def spawn(self, owner: Any, action: Callable[[], None], delay: float = 0.0) -> Actor:
        """Start an actor of *owner* that does *action*."""
        actor = Actor(owner, action)
        self.at(self.now + delay, actor)
        return actor

    def sleep(self, seconds: float) -> None:
        """Let the calling actor go on *seconds* from now, while others take their turns.

        Where nobody has a turn before that, it simply goes on: the same world as by way of the hub, without the way.
        """
        wake, turns = self.now + seconds, self._turns
        if (not turns or turns[0][0] > wake) and self.now <= wake <= self._until and self._steps < MOST_STEPS and self.failure is None:
            self._steps += 1
            self.now = wake
            return
        self.at(wake, greenlet.getcurrent().actor)  # type: ignore[attr-defined] # only actors sleep
        self._hub.switch()

    def strikes(self, chance: float) -> float | None:
        """Decide whether a fault strikes here: None, or a number in [0, 1) that says which."""
        self._decisions += 1
        drawn = self._fate()
        if drawn >= chance or self.now >= self.calm_from:
            return None
        if self.allowed is not None and self._decisions not in self.allowed:
            return None
        self.fired.append(self._decisions)
        self.quiet_from = self.now + LONGEST_S
        return drawn / chance

    def fail(self, promise: str, what: str) -> None:
        """Say that a promise was broken, whoever catches it on the way."""
        self.note("BROKEN", promise, what)
        self.failure = self.failure or Violation(promise, what)
        raise self.failure

    def run(self, until: float) -> None:
        """Let everybody take turns until nothing is left to happen, or *until*.

        Raises:
            Violation: a promise was broken, or the world does not come to rest.
        """
        turns, pop, self._until = self._turns, heapq.heappop, until
        while turns:
            moment, _, turn = pop(turns)
            if moment > until:
                raise Violation("E2", f"not at rest {until - self.calm_from:.0f} s after the last fault")
            self._steps += 1
            if self._steps > MOST_STEPS:
                raise Violation("E2", f"not at rest after {MOST_STEPS} turns")
            self.now = max(self.now, moment)
            if type(turn) is not Actor:
                turn()
            elif not turn.over:
                turn.go_on(self._hub)
            if self.failure is not None:
                raise self.failure

    def end(self) -> None:
        """Stop every actor that is left."""
        left, self._turns = [turn for _, _, turn in self._turns if type(turn) is Actor], []
        for actor in left:
            actor.stop()

    @property
    def seconds(self) -> float:
        """The virtual seconds that have passed."""
        return self.now - START

    def digest(self) -> str:
        """Return the hash of everything that happened."""
        return hashlib.sha256("\n".join(map(repr, self.trace)).encode()).hexdigest()
