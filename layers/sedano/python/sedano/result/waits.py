"""Waiting for results: how often the ledger is read, which keys are read, and when no result can follow any more.

A task that never runs, because an ancestor failed, has no record unless a caller is expected to wait for it (the end of a canvas). So a
wait for a task inside a canvas also reads its `EarlierTasks`: the tasks that must succeed before it can begin.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from math import isnan
from typing import Any, NamedTuple, NoReturn, Protocol, TypeVar, cast

from sedano import errors
from sedano.engine.canvas.chord_results import Gathering
from sedano.engine.registry import Registry
from sedano.errors import NoResult, OptionError, RemoteError, ResultTimeout, TaskRevoked
from sedano.model import states
from sedano.model.ledger.raised_errors import Raised, caused, restored
from sedano.model.ledger.records import ErrorRecord, TaskRecord
from sedano.ports import AWS_LOOKS, Clock, Ports

R = TypeVar("R")
T = TypeVar("T")

FIRST_PAUSE_S, MOST_PAUSE_S = AWS_LOOKS
"""The default pauses, for ports that name no others (`Ports.looks`)."""
GROWTH = 1.5
UNRUN: Mapping[str, type[TaskRevoked]] = {
    row.error_type: getattr(errors, row.error_type, TaskRevoked) for row in states.ROWS.values() if row.dependents == states.REVOKED
}
"""The errors of tasks that never ran because they, or tasks that they waited for, were revoked or expired; by the name in the record."""
READ_AT_ONCE = 100
"""The most records of one read."""


class ResultOutlet(Protocol):
    """The part of the outlet that a result needs."""

    @property
    def ports(self) -> Ports:
        """The ports."""

    @property
    def registry(self) -> Registry:
        """The tasks of the app."""

    @property
    def gathering(self) -> Gathering:
        """Reads values of records."""

    def before_waiting(self) -> None:
        """Raise if a task or an event loop is running here; send the messages of an open batch."""


class PollPause(NamedTuple):
    """A pause of *seconds* on *clock* between two reads. The caller makes it, by sleeping or on its event loop."""

    clock: Clock
    seconds: float


class Wanted(NamedTuple):
    """A request for the records of *ids*. The caller reads them, alone or together with other requests, and sends them into the wait."""

    outlet: ResultOutlet
    ids: Sequence[str]


Waits = Generator[PollPause | Wanted, Any, R]
"""A wait as a generator: it yields requests and pauses, and returns the result."""
Steps = Generator[PollPause | Wanted | T, Any, None]
"""Values as they arrive, and between them the requests for records and the pauses."""


def waited(steps: Waits[R]) -> R:
    """Return the final value of *steps*: read the requested records and sleep during the pauses."""
    answer = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as over:
            return cast("R", over.value)
        answer = taken(step)


def taken(step: PollPause | Wanted) -> dict[str, TaskRecord] | None:
    """Take this *step* of a wait on this thread; return the value to send into the wait."""
    if isinstance(step, Wanted):
        return read(step.outlet, step.ids)
    step.clock.sleep(step.seconds)
    return None


def must_be_id(given: object, name: str = "task_id") -> str:
    """Return the id that was *given* as *name*.

    Raises:
        OptionError: it is not an id.
    """
    if isinstance(given, str) and given:
        return given
    raise OptionError(f"{name}: {given!r} is not an id; give one as text, such as result.id")


def unended(task_id: str, record: TaskRecord | None) -> str:
    """Describe the state of the task *task_id*, which has not ended, by its *record*."""
    if record is None:
        return f"task {task_id} is {states.PENDING} and did not end"
    why = f" after {record.error.type_name}: {record.error.message}" if record.error is not None else ""
    return f"task {task_id} is {record.state}{why} and did not end"


UNSEEN = ": no worker has begun it, or nothing was published under this id"
"""The description of a task without a record."""


class Patience:
    """The pauses of one wait: short at first, then longer, and none after the caller's *timeout* (seconds; None: no limit)."""

    def __init__(self, outlet: ResultOutlet, timeout: float | None) -> None:
        """Begin to wait.

        Raises:
            OptionError: *timeout* is not a number of seconds.
        """
        given: object = timeout
        if given is not None and (not isinstance(given, int | float) or isinstance(given, bool) or isnan(given)):
            raise OptionError(f"timeout: {timeout!r} is not a number of seconds; give a number, or None to wait for ever")
        self._clock = outlet.ports.clock
        self._timeout = timeout
        self._until = None if timeout is None else self._clock.monotonic() + timeout
        self._looks = outlet.ports.looks
        self._pause = self._looks.first

    def rest(self, missing: str, task_id: str, why: str = "") -> PollPause:
        """Return the next pause. When no time is left, raise `ResultTimeout` with what is *missing*, its *task_id*, and *why*."""
        if self._until is not None and self._clock.monotonic() >= self._until:
            raise ResultTimeout(f"{missing} within {self._timeout} s{why}; app.control.explain({task_id!r}) shows why")
        seconds = self._pause if self._until is None else max(0.0, min(self._pause, self._until - self._clock.monotonic()))
        self._pause = min(self._looks.most, self._pause * GROWTH)
        return PollPause(self._clock, seconds)

    def soon(self) -> None:
        """Start again with short pauses, because a task has ended."""
        self._pause = self._looks.first


