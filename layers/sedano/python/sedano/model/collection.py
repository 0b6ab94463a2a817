"""Calls that wait for each other: the latest of a quiet period, and the baskets in which calls are collected. Pure.

A debounced task waits until it was not called for a while; only the latest call runs, by the publishers' logical clocks. A batched
task's calls are put into a basket, one for each slice of time, and run as one call when the slice is over or the basket is full.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

MOST_BASKET_BYTES = 300_000
"""How much a basket holds: an item of DynamoDB holds 400 KB."""
MOST_CALLS = 1_000
MOST_PARTS = 1_000
"""How many baskets one slice may need before its calls wait for the next."""
RUNS = ".batch"
"""The suffix that turns the name of a batched task into that of the task that gets its calls."""


class Latest(NamedTuple):
    """The latest call known: its logical *clock* and its task's id."""

    clock: int
    task_id: str


class Basket(NamedTuple):
    """Calls by task id, each as JSON, in the order of their arrival; a basket that is *shut* takes no further call."""

    calls: Mapping[str, str]
    shut: bool = False


class Fetched(list[str]):
    """The calls of a basket that was fetched from the store, as the arguments of the task that runs them; *ids*: of their tasks."""

    def __init__(self, calls: Mapping[str, str]) -> None:
        """Hold *calls*, by task id."""
        super().__init__(calls.values())
        self.ids = tuple(calls)


class Call(NamedTuple):
    """One call of a batched task, as the function gets it: the arguments that it was published with, and its task's id."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    id: str


def written(task_id: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return one call as an entry of a basket."""
    return json.dumps([task_id, list(args), dict(kwargs)], ensure_ascii=False, separators=(",", ":"))


def read(entries: Sequence[str]) -> dict[str, str]:
    """Return the entries of a basket by task id: a call that was put in twice counts once."""
    found: dict[str, str] = {}
    for entry in entries:
        found.setdefault(json.loads(entry)[0], entry)
    return found


def holds(basket: Basket, entries: Sequence[str]) -> bool:
    """Return whether all *entries* are in *basket*: an earlier request put them there, and its answer was lost."""
    return read(entries).keys() <= basket.calls.keys()


def calls_of(entries: Sequence[Any]) -> list[Call]:
    """Return the calls that the arguments of a batch describe."""
    return [Call(tuple(args), kwargs, task_id) for task_id, args, kwargs in entries]


def slice_of(now: float, seconds: float) -> tuple[int, float]:
    """Return the number of the slice of *seconds* that *now* lies in, and when it ends (epoch s)."""
    number = int(now // seconds)
    return number, (number + 1) * seconds


def overdue(latest: Latest | None, task_id: str) -> bool:
    """Return whether a call other than *task_id*'s is the latest."""
    return latest is not None and latest.task_id != task_id
