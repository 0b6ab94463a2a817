"""The tasks of one change, found by a search of the event history: tasks to run again, or tasks to revoke.

A search needs a condition: an empty one would match every task of the stage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

from sedano.app import Sedano
from sedano.errors import OptionError
from sedano.model import states
from sedano.views.cluster import first_day
from sedano.views.reader import Reader
from sedano.views.task_query import TaskQuery, parse
from sedano.views.tasks import search

MOST = 20_000
"""The most tasks of one change, the latest first."""


class Selection(NamedTuple):
    """The *ids* of tasks, the latest first; *found*: how many there are in all, *by_state*; the history since the day *since* was read.

    *kept* of them are from the ledger alone, by their key: the history of these days has nothing of them, and they may be older.
    """

    ids: tuple[str, ...]
    found: int
    by_state: Mapping[str, int]
    since: str
    kept: int = 0

    @property
    def sentence(self) -> str:
        """The selection in words: the number of tasks in each state, and how many of them are part of the change."""
        counted = ", ".join(f"{number} {state}" for state, number in sorted(self.by_state.items())) or "none"
        part = f"; the latest {len(self.ids):,} are part of this change" if self.found > len(self.ids) else ""
        kept = f", and {self.kept:,} kept in the ledger alone, which may be older" if self.kept else ""
        return f"found {self.found - self.kept:,} tasks since {self.since}{kept}: {counted}{part}"


def to_retry(app: Sedano, text: str, days: int, most: int = MOST) -> Selection:
    """Return the tasks of the last *days* that the search *text* finds and that failed; with a condition on the state, also those that were
    revoked or expired.

    A deduplication key (``key:``) also finds the tasks under it that only the ledger keeps, however old they are.

    Raises:
        OptionError: *text* is not a search, or has no condition; *days* is less than 1.
    """
    query = _query(text)
    wanted = states.UNSUCCESSFUL if any(part.field == "state" for part in query.parts) else states.FAILED
    return _selected(app, query, days, most, lambda state: state in wanted)


def to_revoke(app: Sedano, text: str, days: int, most: int = MOST) -> Selection:
    """Return the tasks of the last *days* that the search *text* finds and that have not ended; by a deduplication key (``key:``) also
    those that only the ledger keeps, however old they are.

    Raises:
        OptionError: *text* is not a search, or has no condition; *days* is less than 1.
    """
    return _selected(app, _query(text), days, most, lambda state: state not in states.TERMINAL)


def _query(text: str) -> TaskQuery:
    query = parse(text)
    if not query.parts:
        raise OptionError("query: a search without a condition means every task; write one, such as name:shop.*")
    return query


def _selected(app: Sedano, query: TaskQuery, days: int, most: int, is_meant: Callable[[str], bool]) -> Selection:
    reader = Reader(app)
    hits = search(reader, days, query)
    kept, past = ([task for task in some if is_meant(task.state)] for some in (hits.kept, hits.past))
    found = [*kept, *past]
    counted, since = Counter(str(task.state) for task in found), first_day(reader.ports, days)
    return Selection(tuple(task.uuid for task in found[:most]), len(found), dict(counted), since, len(kept))
