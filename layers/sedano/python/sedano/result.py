"""The result of a published task: a handle that reads the ledger when asked, and costs nothing until then."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar, cast

from sedano.engine.gathering import Gathering
from sedano.errors import NoResult, RemoteError, ResultTimeout, TaskRevoked
from sedano.model import states
from sedano.model.messages import Document
from sedano.model.records import TaskRecord
from sedano.ports import Ports

R = TypeVar("R")
FIRST_PAUSE_S, MOST_PAUSE_S, GROWTH = 0.05, 2.0, 1.5
READ_AT_ONCE = 100


class Reads(Protocol):
    """What a result needs of the way out."""

    @property
    def ports(self) -> Ports:
        """The ports."""

    @property
    def gathering(self) -> Gathering:
        """Reads values of records."""

    def before_waiting(self) -> None:
        """Raise when a task is running here; send what an open batch holds."""


class AsyncResult(Generic[R]):
    """The result of one task."""

    def __init__(self, outlet: Reads, task_id: str, *, keeps: bool = True, parent: GroupResult | None = None) -> None:
        """Refer to the task *task_id*; *keeps*: the task keeps a result; *parent*: the header of the chord whose body it is."""
        self.id = task_id
        self.parent = parent
        self.outlet = outlet
        self._keeps = keeps

    def __repr__(self) -> str:
        """Name the task."""
        return f"<AsyncResult {self.id}>"

    @property
    def state(self) -> str:
        """The task's state now; PENDING also when nothing is known of it (publishing writes nothing)."""
        record = self.record()
        return record.state if record is not None else states.PENDING

    def record(self) -> TaskRecord | None:
        """Return what the ledger holds about the task now."""
        return self.outlet.ports.ledger.read([self.id]).get(self.id)

    def ready(self) -> bool:
        """Tell whether the task ended."""
        return self.state in states.TERMINAL

    def successful(self) -> bool:
        """Tell whether the task ended well."""
        return self.state == states.SUCCESS

    def wait(self, timeout: float | None = None) -> TaskRecord:
        """Wait until the task ended and return its record.

        Args:
            timeout: seconds to wait at most; None waits for ever.

        Raises:
            ResultTimeout: it did not end in time.
            NoResult: the task keeps no record to wait for.
            WaitInsideTask: a task is running here.
        """
        self.check()
        clock = self.outlet.ports.clock
        until = None if timeout is None else clock.monotonic() + timeout
        for pause in _pauses():
            record = self.record()
            if record is not None and record.state in states.TERMINAL:
                return record
            if until is not None and clock.monotonic() >= until:
                raise ResultTimeout(f"task {self.id} did not end within {timeout} s; it is {record.state if record else states.PENDING}")
            clock.sleep(pause if until is None else max(0.0, min(pause, until - clock.monotonic())))
        raise AssertionError("the pauses never end")

    def get(self, timeout: float | None = None, propagate: bool = True) -> R:
        """Wait for the task and return its value.

        Args:
            timeout: seconds to wait at most; None waits for ever.
            propagate: raise what the task raised; otherwise return it.

        Raises:
            RemoteError: the task failed; the type's name, message and traceback are data.
            TaskRevoked: it was revoked or expired before it ran.
            ResultTimeout, NoResult, WaitInsideTask: see `wait`.
        """
        return self.value_of(self.wait(timeout), propagate)

    def __await__(self) -> Generator[Any, None, R]:
        """Wait for the task without blocking the event loop."""
        self.check()
        sleep = importlib.import_module("asyncio").to_thread
        return self._awaited(sleep).__await__()

    def document(self) -> Document | None:
        """Return the result as a Document message, or None while the task has not ended."""
        record = self.record()
        if record is None or record.state not in states.TERMINAL:
            return None
        error = (record.error.type_name, record.error.message, record.error.traceback) if record.error else None
        value = self.outlet.gathering.value(record) if record.state == states.SUCCESS else None
        now = self.outlet.ports.clock.now()
        return Document(record.message_id, self.id, record.name, "ledger", now, record.clock, record.state, value, error)

    def forget(self) -> None:
        """Drop the stored result; the record itself stays until it ages out, so that a late copy of the message is still recognised."""
        self.outlet.ports.ledger.forget([self.id])

    def check(self) -> None:
        """Raise when there is nothing to wait for, or when waiting here would deadlock (`NoResult`, `WaitInsideTask`)."""
        if not self._keeps:
            raise NoResult(f"task {self.id} was published with ignore_result: there is nothing to wait for")
        self.outlet.before_waiting()

    async def _awaited(self, in_thread: Callable[..., Any]) -> R:
        value: R = await in_thread(self.get)
        return value

    def value_of(self, record: TaskRecord, propagate: bool = True) -> R:
        """Return the value that the terminal *record* holds; raise (or return) its error."""
        error: Exception | None = None
        if record.error is not None:
            error = RemoteError(record.error.type_name, record.error.message, record.error.traceback)
        elif record.state == states.REVOKED:
            error = TaskRevoked(f"task {self.id} was revoked or expired before it ran")
        if error is None:
            value: R = self.outlet.gathering.value(record)
            return value
        if propagate:
            raise error
        return cast("R", error)


class GroupResult:
    """The results of a group, in order; reads a hundred at a time."""

    def __init__(self, results: Sequence[AsyncResult[Any]]) -> None:
        """Hold *results*."""
        self.results = tuple(results)

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self.results)

    def __iter__(self) -> Iterator[AsyncResult[Any]]:
        """Yield the members' results."""
        return iter(self.results)

    def completed_count(self) -> int:
        """Return how many members ended."""
        return sum(record.state in states.TERMINAL for record in self._records(self.results).values())

    def ready(self) -> bool:
        """Tell whether every member ended."""
        return self.completed_count() == len({r.id for r in self.results})

    def get(self, timeout: float | None = None, propagate: bool = True) -> list[Any]:
        """Wait for all members and return their values in order; see `AsyncResult.get`."""
        if not self.results:
            return []
        outlet = self.results[0].outlet
        for result in self.results:
            result.check()
        until = None if timeout is None else outlet.ports.clock.monotonic() + timeout
        ended: dict[str, TaskRecord] = {}
        for pause in _pauses():
            missing = [r for r in self.results if r.id not in ended]
            ended |= {i: r for i, r in self._records(missing).items() if r.state in states.TERMINAL}
            if all(r.id in ended for r in self.results):
                return [r.value_of(ended[r.id], propagate) for r in self.results]
            if until is not None and outlet.ports.clock.monotonic() >= until:
                raise ResultTimeout(f"{len(missing)} of {len(self.results)} tasks did not end within {timeout} s")
            outlet.ports.clock.sleep(pause)
        raise AssertionError("the pauses never end")

    def _records(self, results: Sequence[AsyncResult[Any]]) -> dict[str, TaskRecord]:
        found: dict[str, TaskRecord] = {}
        ids = [r.id for r in results]
        for start in range(0, len(ids), READ_AT_ONCE):
            found |= results[0].outlet.ports.ledger.read(ids[start : start + READ_AT_ONCE])
        return found


def _pauses() -> Iterator[float]:
    pause = FIRST_PAUSE_S
    while True:
        yield pause
        pause = min(MOST_PAUSE_S, pause * GROWTH)
