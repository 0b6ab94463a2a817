"""The values of several results as they arrive: in order, or in the order of their ends.

Written as waits (`sedano.result.waits.Waits`), one look at a time, so that a thread and an event loop wait alike: with the same pauses,
for the same time, reading no more than is needed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from sedano.model.ledger.records import TaskRecord
from sedano.result import late_imports as later
from sedano.result.result_tree import following, is_set, leaves, steps_before
from sedano.result.waits import (
    READ_AT_ONCE,
    Broken,
    EarlierTasks,
    Patience,
    PollPause,
    Steps,
    Waits,
    Wanted,
    error_of,
    has_ended,
    look,
    taken,
)

T = TypeVar("T")
Callback = Callable[[str, Any], Any]
Pair = tuple[Any, Any]


class Coming(Iterator[T]):
    """Values one after another, for a `for` loop, or for an `async for` loop, which does not block the event loop."""

    __slots__ = ("_steps",)

    def __init__(self, steps: Steps[T]) -> None:
        """Yield the values of *steps*, without their pauses and read requests."""
        self._steps = steps

    def __next__(self) -> T:
        """Wait for the next."""
        answer = None
        while isinstance(step := self._steps.send(answer), PollPause | Wanted):
            answer = taken(step)
        return step

    def __aiter__(self) -> AsyncIterator[T]:
        """Wait for each on the event loop."""
        return later.arriving(self._steps)


def in_order(some: Any, timeout: float | None, propagate: bool, callback: Callback | None = None) -> Waits[list[Any]]:
    """Wait for all tasks of the set *some* and return their values in order; see `ResultSet.get`."""
    if next(leaves(some.members()), None) is None:
        error = error_of((yield from some.launch.reader.waits(timeout)), some.outlet) if some.launch is not None else None
        if error is not None and propagate:
            raise error
        return _nested(some.members(), iter(()))
    values = yield from _values(some, Patience(some.outlet, timeout), propagate, callback)
    return _nested(some.members(), iter(values))


def as_they_end(some: Any, timeout: float | None, propagate: bool) -> Steps[Pair]:
    """Yield each result of the set *some* with its value as the tasks end, and the pauses in between; see `ResultSet.iter_native`."""
    missing = _checked(leaves(some.members()))
    patience, line = Patience(some.outlet, timeout) if missing else None, EarlierTasks(steps_before(some))
    while missing and patience is not None:
        ended = [(one, record) for one, record in _looked(some, missing, line) if has_ended(record)]
        for one, record in ended:
            yield one, one.reader.value_of(record, propagate)
        done = {one.id for one, _ in ended}
        missing = [one for one in missing if one.id not in done]
        if ended:
            patience.soon()
        elif missing:
            yield patience.rest(f"{len(missing)} of {len(some)} tasks did not end", missing[0].id)


def values_as_they_end(some: Any, timeout: float | None, propagate: bool) -> Steps[Any]:
    """Yield the values that `as_they_end` yields, without the results."""
    return (step if isinstance(step, PollPause) else step[1] for step in as_they_end(some, timeout, propagate))


def collected(result: Any, timeout: float | None) -> Steps[Pair]:
    """Wait for *result* and all of its descendants, and yield each with its value, parents first."""
    for one in following(result):
        value = yield from in_order(one, timeout, True) if is_set(one) else one.reader.gets(timeout)
        yield one, value


def _values(some: Any, patience: Patience, propagate: bool, callback: Callback | None) -> Waits[list[Any]]:
    """Return the values of the tasks; each is taken as soon as all before it have ended."""
    line, values = EarlierTasks(steps_before(some)), list[Any]()
    for run in _runs(leaves(some.members())):
        missing = _checked(run)
        while missing:
            before_now = len(missing)
            for one, record in _looked(some, missing, line):
                if not has_ended(record):
                    break
                values.append(one.reader.value_of(record, propagate))
                missing = missing[1:]
                if callback is not None:
                    callback(one.id, values[-1])
            if len(missing) < before_now:
                patience.soon()
            elif missing:
                waits_for = missing[0].id
                yield patience.rest(f"task {waits_for}, number {len(values)} of {len(some)}, and perhaps others did not end", waits_for)
    return values


def _looked(some: Any, results: Sequence[Any], line: EarlierTasks) -> list[tuple[Any, TaskRecord | None]]:
    """Return each of *results* with its record as far as there is one; with that of the step before when that failed."""
    try:
        found = look(some.outlet, [one.id for one in results], line)
    except Broken as broken:
        return [(one, broken.record) for one in results]
    return [(one, found.get(one.id)) for one in results]


def _checked(results: Iterable[Any]) -> list[Any]:
    found = list(results)
    for result in found:
        result.reader.check()
    return found


def _runs(results: Iterator[Any]) -> Iterator[list[Any]]:
    run: list[Any] = []
    for result in results:
        run.append(result)
        if len(run) == READ_AT_ONCE - 1:
            yield run
            run = []
    if run:
        yield run


def _nested(members: Iterable[Any], values: Iterator[Any]) -> list[Any]:
    """Return the *values* in the shape of *members*: a list for each set within."""
    return [_nested(one.members(), values) if is_set(one) else next(values) for one in members]
