"""Whether the loops of a process still move: the rule behind systemd's watchdog, behind `/live`, and behind a supervisor's replacements.

Each loop counts its own turns (its *beat*) and says how long its next turn may take (its *allowance*). A watcher looks at all beats again
and again, and adds up for how long each has not moved *while it looked*:

    moved since the last look, or waits without a limit --> age 0
    not moved                                           --> age + the time since the last look, at most MOST_STEP_S of it

So a process that was stopped, or a machine that slept, makes no loop old: the watcher was away for as long as the loops were. A loop whose
age exceeds its allowance is *stuck*. A watchdog that a timer feeds proves that the timer runs; this one is fed only while no loop is stuck.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

MOST_STEP_S = 2.0
"""How much of the time between two looks counts. A watcher looks more often than that."""
LIVE_S = 10.0
"""After how many seconds without a look the watcher itself does not live."""


class Allowances(NamedTuple):
    """Seconds without a beat after which a loop is stuck: *call*, in which it makes a few requests; *lane*, in which it claims, records and
    acknowledges, without the body; *loop*, for the event loop of async bodies.
    """

    call: float = 60.0
    lane: float = 180.0
    loop: float = 60.0


class Beat(NamedTuple):
    """The last sign of a loop: how often it has moved, and for how many seconds it may stay there; None: without a limit."""

    turns: int
    allowed: float | None


class LoopAge(NamedTuple):
    """A beat as the watcher saw it, and for how many seconds it has watched it without a move."""

    beat: Beat
    age: float = 0.0

    @property
    def is_stuck(self) -> bool:
        """Whether it has not moved for longer than it may."""
        return self.beat.allowed is not None and self.age > self.beat.allowed


def watched(before: LoopAge | None, beat: Beat, step: float) -> LoopAge:
    """Return how *beat* looks, *step* seconds after the watcher saw *before* (None: it saw this loop never)."""
    if before is None or before.beat.turns != beat.turns or beat.allowed is None:
        return LoopAge(beat)
    return LoopAge(beat, before.age + counted(step))


def counted(step: float) -> float:
    """Return for how many of the *step* seconds since the last look the watcher has watched."""
    return max(0.0, min(step, MOST_STEP_S))


def stuck(loops: Mapping[str, LoopAge]) -> list[str]:
    """Return the names of the loops that are stuck, in order."""
    return sorted(name for name, one in loops.items() if one.is_stuck)


class ProbeAnswer(NamedTuple):
    """The answer of a process to a probe: whether it lives, whether it takes work, and why in a word."""

    is_live: bool
    is_ready: bool
    why: str


def health(*, begun: bool, draining: bool, stuck: Sequence[str], looked: float) -> ProbeAnswer:
    """Return the answer of a process.

    A process that drains lives, and is the first to say that it is not ready.

    Args:
        begun: its boot steps are done, and it receives.
        draining: it has been asked to end.
        stuck: its loops that are stuck.
        looked: for how many seconds they have not been looked at.
    """
    if looked > LIVE_S:
        return ProbeAnswer(False, False, "stuck: watcher")
    if stuck:
        return ProbeAnswer(False, False, f"stuck: {', '.join(stuck)}")
    if draining:
        return ProbeAnswer(True, False, "draining")
    return ProbeAnswer(True, begun, "ok" if begun else "starting")
