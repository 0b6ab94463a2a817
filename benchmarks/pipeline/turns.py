"""Rounds in turns: every contender once in each round, warm-up rounds first, and as many rounds as the time allows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Container, Mapping
from typing import NamedTuple


class Plan(NamedTuple):
    """*rounds* rounds after *warm* warm-up rounds; fewer, but at least one, if the next round would exceed *seconds*."""

    rounds: int
    warm: int
    seconds: float = math.inf


def in_turns(
    asked: Mapping[str, Callable[[], float]],
    plan: Plan,
    *,
    once: Container[str] = (),
    tell: Callable[[str], None] = print,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, list[float]]:
    """Measure the CPU seconds of each contender in turns, and return those of the rounds that count.

    Args:
        asked: by name, a function that runs a round and returns its CPU seconds.
        plan: the number of rounds, and the time limit.
        once: the names that run only in the first round that counts.
        tell: called with a line after each round.
        clock: returns seconds, for the *plan*'s limit; the next round is assumed to take as long as the fastest one so far.
    """
    began, quickest = clock(), math.inf
    counted: dict[str, list[float]] = {name: [] for name in asked}
    for number in range(plan.warm + plan.rounds):
        counts, before = number >= plan.warm, clock()
        taken = {name: play() for name, play in asked.items() if name not in once or number == plan.warm}
        quickest = min(quickest, clock() - before)
        for name, cpu in taken.items() if counts else ():
            counted[name].append(cpu)
        shown = ", ".join(f"{name} {cpu:.1f}" for name, cpu in taken.items())
        tell(f"round {number + 1} of {plan.warm + plan.rounds}{'' if counts else ' (warming up)'}: {shown} CPU s")
        if counts and clock() - began + quickest > plan.seconds:
            break
    return counted
