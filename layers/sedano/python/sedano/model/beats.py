"""Liveness of the loops of a process: the rule for systemd's watchdog, for `/live`, and for the replacement of processes by a supervisor.

Each loop counts its iterations (its *beat*) and declares how long its next iteration may take (its *allowance*). A watcher periodically
checks all beats, and sums up for how long each did not change *while the watcher was running*:

    changed since the last check, or without a limit --> age 0
    not changed                                      --> age + the time since the last check, but at most MOST_STEP_S

So a stopped process or a suspended machine does not age the loops: the watcher did not run in that time either. A loop whose age exceeds
its allowance is *stuck*. A watchdog that is fed by a timer only proves that the timer runs; this one is fed only while no loop is stuck.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

MOST_STEP_S = 2.0
"""The most seconds between two checks that count. A watcher checks more often."""
LIVE_S = 10.0
"""The seconds without a check after which the watcher itself counts as dead."""


class Allowances(NamedTuple):
    """Seconds without a beat after which a loop is stuck: *call*, for an iteration with a few requests; *lane*, for an iteration that
    claims, records and acknowledges, without the body; *loop*, for the event loop of async bodies.
    """

    call: float = 60.0
    lane: float = 180.0
    loop: float = 60.0


class Beat(NamedTuple):
    """The last beat of a loop: the number of its iterations, and the seconds that the current one may take; None means no limit."""

    turns: int
    allowed: float | None


class LoopAge(NamedTuple):
    """The last beat that the watcher saw, and the seconds for which it has not changed."""

    beat: Beat
    age: float = 0.0

    @property
    def is_stuck(self) -> bool:
        """Whether it has not changed for longer than allowed."""
        return self.beat.allowed is not None and self.age > self.beat.allowed


def watched(before: LoopAge | None, beat: Beat, step: float) -> LoopAge:
    """Return the age of *beat*, *step* seconds after the watcher saw *before* (None: it never saw this loop)."""
    if before is None or before.beat.turns != beat.turns or beat.allowed is None:
        return LoopAge(beat)
    return LoopAge(beat, before.age + counted(step))


def counted(step: float) -> float:
    """Return how many of the *step* seconds since the last check count as watched."""
    return max(0.0, min(step, MOST_STEP_S))


def stuck(loops: Mapping[str, LoopAge]) -> list[str]:
    """Return the names of the loops that are stuck, in order."""
    return sorted(name for name, one in loops.items() if one.is_stuck)


class ProbeAnswer(NamedTuple):
    """The answer of a process to a probe: whether it is live, whether it is ready for work, and the reason in a word."""

    is_live: bool
    is_ready: bool
    why: str


def health(*, begun: bool, draining: bool, stuck: Sequence[str], looked: float) -> ProbeAnswer:
    """Return the answer of a process.

    A draining process is live, but not ready.

    Args:
        begun: whether its boot steps are done and it receives.
        draining: whether it has been asked to end.
        stuck: its loops that are stuck.
        looked: the seconds since the last check of the loops.
    """
    if looked > LIVE_S:
        return ProbeAnswer(False, False, "stuck: watcher")
    if stuck:
        return ProbeAnswer(False, False, f"stuck: {', '.join(stuck)}")
    if draining:
        return ProbeAnswer(True, False, "draining")
    return ProbeAnswer(True, begun, "ok" if begun else "starting")
