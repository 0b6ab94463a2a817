"""The result of one task: a handle that reads the ledger only when it is used, with Celery's names."""

from __future__ import annotations

import typing
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, overload

from sedano.errors.hints import Hinting
from sedano.model import states
from sedano.model.ledger.records import TaskRecord
from sedano.model.messages.message import Document
from sedano.result import late_imports as later
from sedano.result.iteration import Coming, collected
from sedano.result.record_reader import RecordReader
from sedano.result.result_tree import Progress, before, counted, forget_all, revoke_all
from sedano.result.waits import ResultOutlet, must_be_id, waited

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # type checkers know it; nothing is installed

    V_co = TypeVar("V_co", covariant=True, default=Any)
else:
    V_co = typing.TypeVar("V_co", covariant=True)
R_co = typing.TypeVar("R_co", covariant=True)


class Answers(Protocol[R_co]):
    """A result whose `get` returns an R_co: that of a task, or the list of a group."""

    def get(self, timeout: float | None = None) -> R_co:
        """Wait for it and return its value."""


class AsyncResult(Hinting, Generic[R_co]):
    """The result of one task. The record of an ended task never changes, so it is read once and kept."""

    __slots__ = (
        "_parent", "_reader", "_root_id", "beside", "followers", "group_id", "id", "keeps", "keyed", "launch", "name", "outlet",
    )  # fmt: skip

    def __init__(
        self, outlet: ResultOutlet, task_id: str, *, keeps: bool = True, parent: Any = None, group_id: str | None = None,
        root_id: str | None = None, name: str = "", follows: bool = True, launch: AsyncResult[Any] | None = None,
        keyed: str = "",
    ) -> None:  # fmt: skip
        """Refer to the task *task_id*.

        Args:
            outlet: where it was published.
            task_id: its id.
            keeps: whether the task keeps a result.
            parent: the result that it waits for: the step before it in a chain, or the header of the chord whose body it is.
            group_id: the group that it is a member of.
            root_id: the first task of the canvas; by default the parent's root, or the task itself.
            name: the task's name, as far as it is known here.
            follows: add it to the children of its parent.
            launch: the command that publishes it with the rest of its group, when a worker does that.
            keyed: the digest of its arguments, if a deduplication key binds them (`sedano.model.ledger.dedup_keys`).

        Raises:
            OptionError: *task_id* is not an id.
        """
        self.id, self.group_id, self.name, self.outlet, self.launch = must_be_id(task_id), group_id, name, outlet, launch
        self.keyed = keyed
        self.followers: list[Any] = []
        self.beside: list[Any] = []
        self.keeps, self._root_id = keeps, root_id
        self._reader: RecordReader | None = None
        self._parent = parent
        if parent is not None and follows:
            parent.followers.append(self)

    def __repr__(self) -> str:
        """Name the task."""
        return f"<AsyncResult {self.id}>"

    def __eq__(self, other: object) -> bool:
        """Two results of one task are equal."""
        return self.id == other.id if isinstance(other, AsyncResult) else NotImplemented

    def __hash__(self) -> int:
        """Return the hash of the id."""
        return hash(self.id)

    @property
    def reader(self) -> RecordReader:
        """The reader of the task's record, which keeps it when the task has ended; for the library's own waits."""
        if self._reader is None:
            self._reader = RecordReader(self)
        return self._reader

    @property
    def task_id(self) -> str:
        """The task's id."""
        return self.id

    @property
    def parent(self) -> Any:
        """The result that it waits for, or None."""
        return self._parent

    @parent.setter
    def parent(self, parent: Any) -> None:
        self._parent = parent
        if self._reader is not None:
            self._reader.look_behind_another()
        if parent is not None:
            parent.followers.append(self)

    @property
    def root_id(self) -> str:
        """The id of the first task of the canvas, as far as this handle knows."""
        before = self.parent or self.launch
        return self._root_id or (before.root_id if before is not None else self.id)

    @property
    def parent_id(self) -> str | None:
        """The id of the task that published it: the step before it, or the launch of its group or header, which has that group's id."""
        within = self.parent is not None and self.parent.launch is self.launch
        before = self.parent if within or self.launch is None else self.launch
        return before.id if before is not None else None

    @property
    def children(self) -> list[Any]:
        """Its children: the next steps of its canvas and, once it has ended, the tasks that it published while it ran."""
        return [*self.followers, *later.published(self)]

    @property
    def forks(self) -> list[Any]:
        """The results of the side branches of the canvas up to this task, in order: no task waits for them; a caller may."""
        return [fork for one in [*before(self), self] for fork in one.beside]

    @property
    def state(self) -> str:
        """The current state of the task. Also PENDING if the task has no record, because publishing writes none.

        FAILURE if it never runs, because a task that it waits for did not succeed. While its body runs, the state that the body shows
        (`TaskContext.update_state`).
        """
        record = self.reader.look()
        if record is None:
            return states.PENDING
        shown = later.custom_state(record) if record.custom else None
        if shown is not None:
            return shown.state
        return record.state if record.task_id == self.id else states.FAILURE

    status = state

    @property
    def result(self) -> Any:
        """The task's value when it succeeded, the exception when it did not, None while it has not ended."""
        record = self.reader.ended()
        return self.reader.value_of(record, propagate=False) if record is not None else None

    @property
    def info(self) -> Any:
        """The values that the running body shows with its state (`TaskContext.update_state`); otherwise the same as `result`."""
        record = self.reader.look()
        shown = later.custom_state(record) if record is not None and record.custom else None
        return shown.meta if shown is not None else self.result

    @property
    def traceback(self) -> str | None:
        """The text of the traceback when it failed."""
        record = self.reader.ended()
        return record.error.traceback if record is not None and record.error is not None else None

    @property
    def retries(self) -> int | None:
        """How often it was retried so far; None if the task has no record."""
        record = self.record()
        return record.attempt if record is not None else None

    def record(self) -> TaskRecord | None:
        """Return the task's current record."""
        return self.reader.record()

    def ready(self) -> bool:
        """Return whether the task has ended, or will never run."""
        return self.reader.ended() is not None

    def successful(self) -> bool:
        """Return whether the task succeeded."""
        return self.state == states.SUCCESS

    def failed(self) -> bool:
        """Return whether the task ended without success, for any reason, or will never run."""
        record = self.reader.ended()
        return record is not None and record.state != states.SUCCESS

    def waiting(self) -> bool:
        """Return whether the task has not ended yet."""
        return not self.ready()

    def wait(self, timeout: float | None = None) -> TaskRecord:
        """Wait until the task has ended and return its record. If an ancestor failed, so that it never runs, return the ancestor's record.

        Args:
            timeout: seconds to wait at most; None waits for ever.

        Raises:
            ResultTimeout: it did not end in time.
            NoResult: the task keeps no record to wait for.
            WaitInsideTask, WaitInsideLoop: a task, or an event loop, is running here.
        """
        return waited(self.reader.waits(timeout))

    @overload
    def get(
        self, timeout: float | None = ..., propagate: Literal[True] = ..., callback: Callable[[str, Any], Any] | None = ...
    ) -> R_co: ...

    @overload
    def get(self, timeout: float | None, propagate: bool, callback: Callable[[str, Any], Any] | None = ...) -> R_co | Exception: ...

    @overload
    def get(
        self, timeout: float | None = ..., *, propagate: bool, callback: Callable[[str, Any], Any] | None = ...
    ) -> R_co | Exception: ...

    def get(self, timeout: float | None = None, propagate: bool = True, callback: Callable[[str, Any], Any] | None = None) -> Any:
        """Wait for the task and return its value.

        Args:
            timeout: seconds to wait at most; None waits for ever.
            propagate: raise the error of the task, or of the ancestor that kept it from running; False returns the error instead.
            callback: called with the task's id and its value.

        Raises:
            RemoteError: the task failed; the type's name, message and traceback are data.
            TaskRevoked: it was revoked before it ran; `TaskExpired`, which is one, when it expired.
            KeyReused: its deduplication key was used before with other arguments, so this call has not run.
            NoResult: the task keeps no result, or its result was forgotten.
            ResultTimeout, WaitInsideTask, WaitInsideLoop: see `wait`.
        """
        value = waited(self.reader.gets(timeout, propagate))
        if callback is not None:
            callback(self.id, value)
        return value

    def maybe_throw(self) -> Any:
        """Raise the task's error if it failed; return its value if it succeeded, or None while it has not ended."""
        value = self.result
        if isinstance(value, Exception) and self.failed():
            raise value
        return value

    def __await__(self) -> Generator[Any, None, R_co]:
        """Wait for the task without blocking the event loop; with a limit ``await asyncio.wait_for(result, 10)``."""
        return later.awaited(self.reader.gets())

    @property
    def graph(self) -> Any:
        """The tasks of the same canvas and their dependencies: `graph.edges`, `graph.to_mermaid()`."""
        return later.graph_of(self)

    def collect(self, timeout: float | None = None) -> Coming[tuple[Any, Any]]:
        """Wait for this task and all of its descendants, and yield each result with its value, parents first (Celery's `collect`).

        Use ``async for`` on an event loop.

        Args:
            timeout: seconds to wait at most for each.
        """
        return Coming(collected(self, timeout))

    def progress(self) -> Progress:
        """Return how many tasks of the canvas up to this one have ended, how many of those without success, and how many there are."""
        return counted(self.outlet, [*before(self), self])

    def revoke(self, *, terminate: bool = False, canvas: bool = False) -> None:
        """Revoke the task, so that it does not run. A running task is marked; see `Control.revoke`.

        Args:
            terminate: `TaskRevoked` is raised in a running body at its next `current().check()`.
            canvas: also revoke all tasks that it waits for, so that the canvas that ends with this task stops.

        Raises:
            Unavailable: the ledger did not answer; revoking again is safe.
        """
        revoke_all(self.outlet, [*(before(self) if canvas else ()), self], terminate=terminate)

    def forget(self) -> None:
        """Delete the stored result and those of all tasks that it waited for. The records stay until they expire, so that a late copy of a
        message is still recognised.
        """
        forget_all(self.outlet, [*before(self), self])

    def document(self) -> Document | None:
        """Return the result as a Document message, with the id that its sinks know it by; None while the task has not ended."""
        found: Document | None = later.document(self)
        return found
