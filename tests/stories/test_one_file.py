"""A deployment in one SQLite file loses nothing and does nothing twice when its processes are killed. Real processes, real SIGKILL."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from sedano.sqlite.store import Store
from tests.stories.programs.desk import TASKS

ROOT = Path(__file__).parents[2]
ROUNDS = 8
BOUND_S = 120
RUNNING = "SELECT 1 FROM task WHERE state = 'RUNNING' LIMIT 1"
AUDIT = """
CREATE TABLE audit (id TEXT, name TEXT);
CREATE TRIGGER ended AFTER UPDATE OF state ON task WHEN new.state = 'SUCCESS' BEGIN INSERT INTO audit VALUES (new.id, new.name); END;
"""
"""Notes each end that the ledger accepts, in the transaction that accepts it."""


def begun(path: Path, *arguments: str) -> subprocess.Popen[str]:
    """Begin the program over the file."""
    environment = {**os.environ, "SEDANO_SPOOL": "off", "PYTHONPATH": os.pathsep.join(place for place in sys.path if place)}
    command = [sys.executable, "-m", "tests.stories.programs.desk", str(path), *arguments]
    return subprocess.Popen(command, cwd=ROOT, env=environment, text=True, stderr=subprocess.PIPE)


def ended(program: subprocess.Popen[str]) -> None:
    """Wait for the program to end well; it does not outlive the test."""
    with program:
        try:
            _, said = program.communicate(timeout=BOUND_S)
        finally:
            program.kill()
    assert program.returncode == 0, said


def run(path: Path, *arguments: str) -> None:
    """Run the program to its end."""
    ended(begun(path, *arguments))


def killed_with_tasks_in_hand(worker: subprocess.Popen[str], store: Store) -> None:
    """Kill the worker while tasks run: it is stopped first, so that they do not end between the look and the kill."""
    until = time.monotonic() + BOUND_S
    with worker:
        try:
            while True:
                assert time.monotonic() < until, f"no task began to run in {BOUND_S} s"
                assert worker.poll() is None, "the worker ended by itself"
                if store.rows(RUNNING):
                    worker.send_signal(signal.SIGSTOP)
                    os.waitpid(worker.pid, os.WUNTRACED)
                    if store.rows(RUNNING):
                        return
                    worker.send_signal(signal.SIGCONT)
                time.sleep(0.001)
        finally:
            worker.kill()


def audited(path: Path) -> Path:
    """A new file that notes each end."""
    Store(path).rows("SELECT 1")
    with sqlite3.connect(path) as database:
        database.executescript(AUDIT)
    return path


def require_everything_once(path: Path) -> None:
    """Require that all that was confirmed, and all that it published, has ended well, once, and that nothing is left."""
    confirmed = set(path.with_name("confirmed").read_text().split())
    rows = sqlite3.connect(path).execute("SELECT id, name, state, result, fence FROM task").fetchall()
    ended = Counter(sqlite3.connect(path).execute("SELECT id FROM audit").fetchall())
    states = {task_id: state for task_id, _, state, _, _ in rows}
    assert set(states.values()) == {"SUCCESS"}, Counter(states.values())
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


@pytest.mark.parametrize("seed", ["1", "2"])
def test_killed_processes_lose_no_task_and_record_none_twice(tmp_path: Path, seed: str) -> None:
    path = audited(tmp_path / "desk.db")
    run(path, str(ROUNDS), seed)
    assert len(path.with_name("confirmed").read_text().split()) > TASKS, "the publishers were killed before they confirmed anything"
    require_everything_once(path)


def test_one_process_publishes_another_works_and_a_third_takes_over_when_that_is_killed(tmp_path: Path) -> None:
    path = audited(tmp_path / "desk.db")
    worker, publisher = begun(path, "work", "0"), begun(path, "publish")
    try:
        killed_with_tasks_in_hand(worker, Store(path))
    finally:
        ended(publisher)
    assert worker.returncode == -signal.SIGKILL
    run(path, "work", "100")
    require_everything_once(path)
