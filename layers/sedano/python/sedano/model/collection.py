"""Calls that wait for others: debounced calls, and the baskets in which the calls of batched tasks are collected. Pure.

A debounced task waits until it has not been called for a while; only the latest call runs, by the publishers' logical clocks. The calls of
a batched task are put into a basket, one for each slice of time, and run as one call when the slice has ended or the basket is full.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

MOST_BASKET_BYTES = 300_000
"""The most bytes of a basket: an item of DynamoDB holds 400 KB."""
MOST_CALLS = 1_000
MOST_PARTS = 1_000
"""The most baskets of one slice; further calls wait for the next slice."""
RUNS = ".batch"
"""The suffix of the name of the task that runs the collected calls of a batched task."""


class Latest(NamedTuple):
    """The latest known call: its logical *clock* and the id of its task."""

    clock: int
    task_id: str


class Basket(NamedTuple):
    """Calls by task id, each as JSON, in the order of their arrival; a *shut* basket does not accept further calls."""

    calls: Mapping[str, str]
    shut: bool = False


class Fetched(list[str]):
    """The calls of a basket from the store, as the arguments of the task that runs them; *ids* are the ids of their tasks."""

    def __init__(self, calls: Mapping[str, str]) -> None:
        """Create it from *calls* by task id."""
        super().__init__(calls.values())
        self.ids = tuple(calls)


class Call(NamedTuple):
    """One call of a batched task in the form for its function: the published arguments, and the id of its task."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    id: str


def written(task_id: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return one call as an entry of a basket."""
    return json.dumps([task_id, list(args), dict(kwargs)], ensure_ascii=False, separators=(",", ":"))


def read(entries: Sequence[str]) -> dict[str, str]:
    """Return the entries of a basket by task id: a call that was added twice counts once."""
    found: dict[str, str] = {}
    for entry in entries:
        found.setdefault(json.loads(entry)[0], entry)
    return found


def holds(basket: Basket, entries: Sequence[str]) -> bool:
    """Return whether all *entries* are in *basket*, because an earlier request added them and its response was lost."""
    return read(entries).keys() <= basket.calls.keys()


def calls_of(entries: Sequence[Any]) -> list[Call]:
    """Return the calls in the arguments of a batch."""
    return [Call(tuple(args), kwargs, task_id) for task_id, args, kwargs in entries]


def slice_of(now: float, seconds: float) -> tuple[int, float]:
    """Return the number of the slice of *seconds* that contains *now*, and its end (epoch s)."""
    number = int(now // seconds)
    return number, (number + 1) * seconds


def overdue(latest: Latest | None, task_id: str) -> bool:
    """Return whether another call than that of *task_id* is the latest."""
    return latest is not None and latest.task_id != task_id
