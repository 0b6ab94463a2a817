"""The results of several tasks, with Celery's names.

Records of many tasks are read in order, a hundred per call, and no more than needed: the first hundred missing ones, not all.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, Generic, Literal, overload

from sedano.errors import OptionError, SedanoError
from sedano.model.ledger.records import TaskRecord
from sedano.result import late_imports as later
from sedano.result.async_result import Answers, AsyncResult, V_co
from sedano.result.iteration import Coming, as_they_end, in_order, values_as_they_end
from sedano.result.large_groups import Derived
from sedano.result.result_tree import Progress, before, counted, forget_all, ids_of, leaves, read_anew, revoke_all, steps_before
from sedano.result.waits import Broken, EarlierTasks, ResultOutlet, error_of, has_ended, in_hundreds, look, read, waited


class ResultSet(Generic[V_co]):
    """Results of any tasks, each once, in the order in which they were added."""

    join_id: str | None = None
    """The join at which the tasks arrive, when they do."""
    parent: Any = None
    launch: Any = None

    def __init__(self, results: Iterable[Answers[V_co]] = ()) -> None:
        """Hold *results*.

        Raises:
            OptionError: one of them is not a result, such as an id.
        """
        self.results: Sequence[Any] = [_result(one) for one in results]

    def __repr__(self) -> str:
        """Return the number of results."""
        return f"<{type(self).__name__} of {len(self.results)}>"

    def __len__(self) -> int:
        """Return the number of results."""
        return len(self.results)

    def __iter__(self) -> Iterator[Any]:
        """Yield the results."""
        return iter(self.results)

    def __getitem__(self, at: int) -> Any:
        """Return the result at this place."""
        return self.results[at]

    def __eq__(self, other: object) -> bool:
        """Two sets of the same results, in the same order, are equal."""
        return self.ids() == other.ids() if isinstance(other, ResultSet) else NotImplemented

    def __hash__(self) -> int:
        """Return the hash of the first task, because equal sets must have equal hashes; so do not change a set that is a key of a dict."""
        first = next(leaves(self.members()), None)
        return hash(first.id if first is not None else None)

    def add(self, result: Any) -> None:
        """Add *result*, unless it is there already."""
        if _result(result) not in self.results:
            self.results = [*self.results, result]

    def update(self, results: Iterable[Any]) -> None:
        """Add those of *results* that are not there already."""
        self.results = list(dict.fromkeys([*self.results, *map(_result, results)]))

    def discard(self, result: Any) -> None:
        """Remove *result* if the set contains it."""
        self.results = [one for one in self.results if one != result]

    def remove(self, result: Any) -> None:
        """Remove *result*; raise `KeyError` if the set does not contain it."""
        if result not in self.results:
            raise KeyError(result)
        self.discard(result)

    def clear(self) -> None:
        """Remove all results."""
        self.results = []

    def members(self) -> Sequence[Any]:
        """Return its results."""
        return self.results

    def ids(self) -> list[str]:
        """Return the ids of all tasks, also of those in groups within."""
        found = self.results
        return [found.id_of(n) for n in range(len(found))] if isinstance(found, Derived) else ids_of(found)

    def progress(self) -> Progress:
        """Return how many of the tasks have ended, how many of those without success, and how many there are.

        For a group that another step follows, this reads its join (one item for 128 members); for others, the records of the tasks.
        """
        return counted(self.outlet, [self]) if next(leaves(self.members()), None) is not None else Progress(0, 0, 0)

    def completed_count(self) -> int:
        """Return how many tasks have succeeded."""
        progress = self.progress()
        return progress.done - progress.failed

    def ready(self) -> bool:
        """Return whether every task ended, or never runs."""
        progress = self.progress()
        if not progress.total:
            return self.launch is None or bool(self.launch.ready())
        return progress.done == progress.total or self._broken() is not None

    def successful(self) -> bool:
        """Return whether every task succeeded."""
        return self.completed_count() == self.progress().total

    def failed(self) -> bool:
        """Return whether a task ended without success, or never runs."""
        return self.progress().failed > 0 or self._broken() is not None

    def waiting(self) -> bool:
        """Return whether a task has not ended yet."""
        return not self.ready()

    @overload
    def get(
        self, timeout: float | None = ..., propagate: Literal[True] = ..., callback: Callable[[str, Any], Any] | None = ...
    ) -> list[V_co]: ...

    @overload
    def get(
        self, timeout: float | None, propagate: bool, callback: Callable[[str, Any], Any] | None = ...
    ) -> list[V_co | Exception]: ...

    @overload
    def get(
        self, timeout: float | None = ..., *, propagate: bool, callback: Callable[[str, Any], Any] | None = ...
    ) -> list[V_co | Exception]: ...

    def get(self, timeout: float | None = None, propagate: bool = True, callback: Callable[[str, Any], Any] | None = None) -> list[Any]:
        """Wait for all tasks and return their values in order; those of a group within as a list.

        Args:
            timeout: seconds to wait at most, for all together; None waits for ever.
            propagate: raise the error of the first failed task in order; False returns errors among the values.
            callback: called with each task's id and its value, in order.

        Raises:
            RemoteError, TaskRevoked, ResultTimeout, NoResult, WaitInsideTask, WaitInsideLoop: see `AsyncResult.get`.
        """
        return waited(in_order(self, timeout, propagate, callback))

    join = get
    join_native = get

    @overload
    def iterate(self, timeout: float | None = ..., propagate: Literal[True] = ...) -> Coming[V_co]: ...

    @overload
    def iterate(self, timeout: float | None, propagate: bool) -> Coming[V_co | Exception]: ...

    @overload
    def iterate(self, timeout: float | None = ..., *, propagate: bool) -> Coming[V_co | Exception]: ...

    def iterate(self, timeout: float | None = None, propagate: bool = True) -> Coming[Any]:
        """Yield the values in the order in which the tasks end; see `get`. Use ``async for`` on an event loop."""
        return Coming(values_as_they_end(self, timeout, propagate))

    def iter_native(self, timeout: float | None = None, propagate: bool = False) -> Coming[tuple[Any, V_co | Exception]]:
        """Yield each result with its value (its error, if it failed) in the order in which the tasks end; see `iterate`."""
        return Coming(as_they_end(self, timeout, propagate))

    def maybe_throw(self) -> None:
        """Raise the error of the first task in order that has failed so far."""
        for some in in_hundreds(list(leaves(self.members()))):
            found = read(self.outlet, [one.id for one in some])
            for one in some:
                if has_ended(found.get(one.id)) and (error := error_of(found[one.id], self.outlet)) is not None:
                    raise error

    maybe_reraise = maybe_throw

    def revoke(self, *, terminate: bool = False, canvas: bool = False) -> None:
        """Revoke all tasks that have not ended; see `AsyncResult.revoke`."""
        some = [*(before(self) if canvas else ()), self]
        if (outlet := _published_at(some)) is not None:
            revoke_all(outlet, some, terminate=terminate)

    def forget(self) -> None:
        """Delete the stored results; see `AsyncResult.forget`."""
        some = [*before(self), self]
        if (outlet := _published_at(some)) is not None:
            forget_all(outlet, some)

    def forgotten(self) -> None:
        """Let the existing results read their records again."""
        if not isinstance(self.results, Derived):
            for result in self.results:
                read_anew(result)

    def __await__(self) -> Generator[Any, None, list[V_co]]:
        """Wait for all tasks without blocking the event loop."""
        return later.awaited(in_order(self, None, True))

    @property
    def outlet(self) -> ResultOutlet:
        """Where the tasks were published."""
        outlet = _published_at([self])
        if outlet is None:
            raise SedanoError("a set without results has nothing to read")
        return outlet

    def _broken(self) -> TaskRecord | None:
        """Return the record of the step before that failed, so that no task of this set runs."""
        if self.parent is None and self.launch is None:
            return None
        try:
            look(self.outlet, [], EarlierTasks(steps_before(self)))
        except Broken as broken:
            return broken.record
        return None


def _result(given: Any) -> Any:
    """Return the result that was *given*; raise `OptionError` when it is none."""
    if not isinstance(given, AsyncResult | ResultSet):
        raise OptionError(f"results: {given!r} is not a result; give the value of delay(), or app.result(id)")
    return given


def _published_at(some: Iterable[Any]) -> ResultOutlet | None:
    """Return where tasks of *some* results were published; None when there is no task among them."""
    for one in some:
        if not isinstance(one, ResultSet):
            first = one
        elif isinstance(one.results, Derived):
            return one.results.outlet
        else:
            first = one.launch or next(leaves(one.results), None)
        if first is not None:
            outlet: ResultOutlet = first.outlet
            return outlet
    return None
