"""A program that ends while the queue is away loses nothing that `delay()` confirmed: its next process sends it. Real processes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sedano.engine.publisher.spool import Spool

ROOT = Path(__file__).parents[2]
WAYS = {"normal": 0, "exception": 1, "signal": 143, "batch": 143}
each_way = pytest.mark.parametrize(("way", "status"), WAYS.items())


def leave(way: str, folder: Path, *more: str) -> int:
    """Run the program until it is ready, end it in its way, and return its status."""
    environment = {
        **os.environ, "SHELF": str(folder), "SEDANO_SPOOL": str(folder / "spool"), "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)
    }  # fmt: skip
    command = [sys.executable, "-m", "tests.stories.programs.leave", way, *more]
    program = subprocess.Popen(command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert program.stdout is not None
    assert program.stdout.readline() == "ready\n", program.communicate()[1]
    if way in ("signal", "batch"):
        program.send_signal(signal.SIGTERM)
    program.communicate(timeout=60)
    return program.returncode


def spooled(folder: Path) -> int:
    """How many messages wait for the next process."""
    return sum(Spool(path.parent).waiting() for path in (folder / "spool").rglob("spool.db"))


def sent(folder: Path) -> list[str]:
    """What the queue took, by its argument."""
    file = folder / "sent"
    return [json.loads(line)["data"]["args"][0] for line in file.read_text().splitlines()] if file.exists() else []


@each_way
def test_what_the_queue_did_not_take_is_sent_by_the_next_process(tmp_path: Path, way: str, status: int) -> None:
    away = tmp_path / "away"
    away.touch()
    assert leave(way, tmp_path) == status
    assert sent(tmp_path) == []
    assert spooled(tmp_path) == 3
    assert [path for path in (tmp_path / "spool").rglob("*") if path.stat().st_mode & 0o077] == [], "only its owner reads it"
    away.unlink()
    assert leave("normal", tmp_path) == 0
    assert sorted(sent(tmp_path)) == ["a", "a", "b", "b", "c", "c"]
    assert spooled(tmp_path) == 0


@each_way
def test_a_queue_that_is_back_in_time_takes_everything_at_exit(tmp_path: Path, way: str, status: int) -> None:
    away = tmp_path / "away"
    away.touch()
    assert leave(way, tmp_path, str(away)) == status
    assert sorted(sent(tmp_path)) == ["a", "b", "c"]
    assert spooled(tmp_path) == 0


def test_a_queue_that_stays_away_keeps_the_spool_for_yet_another_process(tmp_path: Path) -> None:
    (tmp_path / "away").touch()
    leave("normal", tmp_path)
    leave("normal", tmp_path)
    assert spooled(tmp_path) == 6
    (tmp_path / "away").unlink()
    leave("normal", tmp_path)
    assert sorted(sent(tmp_path)) == sorted("abc" * 3)
    assert spooled(tmp_path) == 0


def test_a_program_that_only_reads_sends_what_waits_when_it_ends_and_not_before(tmp_path: Path) -> None:
    (tmp_path / "away").touch()
    leave("normal", tmp_path)
    (tmp_path / "away").unlink()
    environment = {**os.environ, "SHELF": str(tmp_path), "SEDANO_SPOOL": str(tmp_path / "spool"), "PYTHONPATH": os.pathsep.join(sys.path)}
    program = "from tests.stories.programs.shelf import app; app.outlet; print((app.outlet.ports.queues.folder / 'sent').exists())"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
    assert sorted(sent(tmp_path)) == ["a", "b", "c"]


KILLS = int(os.environ.get("SEDANO_KILLS", "25"))
"""How many processes are killed; a release is checked with 500."""


def test_nothing_that_was_confirmed_is_lost_to_a_kill_at_any_step(tmp_path: Path) -> None:
    environment = {**os.environ, "SHELF": str(tmp_path), "SEDANO_SPOOL": str(tmp_path / "spool"), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "tests.stories.programs.press", str(tmp_path), str(KILLS), os.environ.get("SEED", "1")]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60 + KILLS, check=False)
    assert done.returncode == 0, done.stderr
    confirmed = (tmp_path / "confirmed").read_text().split()
    messages = [json.loads(line) for line in (tmp_path / "sent").read_text().splitlines()]
    assert len(confirmed) > KILLS, "the children come far enough to be worth killing"
    assert set(confirmed) - {message["data"]["args"][0] for message in messages} == set()
    assert spooled(tmp_path) == 0
    ids: dict[str, set[tuple[str, str]]] = {}
    for message in messages:
        ids.setdefault(message["data"]["args"][0], set()).add((message["id"], message["subject"]))
    assert {name for name, found in ids.items() if len(found) != 1} == set(), "a copy bears the id by which its claim absorbs it"
