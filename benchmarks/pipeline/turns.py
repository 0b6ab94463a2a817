"""Rounds in turns: every contender once a round, those that only warm up first, and no more of them than there is time for."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Container, Mapping
from typing import NamedTuple


class Plan(NamedTuple):
    """So many *rounds* after those that *warm* up; fewer, but one at least, where the next would take it beyond *seconds*."""

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
    """Ask each contender for the CPU seconds of a round, in turns, and return those of the rounds that count.

    Args:
        asked: by name, what plays a round and returns its CPU seconds.
        plan: how many rounds, and how long.
        once: names that play only the first round that counts.
        tell: is given a line after each round.
        clock: seconds, for the *plan*'s limit; the quickest round so far is how long the next is thought to take.
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
