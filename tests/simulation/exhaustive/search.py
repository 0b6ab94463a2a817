"""Explicit-state search: every state that a model can reach, breadth first, so that the first violation found has a shortest path.

A model gives its first state, the steps from a state, and what is wrong with one. Time is nondeterministic: whatever may happen at some
time may happen at any time. The conditions that a model checks are the library's own texts, evaluated as the simulator does and remembered.
"""

from __future__ import annotations

import gc
import re
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from sedano.aws.expressions import Write
from tests.simulation import expressions
from tests.simulation.values import SETS, Item

S = TypeVar("S", bound=Hashable)
T = TypeVar("T")
Steps = Callable[[S], Iterable[tuple[str, S]]]


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search came to: how many states and transitions, and the shortest way to a violation, empty when there is none."""

    states: int
    transitions: int
    violation: str = ""
    path: tuple[str, ...] = ()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Let nothing look for cycles among a million states, which have none: that is half of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@_uncollected()
def search(first: S, steps: Steps[S], wrong: Callable[[S, bool], str], most: int = 5_000_000) -> Searched:
    """Visit every state from *first*; *wrong* names what is wrong with a state, told whether nothing can follow it."""
    came: dict[S, tuple[S, str] | None] = {first: None}
    waiting = deque([first])
    transitions = 0
    while waiting:
        state = waiting.popleft()
        last = True
        for label, following in steps(state):
            transitions += 1
            last = False
            if following not in came:
                came[following] = (state, label)
                waiting.append(following)
        complaint = wrong(state, last)
        if complaint:
            return Searched(len(came), transitions, complaint, _path(came, state))
        if len(came) > most:
            return Searched(len(came), transitions, f"more than {most} states")
    return Searched(len(came), transitions)


def reachable(first: S, steps: Steps[S]) -> set[S]:
    """Return every state that can be reached from *first*: for small worlds, to compare one way of searching with another."""
    found, waiting = {first}, deque([first])
    while waiting:
        following = {state for _, state in steps(waiting.popleft())} - found
        found |= following
        waiting.extend(following)
    return found


def _path(came: Mapping[S, tuple[S, str] | None], state: S) -> tuple[str, ...]:
    labels: list[str] = []
    before = came[state]
    while before is not None:
        labels.append(before[1])
        before = came[before[0]]
    return tuple(reversed(labels))


_VALUE = re.compile(r":\w+")
_ANY = {"S": ""}
"""What a model has no opinion about."""
Triples = tuple[tuple[str, str, Any], ...]
"""An item or the values of a call that can be remembered: name, type, text (of a set: a tuple of texts)."""


def written(write: Write, item: Triples, values: Triples) -> Triples | None:
    """Return what *write* makes of *item* with *values*; None when its condition refuses it."""
    old = _item(item)
    named = _VALUE.findall(f"{write.condition} {write.update}")
    given = {**dict.fromkeys(named, _ANY), **write.values, **_item(values)}
    if write.condition and not expressions.condition(write.condition, write.names)(old, given):
        return None
    new = expressions.update(write.update, write.names)(old, given)
    return tuple(sorted(_triple(name, *next(iter(value.items()))) for name, value in new.items() if name != "pk"))


def _item(triples: Triples) -> Item:
    return {name: {kind: list(held) if kind in SETS else held} for name, kind, held in triples}


def _triple(name: str, kind: str, held: Any) -> tuple[str, str, Any]:
    return name, kind, tuple(held) if kind in SETS else held


def remembered(call: Callable[..., T]) -> Callable[..., T]:
    """Return *call* with a memory: a model asks the same few thousand questions a million times."""
    return lru_cache(None)(call)
