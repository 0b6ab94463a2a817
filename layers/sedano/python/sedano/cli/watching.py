"""Reads a list or a task again while it changes, for a terminal of any kind or a pipe: the work of `--watch`.

A record that is new, or that has changed, is written once more below the others; nothing is drawn over, so a log can keep the lines.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sedano.app import Sedano
from sedano.cli import calls, listings
from sedano.cli.exits import Exit
from sedano.cli.printer import say, say_json
from sedano.cli.tables import for_json, head, row
from sedano.errors import OptionError, SedanoError, UsageError
from sedano.model.states import TERMINAL
from sedano.views.browser import FIRST_S, MOST_S, pause_after_read
from sedano.views.failures import FailureGroup, failures
from sedano.views.reader import About
from sedano.views.task import TaskView, task
from sedano.views.tasks import TaskRow, tasks
from sedano.views.terminal_screen import cost

Sleep = Callable[[float], None]
"""Waits so many seconds."""
UNRECORDED_S = 900.0
"""How long (s) a task without a record is watched: the longest delay of a message in SQS."""


class WatchedRecords(NamedTuple):
    """One reading: its *records*, the latest first; what it read; whether no later reading can differ (*ended*); whether there are older
    records that it left out (*is_cut*)."""

    records: Sequence[listings.Record]
    about: About
    ended: bool = False
    is_cut: bool = False


def watch(verb: str, read: Callable[[], WatchedRecords], put: Callable[[listings.Record], None], sleep: Sleep) -> None:
    """Write what *read* returns with *put*, then each record that is new or has changed, until Ctrl-C or the end.

    *sleep* waits so many seconds between two readings: few after a change, more while nothing changes. A later reading that fails is
    reported, and the next one follows after the longest pause. It ends at once if stdout was closed when the program began.

    Raises:
        SedanoError: the first reading failed.
    """
    known: Sequence[listings.Record] | None = None
    found, pause = read(), FIRST_S
    say(f"sedano {verb}: it reads again until Ctrl-C; each reading: {cost(found.about)}", err=True)
    while sys.stdout is not None:
        fresh = [one for one in reversed(found.records) if one not in (known or ())]
        if known is not None and found.is_cut and len(fresh) == len(found.records):
            words = f"all {len(fresh)} latest are new or have changed; older ones may be missing: use a larger --limit"
            say(f"sedano {verb}: {words}", err=True)
        for one in fresh:
            put(one)
        sys.stdout.flush()
        if found.ended:
            return
        known, pause = found.records, pause_after_read(pause, changed=bool(fresh))
        sleep(pause)
        found = _read_again(verb, read, sleep)


def _read_again(verb: str, read: Callable[[], WatchedRecords], sleep: Sleep) -> WatchedRecords:
    """Return what *read* returns, once it does."""
    while True:
        try:
            return read()
        except SedanoError as error:
            say(f"sedano {verb}: not read, and read again in {MOST_S:g} s: {error}", err=True)
            sleep(MOST_S)


def watch_tasks(app: Sedano, *, days: int, query: str, limit: int, as_json: bool, sleep: Sleep | None = None) -> None:
    """Write the latest tasks that *query* finds, and each again that changes.

    Raises:
        UsageError: the query has an unknown field.
        KeyboardInterrupt: Ctrl-C.
    """
    wanted = listings.searched(query)

    def read() -> WatchedRecords:
        view = tasks(app, days, wanted, limit)
        return WatchedRecords(view.rows, view.about, is_cut=view.found > len(view.rows))

    _listed("list", TaskRow._fields, read, as_json, sleep or app.outlet.ports.clock.sleep)


def watch_failures(app: Sedano, *, days: int, only_new: bool, as_json: bool, sleep: Sleep | None = None) -> None:
    """Write the causes of failures, and a cause again when a further task has failed of it.

    Raises:
        UsageError: *only_new* is set, and the last deployment is unknown.
        KeyboardInterrupt: Ctrl-C.
    """

    def read() -> WatchedRecords:
        try:
            view = failures(app, days, only_new=only_new)
        except OptionError as wrong:
            raise UsageError(str(wrong)) from wrong
        return WatchedRecords(view.groups, view.about)

    _listed("failures", FailureGroup._fields, read, as_json, sleep or app.outlet.ports.clock.sleep)


def watch_task(app: Sedano, task_id: str, as_json: bool, timeout: float | None = None) -> Exit:
    """Write the record of a task, and again whenever it has changed, until the task has ended.

    Args:
        app: the app of the stage.
        task_id: the task.
        as_json: write each record as a line of JSON.
        timeout: the longest time (s) to watch. None: `UNRECORDED_S` while the task has no record, and no limit after that.

    Raises:
        SedanoError: the first reading failed.
        KeyboardInterrupt: Ctrl-C.
    """
    clock, seen = app.outlet.ports.clock, list[TaskView]()
    until = clock.now() + (UNRECORDED_S if timeout is None else timeout)

    def left() -> float | None:
        return until - clock.now() if timeout is not None or seen[0].record is None else None

    def read() -> WatchedRecords:
        seen[:] = [task(app, task_id, quick=True)]
        (view,), rest = seen, left()
        ended = view.state in TERMINAL or (rest is not None and rest <= 0)
        return WatchedRecords([Shown(view.state, view.sentence, repr(view.record))], view.about, ended)

    def sleep(pause: float) -> None:
        rest = left()
        clock.sleep(min(pause, rest) if rest is not None and rest > 0 else pause)

    watch("show", read, lambda _: calls.say_task(task_id, seen[0], as_json), sleep)
    return _end_of(task_id, seen[0], timeout)


def _end_of(task_id: str, view: TaskView, timeout: float | None) -> Exit:
    """Return how the watch of a task ended; say why if the task has not."""
    if view.record is None:
        span = UNRECORDED_S if timeout is None else timeout
        say(f"sedano show: no worker has recorded {task_id} within {span:g} s; `sedano explain {task_id}` says why", err=True)
        return Exit.NOT_FOUND
    if view.state in TERMINAL or timeout is None:
        return Exit.DONE
    say(f"sedano show: {task_id} is {view.state} after {timeout:g} s", err=True)
    return Exit.TIMEOUT


class Shown(NamedTuple):
    """The parts of a task's view that are written: without the moment at which it was read."""

    state: str
    sentence: str
    record: str


def _listed(verb: str, names: Sequence[str], read: Callable[[], WatchedRecords], as_json: bool, sleep: Sleep) -> None:
    def put(one: listings.Record) -> None:
        cells = listings.cells(one)
        if as_json:
            say_json(for_json(cells))
        else:
            row([*cells.values()])

    if not as_json:
        head([name.upper() for name in names])
    watch(verb, read, put, sleep)
