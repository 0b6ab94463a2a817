"""A deployment in one SQLite file loses nothing and does nothing twice when its processes are killed. Real processes, real SIGKILL."""

import os
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from sedano.sqlite.store import Store
from tests.stories.programs.desk import TASKS

ROOT = Path(__file__).parents[2]
ROUNDS = 8
AUDIT = """
CREATE TABLE audit (id TEXT, name TEXT);
CREATE TRIGGER ended AFTER UPDATE OF state ON task WHEN new.state = 'SUCCESS' BEGIN INSERT INTO audit VALUES (new.id, new.name); END;
"""
"""Notes each end that the ledger accepts, in the transaction that accepts it."""


def run(path: Path, seed: int) -> set[str]:
    """Run the program to its end and return the ids that it confirmed."""
    environment = {**os.environ, "SEDANO_SPOOL": "off", "PYTHONPATH": os.pathsep.join(place for place in sys.path if place)}
    command = [sys.executable, "-m", "tests.stories.programs.desk", str(path), str(ROUNDS), str(seed)]
    done = subprocess.run(command, check=False, cwd=ROOT, env=environment, text=True, capture_output=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return set(path.with_name("confirmed").read_text().split())


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_processes_lose_no_task_and_record_none_twice(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "desk.db"
    Store(path).rows("SELECT 1")
    with sqlite3.connect(path) as database:
        database.executescript(AUDIT)
    confirmed = run(path, seed)
    rows = sqlite3.connect(path).execute("SELECT id, name, state, result, fence FROM task").fetchall()
    ended = Counter(sqlite3.connect(path).execute("SELECT id FROM audit").fetchall())
    states = {task_id: state for task_id, _, state, _, _ in rows}
    assert set(states.values()) == {"SUCCESS"}, Counter(states.values())
    assert len(confirmed) > TASKS, "the publishers were killed before they confirmed anything"
    assert max(fence for *_, fence in rows) > 1, "no worker was killed with a task in hand"
    assert confirmed <= states.keys(), "what was confirmed was worked off"
    assert set(ended.values()) == {1}, "no end was accepted twice"
    signed = [int(result) for _, name, _, result, _ in rows if name == "sign"]
    noted = [int(result) for _, name, _, result, _ in rows if name == "note"]
    assert len(signed) == len(set(signed))
    assert sorted(noted) == sorted(number for number in signed if number % 3), "each follow-up ran, and none of them twice"
    assert sqlite3.connect(path).execute("SELECT count(*) FROM message").fetchone() == (0,)
    assert sqlite3.connect(path).execute("SELECT count(*) FROM dead_letter").fetchone() == (0,)
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)
