"""The order in which the tasks of a batch begin. Pure.

A queue hands out batches, and a worker runs a whole batch; so a preference orders what one invocation was given, and costs nothing. A task
that must not wait for others at all gets a queue of its own (``priority=``). The strategies are the CEP's: short ones first, long ones
first, rare ones first, resource saturation, or the user's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

Named = Literal["short", "long", "rare", "saturation"]
NAMED: tuple[Named, ...] = ("short", "long", "rare", "saturation")
SATURATED = 0.8
"""The share of its time that a worker spends in `def` bodies above which coroutines begin first."""
MEMORY = 0.2
"""How much the latest run counts in a mean, and in a share."""


class Candidate(NamedTuple):
    """A task that could begin: its name, whether it is `async` (I/O-bound) or `def` (CPU-bound), how long runs of it took lately on this
    worker (*seconds*, None: none ran), how often it was seen here (*runs*), since when it waits (*waited* s), its *tenant*, and the share
    of its time that this worker spends in `def` bodies (*busy*, 0 to 1).
    """

    task: str
    is_async: bool
    seconds: float | None
    runs: int
    waited: float
    tenant: str | None
    busy: float


Strategy = Named | Callable[[Candidate], Any]


def _short(candidate: Candidate) -> float:
    """Short ones first; what never ran is tried at once, so that it is known."""
    return candidate.seconds or 0.0


def _long(candidate: Candidate) -> float:
    return -(candidate.seconds or 0.0)


def _rare(candidate: Candidate) -> int:
    return candidate.runs


def _saturation(candidate: Candidate) -> bool:
    """I/O-bound tasks first while the worker is full of CPU-bound ones, and the reverse."""
    return candidate.is_async != (candidate.busy >= SATURATED)


_KEYS: dict[str, Callable[[Candidate], Any]] = {"short": _short, "long": _long, "rare": _rare, "saturation": _saturation}


def key_of(strategy: Strategy) -> Callable[[Candidate], Any]:
    """Return what *strategy* sorts by: the least first."""
    return strategy if callable(strategy) else _KEYS[strategy]


def order(candidates: Sequence[Candidate], strategy: Strategy) -> list[int]:
    """Return the places of *candidates* in the order in which they shall begin; equal ones keep theirs."""
    key = key_of(strategy)
    return sorted(range(len(candidates)), key=lambda place: key(candidates[place]))


def mean(before: float | None, latest: float) -> float:
    """Return the mean after the *latest* value, older ones fading."""
    return latest if before is None else before + MEMORY * (latest - before)
