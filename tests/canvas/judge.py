"""What happened to a canvas against what it means: results, ended tasks, error callbacks, stamps. Every complaint is a line of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sedano.errors import NoResult, RemoteError, ResultTimeout, SedanoError, TaskRevoked
from sedano.model import refusals, states
from sedano.model.ledger.records import TaskRecord
from sedano.model.messages import codec
from sedano.model.messages.message import MAP, MAP_ASYNC
from tests.canvas.meaning import ENDED, FAILED, Failure, Meaning, plain
from tests.canvas.workshop import Run

BUILT_IN = "sedano."
RAISES = {"ignored": "Ignore", "rejected": "Reject"}
"""The types of what tasks raise, by their kind; the others raise Boom."""
PATIENCE_S = 1.0


def complaints(
    meaning: Meaning, result: Any, records: Mapping[str, TaskRecord], runs: Sequence[Run], parked: Sequence[str], *, exactly: bool
) -> list[str]:
    """Return everything in which a world that has come to rest is not what *meaning* says.

    Args:
        meaning: of the canvas.
        result: of the canvas; reading it needs no more work by anybody.
        records: of all tasks, by id.
        runs: the bodies that began.
        parked: the reasons of the messages that were set aside; those of tasks that came too late and of those that reject theirs are.
        exactly: nothing was repeated, so a body began as often as it had to and never more often.
    """
    found = [f"{task_id} ({r.name}) is {r.state}" for task_id, r in records.items() if r.state not in states.TERMINAL]
    found += [f"parked: {reason}" for reason in parked if reason not in (refusals.EXPIRED, refusals.REJECTED)]
    rejected = sum(times for (name, value), times in meaning.effects.items() if value == FAILED and kind_of(name) == "rejected")
    if parked.count(refusals.REJECTED) < rejected or (exactly and parked.count(refusals.REJECTED) > rejected):
        found.append(f"{parked.count(refusals.REJECTED)} rejected messages were set aside, of {rejected}")
    found += _differences("effects", meaning.effects, _effects(records))
    found += _differences("calls", meaning.calls, _calls(records))
    found += _answer(meaning, result)
    found += [f"{name} lacks the stamps {lacking}" for name, lacking in _unstamped(meaning, runs)]
    found += _strange(meaning, records)
    if exactly:
        began = Counter(run.name for run in runs if "errback" not in run.name)
        found += _differences("runs", meaning.runs, began)
    return found


def complaints_when_revoked(meaning: Meaning, result: Any, records: Mapping[str, TaskRecord], parked: Sequence[str]) -> list[str]:
    """Return everything in which a world in which the canvas of *result* was revoked while it ran has come to a wrong rest.

    What had ended stays, what is left ends as revoked or because of that, nothing else ends or runs that would not have, and whoever waits
    gets an answer: the value, if the end of the canvas had come, or an error.
    """
    found = [f"{task_id} ({r.name}) is {r.state}" for task_id, r in records.items() if r.state not in states.TERMINAL]
    found += [f"parked: {reason}" for reason in parked if reason not in (refusals.EXPIRED, refusals.REJECTED)]
    own = {key: times for key, times in _effects(records).items() if not _was_revoked(key, records)}
    wanted = Counter[str]()
    for (name, _), times in meaning.effects.items():
        wanted[name] += times
    ended = Counter[str]()
    for (name, _), times in own.items():
        ended[name] += times
    found += [f"{name} ended {times} times more than it would have" for name, times in (ended - wanted).items()]
    failing = {name for name, value in meaning.effects if value == FAILED}
    found += [f"{name} failed by itself, where it would not have" for name, value in own if value == FAILED and name not in failing]
    called = Counter(call for call in _calls(records).elements() if call[1])
    found += [f"{call} was called {times} times" for call, times in called.items() if times > max(1, meaning.calls[call])]
    try:
        if result is not None:
            result.get(timeout=PATIENCE_S)
    except ResultTimeout as endless:
        found.append(f"nobody answers: {endless}")
    except SedanoError:
        pass
    return found


def unowned(meaning: Meaning, owned: Mapping[str, str], records: Mapping[str, TaskRecord], runs: Sequence[Run]) -> list[str]:
    """Return in what the ids that users gave (*owned*, by the names of the tasks) do not tell how those tasks ended."""
    strangers = [run for run in runs if owned.get(run.name, run.task_id) != run.task_id]
    found = [f"{run.name} ran as {run.task_id} instead of {owned[run.name]}" for run in strangers]
    for name, task_id in owned.items():
        values = {value for (other, value) in meaning.effects if other == name}
        state = records[task_id].state if task_id in records else states.PENDING
        if values and (state == states.SUCCESS) != (FAILED not in values):
            found.append(f"{task_id} is {state} where {name} ended as {values}")
    return found


def _was_revoked(effect: tuple[str, str], records: Mapping[str, TaskRecord]) -> bool:
    return effect[1] == FAILED and any(r.state in (states.REVOKED, states.EXPIRED) for r in records.values() if _name(r) == effect[0])


def _effects(records: Mapping[str, TaskRecord]) -> Counter[tuple[str, str]]:
    """Return the tasks that ended by themselves: those that only ended because of another one are not among them."""
    found: Counter[tuple[str, str]] = Counter()
    for task_id, record in records.items():
        name = _name(record)
        if not name or "errback" in name:
            continue
        if record.state == states.SUCCESS:
            found[name, ENDED if kind_of(name) == "quiet" else str(codec.decode_value(record.result or "null"))] += 1
        elif record.error is None or record.error.cause in ("", task_id):
            found[name, FAILED] += 1
    return found


def _calls(records: Mapping[str, TaskRecord]) -> Counter[tuple[str, str | None]]:
    found: Counter[tuple[str, str | None]] = Counter()
    for record in records.values():
        if "errback" in record.name:
            about = codec.decode_value(record.result or "null") if record.state == states.SUCCESS else record.state
            found[record.name, None if about is None else _name_of(about, records)] += 1
    return found


def _name_of(task_id: str, records: Mapping[str, TaskRecord]) -> str:
    return _name(records[task_id]) if task_id in records else f"nobody ({task_id})"


def _name(record: TaskRecord) -> str:
    """Return the name of the task that *record* is of: that which was mapped, if any was, and none for what sedano adds."""
    if not record.name.startswith(BUILT_IN):
        return record.name
    if record.state == states.SUCCESS and record.name in (MAP, MAP_ASYNC):
        return str(codec.decode_value(record.result or "null")[0]).partition(":")[0]
    mine = record.error is not None and record.error.cause in ("", record.task_id) and record.name in (MAP, MAP_ASYNC)
    return record.error.message if mine and record.error is not None else ""


def _answer(meaning: Meaning, result: Any) -> Iterator[str]:
    """Yield in what the answer that the user gets differs; also of every step before the last one: it must be an answer.

    Nobody holds the result (None) of a canvas whose publisher died.
    """
    if result is None:
        return
    yield from _one_answer("result", meaning, lambda: result.get(timeout=PATIENCE_S))
    step = result
    while (step := step.parent) is not None:
        try:
            step.get(timeout=PATIENCE_S)
        except ResultTimeout as endless:
            yield f"{step} before the result: {endless}"
        except SedanoError:
            pass


def _one_answer(what: str, meaning: Meaning, get: Callable[[], Any]) -> Iterator[str]:
    expected = meaning.result
    first = next((one for one in expected if isinstance(one, Failure)), None) if isinstance(expected, list) else expected
    try:
        value = get()
    except SedanoError as error:
        if not (meaning.silent if isinstance(error, NoResult) else isinstance(first, Failure) and _is_of(error, first)):
            yield f"{what}: {error!r} where {expected} was expected"
        return
    wanted = [one.value for one in expected if not isinstance(one, Failure)] if isinstance(expected, list) else expected
    if isinstance(first, Failure):
        yield f"{what}: {value} where {first} was expected"
    elif plain(value) != (wanted if isinstance(wanted, list) else wanted.value):  # type: ignore[union-attr] # a failure was told above
        yield f"{what}: {value} where {wanted} was expected"


def _is_of(error: SedanoError, failure: Failure) -> bool:
    """Tell whether *error* is what a task raised that may have failed first, or says that it came too late."""
    if isinstance(error, RemoteError):
        return error.message in failure.first and error.type_name == RAISES.get(kind_of(error.message), "Boom")
    return isinstance(error, TaskRevoked) and any(kind_of(name) == "late" for name in failure.first)


def _unstamped(meaning: Meaning, runs: Sequence[Run]) -> Iterator[tuple[str, frozenset[str]]]:
    for run in runs:
        lacking = meaning.stamps.get(run.name, frozenset()) - run.stamps
        if lacking:
            yield run.name, lacking


def _strange(meaning: Meaning, records: Mapping[str, TaskRecord]) -> Iterator[str]:
    """Yield the tasks that ended because of one that, as far as the canvas means, never failed."""
    failing = {name for name, value in meaning.effects if value == FAILED}
    for task_id, record in records.items():
        cause = record.error.cause if record.error is not None else ""
        if cause and cause != task_id and (cause not in records or _name(records[cause]) not in failing):
            yield f"{task_id} ({record.name}) failed because of {cause}, which did not fail"


def _differences(what: str, expected: Counter[Any], found: Counter[Any]) -> Iterator[str]:
    for missing, times in (expected - found).items():
        yield f"{what}: {missing} is missing{f' {times} times' if times > 1 else ''}"
    for more, times in (found - expected).items():
        yield f"{what}: {more} is too much{f' {times} times' if times > 1 else ''}"


def kind_of(name: str) -> str:
    """Return the kind of the task *name*."""
    return name.partition("-")[0]
