"""The polls: the cursor of each, how many items it has published, and how its last run ended."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import NamedTuple

from sedano.app import Sedano
from sedano.engine.sources.polls import Poll
from sedano.errors import MessageRefused
from sedano.model import states
from sedano.model.canonical_json import canonical_json
from sedano.model.ledger.records import TaskRecord
from sedano.model.memos import Memo, memo_name
from sedano.model.schedules.schedule import occurrence
from sedano.model.schedules.timetable import Timetable
from sedano.model.sources.polls import POLL, PollState, state_of
from sedano.views.reader import About, Reader
from sedano.views.schedules import periodics, row

SPANS_S = (600.0, 86_400.0, 32 * 86_400.0)
"""How far back (s) the last moments of a timetable are searched, in this order."""
MOMENTS = 5
"""How many moments are looked at for the last run: one at which the poll was paused has none."""


class PollRow(NamedTuple):
    """A poll: its *task*, which is called with the items; *when* its source is read, and *next* (epoch s; None: paused or over). *last*:
    the moment of its last run (None: it had no moment in 32 days), the *state* of that run and its *error*, empty without one.

    *cursor*: of the next page, as JSON. *items*: how many were published, ever; *published*: when the last ones were (epoch s). *waits*:
    the source gets no request before (epoch s).
    """

    poll: str
    task: str
    when: str
    next: float | None
    last: float | None
    state: str
    error: str
    cursor: str
    items: int
    published: float | None
    waits: float | None


class PollsView(NamedTuple):
    """The polls by name."""

    rows: tuple[PollRow, ...]
    about: About


def polls(app: Sedano) -> PollsView:
    """Return the polls of *app*: a call each for the memos, the schedules and the records of the last runs.

    Raises:
        Unavailable: a store did not answer.
    """
    reader = Reader(app)
    names = sorted(app.polls)
    memos = reader.ports.memos.read([memo_name(POLL, name) for name in names]) if names else {}
    found, _ = periodics(reader)
    planned = {name: found[f"{POLL}.{name}"].schedule for name in names if f"{POLL}.{name}" in found}
    runs = {
        name: {moment: occurrence(schedule, round(moment)).task_id for moment in last_moments(schedule.timetable, reader.now)}
        for name, schedule in planned.items()
    }  # fmt: skip
    ids = [task_id for of_poll in runs.values() for task_id in of_poll.values()]
    records = reader.ports.ledger.read(ids) if ids else {}
    rows = []
    for name in names:
        schedule = row(found[f"{POLL}.{name}"], reader.now) if f"{POLL}.{name}" in found else None
        moments = runs.get(name, {})
        last = next((moment for moment in moments if moments[moment] in records), next(iter(moments), None))
        seen = _Seen(memos, None if last is None else records.get(moments[last]), last)
        rows.append(_row(app.polls[name], (schedule.when, schedule.next) if schedule is not None else ("", None), seen))
    return PollsView(tuple(rows), reader.about())


def last_moments(timetable: Timetable, now: float) -> list[float]:
    """Return the last moments of *timetable* until *now* (epoch s), at most `MOMENTS` of 32 days, the newest first."""
    moments = list[float]()
    for span in SPANS_S:
        moments = [float(moment) for moment in takewhile(lambda moment: moment <= now, timetable.following(now - span))]
        if len(moments) >= MOMENTS:
            break
    return moments[: -MOMENTS - 1 : -1]


class _Seen(NamedTuple):
    """The stored parts of a poll: the memos of all, the record of its last run, and the moment of it."""

    memos: Mapping[str, Memo]
    record: TaskRecord | None
    last: float | None


def _row(poll: Poll, scheduled: tuple[str, float | None], seen: _Seen) -> PollRow:
    memo, unreadable = seen.memos.get(memo_name(POLL, poll.name)), ""
    try:
        state = state_of("" if memo is None else memo.text)
    except MessageRefused as refused:
        state, unreadable = PollState(), str(refused)
    when, following = scheduled
    return PollRow(
        poll=poll.name, task=poll.task, when=when, next=following, last=seen.last,
        state=seen.record.state if seen.record is not None else "", error=unreadable or _error(seen.record),
        cursor="" if state.cursor is None else canonical_json(state.cursor),
        items=state.published, published=state.at or None, waits=state.wait or None,
    )  # fmt: skip


def _error(record: TaskRecord | None) -> str:
    """Return the error of the last run; that of an earlier attempt of a run that succeeded is left out."""
    if record is None or record.error is None or record.state == states.SUCCESS:
        return ""
    return f"{record.error.type_name}: {record.error.message}"
