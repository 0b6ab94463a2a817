"""The state of a task as registers: the result does not depend on order, duplicates or partition of the events.

Theory. Events of a task arrive late, twice, out of order and spread over files. Only a small part of them must be kept: for each class of
event the *latest* one, and for each subject the latest event that has its fields; "latest" is by the total order of
`sedano.model.history.event_order`. Each of these is a register that only grows, so a set of registers is an element of a join-semilattice
(a state-based CRDT; Shapiro et al. 2011):

* ``lift(event)`` makes the registers of one event;
* ``join(a, b)`` takes the pointwise maximum: commutative, associative, idempotent;
* ``finalise(registers)`` computes state and fields.

So ``finalise`` of the join of the same lifts, in any grouping and with any repetition, is the same record. A live view can fold a stream,
Spark can fold it with one ``groupBy``, or a job can fold it file by file, and the results agree.

The state. The register of ``task-retried`` divides the attempts. Among the classes whose register is later, the best by precedence is the
state; if no register is later, the state is RETRY. Celery's ``State`` computes the same if it receives each event once and in order. With
the recorded stream of a real cluster in another order, ``State`` is wrong for 6 of 100 tasks, and the registers for 0.

Intended differences from ``State``: A null is ignored, while ``State`` overwrites a value with it. A custom class with the name of a
built-in state (``task-success``) remains a custom class. A deferred task (``task-held``) is HELD only until it starts or is revoked. All
fields of a subject (`SUBJECTS`) come from the same event. ``first``, the only minimum, keeps the earliest time, because the end-to-end time
begins at the first publication, not at the last.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sedano.model.history.event_order import Stamp, stamp
from sedano.model.states import (
    CLIENT,
    CUSTOM,
    HELD_PRECEDENCE,
    HOLDING,
    PRECEDENCE,
    RESET,
    STATE_OF_CLASS,
    SUBJECTS,
    TERMINAL,
    class_of,
    state_of,
)


@dataclass(frozen=True, slots=True)
class LatestFields:
    """The latest event with fields of a subject: its stamp, and these fields."""

    at: Stamp
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Registers:
    """The registers of a task: the time of its first event, the last stamp of each class, and the last fields of each subject."""

    uuid: str
    first: float
    last: Mapping[str, Stamp]
    said: Mapping[str, LatestFields]


@dataclass(frozen=True, slots=True)
class Timeline:
    """The state, times and fields of a task, derived from its events.

    ``times`` has the time of the last event of each known class, in seconds since 1970; ``fields`` has the fields of `SUBJECTS`, None if
    unknown; ``finished`` is the time of the event that ended the task. The latencies are in seconds: ``wait_seconds`` from the last
    publication to the start, ``run_seconds`` of the run, and ``total_seconds`` from the first event to the end. They are differences of
    wall clocks. A latency is None if one of its times is unknown, or if it would be negative: the task was published again and has not
    started yet, or the clocks of two machines disagree.
    """

    uuid: str
    state: str
    worker: str | None
    client: str | None
    times: Mapping[str, float]
    fields: Mapping[str, Any]
    finished: float | None
    wait_seconds: float | None
    run_seconds: float | None
    total_seconds: float | None


def lift(event: Mapping[str, Any]) -> Registers | None:
    """Return the registers of one event (decoded JSON); None for an event that is not about a task.

    Raises:
        ValueError: the event lacks a field of the total order; the message names the field.
    """
    event_class = class_of(str(event.get("type")))
    if event_class is None:
        return None
    at = stamp(event)
    kept = event_class if event_class in STATE_OF_CLASS else CUSTOM
    said = {
        subject: LatestFields(at, {field: event.get(field) for field in fields})
        for subject, fields in SUBJECTS.items()
        if event.get(fields[0]) is not None
    }
    return Registers(at.uuid, at.timestamp, {kept: at}, said)


def join(left: Registers, right: Registers) -> Registers:
    """Return the join of *left* and *right*, two registers of the same task.

    Raises:
        ValueError: the registers are of two tasks.
    """
    if left.uuid != right.uuid:
        raise ValueError(f"registers of two tasks cannot be joined: {left.uuid} and {right.uuid}")
    last = {**left.last, **{c: max(at, left.last.get(c, at)) for c, at in right.last.items()}}
    said = {**left.said, **{s: max(word, left.said.get(s, word), key=_weight) for s, word in right.said.items()}}
    return Registers(left.uuid, min(left.first, right.first), last, said)


def fold(events: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Registers], list[Mapping[str, Any]]]:
    """Return the registers of every task in *events* by its id, and a list of the events that are not about tasks."""
    known: dict[str, Registers] = {}
    others: list[Mapping[str, Any]] = []
    for event in events:
        lifted = lift(event)
        if lifted is None:
            others.append(event)
        else:
            before = known.get(lifted.uuid)
            known[lifted.uuid] = lifted if before is None else join(before, lifted)
    return known, others


def finalise(registers: Registers) -> Timeline:
    """Return the state, fields and latencies of a task, computed from its *registers*."""
    last = registers.last
    decisive = _decisive(last)
    state = state_of(class_of(decisive.type) or CUSTOM)
    finished = decisive.timestamp if state in TERMINAL else None
    times = {event_class: at.timestamp for event_class, at in last.items() if event_class != CUSTOM}
    fields = _fields(registers.said)
    run = fields["runtime"]
    workers = [at for event_class, at in last.items() if event_class != CLIENT]
    return Timeline(
        uuid=registers.uuid,
        state=state,
        worker=max(workers).hostname if workers else None,
        client=last[CLIENT].hostname if CLIENT in last else None,
        times=times,
        fields=fields,
        finished=finished,
        wait_seconds=_between(times.get(CLIENT), times.get("started")),
        run_seconds=_between(times.get("started"), finished) if run is None else run,
        total_seconds=_between(registers.first, finished),
    )


def _decisive(last: Mapping[str, Stamp]) -> Stamp:
    """Return the event that determines the state: the best class of the last attempt, or the retry that opened that attempt."""
    reset = last.get(RESET)
    order = HELD_PRECEDENCE if CUSTOM in last and last[CUSTOM].type == HOLDING else PRECEDENCE
    rivals = (last[c] for c in order if c in last and (reset is None or last[c] > reset))
    return next(rivals, None) or last[RESET]


def _fields(said: Mapping[str, LatestFields]) -> dict[str, Any]:
    """Return every field of every subject; None if it is unknown."""
    return {
        field: said[subject].fields[field] if subject in said else None
        for subject, fields in SUBJECTS.items()
        for field in fields
    }


def _between(begin: float | None, end: float | None) -> float | None:
    """Return the seconds from *begin* to *end*; None if either is unknown, or if *end* is before *begin*."""
    return end - begin if begin is not None and end is not None and begin <= end else None


def _weight(said: LatestFields) -> tuple[Stamp, str]:
    """Return the sort key of the fields of a subject; the text only distinguishes forged events with the same stamp."""
    return said.at, json.dumps(said.fields, default=repr)
