"""The ends of tasks and the returns of messages in a file, recorded by triggers in the file itself, which sedano does not use.

`ends` has a row for each write that made a task end, or changed how it ended; `backs` one for each message that a process returned by
making it visible before its time; `steals` one for each claim that passed to another holder.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from sedano.model import states

_TERMINAL = ", ".join(f"'{state}'" for state in sorted(states.TERMINAL))
_TRIGGERS = f"""
CREATE TABLE ends (id TEXT NOT NULL, state TEXT NOT NULL) STRICT;
CREATE TABLE backs (visible REAL NOT NULL) STRICT;
CREATE TABLE steals (id TEXT NOT NULL) STRICT;
CREATE TRIGGER end_of_new AFTER INSERT ON task WHEN NEW.state IN ({_TERMINAL}) BEGIN INSERT INTO ends VALUES (NEW.id, NEW.state); END;
CREATE TRIGGER end_of_known AFTER UPDATE ON task WHEN NEW.state IN ({_TERMINAL})
    AND (OLD.state NOT IN ({_TERMINAL}) OR NEW.result <> OLD.result OR NEW.fence <> OLD.fence)
    BEGIN INSERT INTO ends VALUES (NEW.id, NEW.state); END;
CREATE TRIGGER back AFTER UPDATE OF visible ON message WHEN NEW.receives = OLD.receives AND NEW.visible < OLD.visible
    BEGIN INSERT INTO backs VALUES (NEW.visible); END;
CREATE TRIGGER steal AFTER UPDATE ON task WHEN OLD.state = 'RUNNING' AND NEW.state = 'RUNNING' AND NEW.nonce <> OLD.nonce
    BEGIN INSERT INTO steals VALUES (NEW.id); END;
"""  # noqa: S608 - our own words
BUSY_S = 30.0
"""The seconds that a read waits for the file: a stopped process may hold its lock."""


class Restart(NamedTuple):
    """One restart: the moments at which the process was asked to end and had ended (epoch s)."""

    began: float
    ended: float


class Witness:
    """The triggers in one file, and their records."""

    def __init__(self, file: Path) -> None:
        """Put the triggers into *file*, which has its tables."""
        self._database = sqlite3.connect(file, timeout=BUSY_S, isolation_level=None)
        self._database.executescript(_TRIGGERS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._database.close()

    def ended(self) -> int:
        """Return how many tasks have ended."""
        return self._number("SELECT count(DISTINCT id) FROM ends")

    def ends(self) -> list[str]:
        """Return the id of each end, in order: an id that is listed twice had two effects."""
        return [str(row[0]) for row in self._database.execute("SELECT id FROM ends")]

    def left(self, queue: str) -> int:
        """Return how many messages are in *queue*, including hidden ones, and among its dead letters."""
        waiting = self._number("SELECT count(*) FROM message WHERE queue = ?", queue)
        return waiting + self._number("SELECT count(*) FROM dead_letter WHERE queue = ?", queue)

    def holds(self, pid: int) -> bool:
        """Return whether the process *pid* holds a claim."""
        return self._number("SELECT count(*) FROM task WHERE state = 'RUNNING' AND owner LIKE ?", f"%.{pid}.%") > 0

    def taken_over(self) -> int:
        """Return how many claims passed from one holder to another."""
        return self._number("SELECT count(*) FROM steals")

    def given_back(self, began: float, ended: float) -> list[float]:
        """Return the moments (epoch s) from which the messages that were returned between the two moments could be received."""
        found = self._database.execute("SELECT visible FROM backs WHERE visible BETWEEN ? AND ? ORDER BY visible", (began, ended))
        return [float(row[0]) for row in found]

    def _number(self, statement: str, *values: object) -> int:
        (found,) = self._database.execute(statement, values).fetchone()
        return int(found)


def outcome(tasks: Collection[str], ends: Iterable[str], left: int) -> tuple[int, int]:
    """Return how many of the *tasks* were lost, and how many *ends* were second ones or of a task that was never published.

    A message that is *left* at the end counts as lost, if its task does.
    """
    counted = Counter(ends)
    lost = sum(not counted[task] for task in tasks)
    strange = sum(count for task, count in counted.items() if task not in tasks)
    return max(lost, left), sum(count - 1 for task, count in counted.items() if task in tasks) + strange


def late(moment: float, restart: Restart, cut: float) -> float:
    """Return how many seconds too late a message was returned that could be received from *moment* on.

    A message whose body had not begun can be returned at the request to end; that of a cancelled body *cut* seconds later.
    """
    after = moment - restart.began
    return after - cut if was_cut(moment, restart, cut) else after


def was_cut(moment: float, restart: Restart, cut: float) -> bool:
    """Return whether a message that could be received from *moment* on is that of a body that was cancelled."""
    return moment - restart.began >= cut
