"""A canvas as one tree of spans over publications, queues, holds, attempts, retries and bodies, read only from the history.

The history of whole days is read: one S3 GET for each object of the recorder. A task's spans are complete once its attempt has ended and
the recorder has written it, up to a minute later.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from sedano.app import Sedano
from sedano.model.history.event_order import stamp
from sedano.model.history.spans import TaskSpan, root_of, spans
from sedano.model.states import TERMINAL
from sedano.result.waits import must_be_id
from sedano.views.cluster import first_day
from sedano.views.reader import About, Reader

MOST_SPANS = 2_000
IDLE = 0.25
"""The most space on an axis for a stretch without a body, as a share of all bodies' time: a retry a day later does not flatten the rest."""


class TraceView(NamedTuple):
    """The *spans* of the canvas of the task *id*, each before those below it; *left_out*: those beyond the first two thousand.

    *root* is the first task of the canvas, *tasks* their number, *unreadable* the number of event lines without a place in the order.
    """

    id: str
    root: str
    spans: tuple[TaskSpan, ...]
    tasks: int
    left_out: int
    since: str
    unreadable: int
    about: About


def trace(app: Sedano, task_id: str, days: int = 2, *, redact: bool = False) -> TraceView:
    """Return the trace of the canvas of *task_id*, which is any of its tasks, from the history of *days*; without spans if it is missing.

    *redact*: hide the messages of errors.

    Raises:
        OptionError: the id is missing, or *days* is less than 1.
        Unavailable: a store did not answer.
    """
    reader = Reader(app)
    must_be_id(task_id)
    since = first_day(reader.ports, days)
    events, unreadable = _events(reader.ports.events.read(since))
    root = root_of(events, task_id)
    every = [one._replace(error=one.error.partition("(")[0]) if redact else one for one in spans(events, root)]
    ends = [one.state for one in every if one.kind == "task"]
    return TraceView(
        id=task_id, root=root, spans=tuple(every[:MOST_SPANS]), tasks=len(ends), left_out=max(0, len(every) - MOST_SPANS), since=since,
        unreadable=unreadable, about=reader.about(settled=bool(ends) and all(one in TERMINAL for one in ends)),
    )  # fmt: skip


def _events(history: Iterable[bytes]) -> tuple[list[Mapping[str, Any]], int]:
    """Return the events of tasks that have a place in the total order, and the number of lines that cannot be read."""
    found: list[Mapping[str, Any]] = []
    unreadable = 0
    for line in (line for blob in history for line in blob.splitlines()):
        try:
            event = json.loads(line)
            if event.get("uuid"):
                stamp(event)
                found.append(event)
        except (ValueError, RecursionError, AttributeError):
            unreadable += 1
    return found, unreadable


def axis(some: Sequence[TaskSpan]) -> Callable[[float], float]:
    """Return a function that maps a moment to 0 (the first of *some* spans) … 1 (the last end); stretches without a body are shortened."""
    moments = sorted({at for one in some for at in (one.begin, one.end) if at is not None})
    busy = _covered([(one.begin, one.end) for one in some if one.kind == "body" and one.begin is not None and one.end is not None])
    ran = sum(end - begin for begin, end in busy)
    places, taken = dict.fromkeys(moments[:1], 0.0), 0.0
    left = list(reversed(busy))
    for begin, end in pairwise(moments):
        while left and left[-1][1] <= begin:
            left.pop()
        works = bool(left) and left[-1][0] <= begin
        taken += end - begin if works or not ran else min(end - begin, IDLE * ran)
        places[end] = taken
    return lambda moment: places[moment] / taken if taken else 0.0


def _covered(stretches: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return *stretches* in order, with those that overlap or touch merged."""
    found: list[tuple[float, float]] = []
    for begin, end in sorted(one for one in stretches if one[0] <= one[1]):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found