class EarlierTasks:
    """The tasks that must succeed before another can begin, the earliest first. A task that has succeeded is not read again.

    Usually this reads one more key; it reads more if the wait begins late, or if many tasks end between two reads.
    """

    def __init__(self, ids: Sequence[str]) -> None:
        """Watch the tasks *ids*."""
        self._ids = ids
        self._at = 0
        self._stride = 1

    def ahead(self) -> Sequence[str]:
        """Return the ids whose records are to be read now."""
        return self._ids[self._at : self._at + self._stride]

    def learn(self, records: Mapping[str, TaskRecord]) -> bool:
        """Note the *records* of the tasks ahead; return whether reading again now can show more.

        Raises:
            Broken: one of these tasks ended without success, so the tasks after it never run.
        """
        at = self._at  # counted from here, for another thread may wait for the same task and learn the same
        ahead = self._ids[at : at + self._stride]
        for number, task_id in enumerate(ahead, at + 1):
            record = records.get(task_id)
            if record is None or record.state not in states.TERMINAL:
                self._stride = 1
                return False
            if record.state != states.SUCCESS:
                raise Broken(record)
            self._at = max(self._at, number)
        self._stride = min(READ_AT_ONCE // 2, self._stride * 2)
        return bool(ahead) and self._at < len(self._ids)


class Broken(Exception):
    """A task of a line ended without success, as *record* says."""

    def __init__(self, record: TaskRecord) -> None:
        """Hold the record of the task that failed."""
        super().__init__(record.task_id)
        self.record = record


def look(outlet: ResultOutlet, ids: Sequence[str], line: EarlierTasks) -> dict[str, TaskRecord]:
    """Return the records of *ids*, and read as far along *line* as tasks have ended.

    Raises:
        Broken: the line is broken, and none of *ids* has a record.
    """
    return waited(looks(outlet, ids, line))


def looks(outlet: ResultOutlet, ids: Sequence[str], line: EarlierTasks) -> Waits[dict[str, TaskRecord]]:
    """Do the same as `look`; the caller reads the records."""
    found: dict[str, TaskRecord] = dict((yield Wanted(outlet, [*ids, *line.ahead()])))
    try:
        while line.learn(found):
            found |= yield Wanted(outlet, line.ahead())
    except Broken:
        if not any(task_id in found for task_id in ids):
            raise
    return {task_id: found[task_id] for task_id in ids if task_id in found}


def read(outlet: ResultOutlet, ids: Sequence[str]) -> dict[str, TaskRecord]:
    """Return the records of *ids*, a hundred per call."""
    found: dict[str, TaskRecord] = {}
    for some in in_hundreds(ids):
        found |= outlet.ports.ledger.read(some)
    return found


def in_hundreds(ids: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yield *ids* in groups that one call can read."""
    return (ids[start : start + READ_AT_ONCE] for start in range(0, len(ids), READ_AT_ONCE))


def has_ended(record: TaskRecord | None) -> bool:
    """Return whether the task of *record* ended."""
    return record is not None and record.state in states.TERMINAL


def error_of(record: TaskRecord, outlet: ResultOutlet) -> Exception | None:
    """Return the error of the ended task of *record*, an exception of the app's own (`Sedano(raises=)`) if it names the class; None if the
    task succeeded.

    Raises:
        NoResult: its result was forgotten.
    """
    if record.forgotten:
        _refuse(record, "its result was forgotten")
    error = record.error
    if error is not None and error.type_name not in UNRUN:
        raised = RemoteError(error.type_name, error.message, error.traceback, error.cause or record.task_id)
        if error.notes:
            raised.add_note(error.notes)
        return raised if not error.raised else _own(raised, error, outlet.registry.raises)
    if error is not None:
        return UNRUN[error.type_name](error.message)
    if record.state == states.REVOKED:
        return TaskRevoked(f"task {record.task_id} was revoked before it ran")
    return None


def _own(remote: RemoteError, error: ErrorRecord, classes: Raised) -> Exception:
    """Return the exception that *error* records, caused by *remote*; *remote* itself if the app does not name its class."""
    found = restored(error, classes)
    return remote if found is None else caused(found, remote, error.notes)


def value_of(outlet: ResultOutlet, record: TaskRecord) -> Any:
    """Return the value of the succeeded task of *record*, restored by the task's annotation where this app knows the task.

    Raises:
        NoResult: the task kept no result.
    """
    if record.result is None and record.result_ref is None:
        _refuse(record, "it keeps no result (ignore_result)")
    value, task = outlet.gathering.value(record), outlet.registry.tasks.get(record.name)
    return value if task is None else task.parameters.returns.restored(value)


def _refuse(record: TaskRecord, why: str) -> NoReturn:
    raise NoResult(f"task {record.task_id} ended as {record.state}, but {why}")
