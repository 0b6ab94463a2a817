"""What happened to the tasks and messages of a file, seen by triggers in the file itself: sedano neither writes nor reads them.

`ends` has a row for each write that made a task end, or changed how it ended; `backs` one for each message that was made visible before its
time, which is how a process gives it back; `steals` one for each claim that went to another holder.
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
"""How long a look waits for the file: a stopped process may hold its lock."""


class Restart(NamedTuple):
    """One restart: when the process was asked to end, and when it had ended (epoch s)."""

    began: float
    ended: float


class Witness:
    """The triggers in one file, and what they noted."""

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
        """Return the id of each end, in order: an id that is there twice had two effects."""
        return [str(row[0]) for row in self._database.execute("SELECT id FROM ends")]

    def left(self, queue: str) -> int:
        """Return how many messages are in *queue*, hidden ones too, and among the dead letters."""
        waiting = self._number("SELECT count(*) FROM message WHERE queue = ?", queue)
        return waiting + self._number("SELECT count(*) FROM dead_letter WHERE queue = ?", queue)

    def holds(self, pid: int) -> bool:
        """Return whether the process *pid* holds a claim."""
        return self._number("SELECT count(*) FROM task WHERE state = 'RUNNING' AND owner LIKE ?", f"%.{pid}.%") > 0

    def taken_over(self) -> int:
        """Return how many claims went from one holder to another."""
        return self._number("SELECT count(*) FROM steals")

    def given_back(self, began: float, ended: float) -> list[float]:
        """Return from which moments on the messages that went back between the two moments could be received (epoch s)."""
        found = self._database.execute("SELECT visible FROM backs WHERE visible BETWEEN ? AND ? ORDER BY visible", (began, ended))
        return [float(row[0]) for row in found]

    def _number(self, statement: str, *values: object) -> int:
        (found,) = self._database.execute(statement, values).fetchone()
        return int(found)


def outcome(tasks: Collection[str], ends: Iterable[str], left: int) -> tuple[int, int]:
    """Return how many of the *tasks* were lost, and how many *ends* were second ones or of a task that was never published.

    A message that is *left* when all should be over counts as lost, if its task does.
    """
    counted = Counter(ends)
    lost = sum(not counted[task] for task in tasks)
    strange = sum(count for task, count in counted.items() if task not in tasks)
    return max(lost, left), sum(count - 1 for task, count in counted.items() if task in tasks) + strange


def late(moment: float, restart: Restart, cut: float) -> float:
    """Return by how many seconds a message that could be received from *moment* on went back later than it could.

    A message whose body had not begun could go back when the end was asked for; that of a body that was cancelled, *cut* seconds later.
    """
    after = moment - restart.began
    return after - cut if was_cut(moment, restart, cut) else after


def was_cut(moment: float, restart: Restart, cut: float) -> bool:
    """Return whether a message that could be received from *moment* on is that of a body that was cancelled."""
    return moment - restart.began >= cut
