"""The order in which the tasks of a batch begin. Pure.

A queue delivers batches, and a worker runs a whole batch; so a preference orders the tasks of one invocation, at no cost. A task that must
not wait for others needs a separate queue (``priority=``). The strategies are those of the CEP: short tasks first, long tasks first, rare
tasks first, resource saturation, or a function of the user.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

Named = Literal["short", "long", "rare", "saturation"]
NAMED: tuple[Named, ...] = ("short", "long", "rare", "saturation")
SATURATED = 0.8
"""If a worker spends more than this share of its time in `def` bodies, coroutines begin first."""
MEMORY = 0.2
"""The weight of the latest run in a mean, and in a share."""


class Candidate(NamedTuple):
    """A task that could begin: its name (*task*), whether it is `async` (I/O-bound) or `def` (CPU-bound), the mean duration of its recent
    runs on this worker (*seconds*, None: it did not run), how often it was seen here (*runs*), the seconds for which it has waited
    (*waited*), its *tenant*, and the share of its time that this worker spends in `def` bodies (*busy*, 0 to 1).
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
    """Short tasks first; a task that never ran begins at once, so that its duration becomes known."""
    return candidate.seconds or 0.0


def _long(candidate: Candidate) -> float:
    return -(candidate.seconds or 0.0)


def _rare(candidate: Candidate) -> int:
    return candidate.runs


def _saturation(candidate: Candidate) -> bool:
    """I/O-bound tasks first while CPU-bound tasks use most of the worker's time, and the reverse."""
    return candidate.is_async != (candidate.busy >= SATURATED)


_KEYS: dict[str, Callable[[Candidate], Any]] = {"short": _short, "long": _long, "rare": _rare, "saturation": _saturation}


def key_of(strategy: Strategy) -> Callable[[Candidate], Any]:
    """Return the sort key of *strategy*; the task with the lowest key begins first."""
    return strategy if callable(strategy) else _KEYS[strategy]


def order(candidates: Sequence[Candidate], strategy: Strategy) -> list[int]:
    """Return the positions of *candidates* in the order in which they begin; equal ones keep their order."""
    key = key_of(strategy)
    return sorted(range(len(candidates)), key=lambda place: key(candidates[place]))


def mean(before: float | None, latest: float) -> float:
    """Return the exponential moving average after the *latest* value."""
    return latest if before is None else before + MEMORY * (latest - before)
