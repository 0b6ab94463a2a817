"""A program that ends while the queue is away loses nothing that `delay()` confirmed: its next process sends it. Real processes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

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


def spooled(folder: Path) -> list[Path]:
    """The files that wait for the next process."""
    return sorted((folder / "spool").rglob("*.*"))


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
    (file,) = spooled(tmp_path)
    assert file.stat().st_mode & 0o077 == 0, "only its owner reads it"
    away.unlink()
    assert leave("normal", tmp_path) == 0
    assert sorted(sent(tmp_path)) == ["a", "a", "b", "b", "c", "c"]
    assert spooled(tmp_path) == []


@each_way
def test_a_queue_that_is_back_in_time_takes_everything_at_exit(tmp_path: Path, way: str, status: int) -> None:
    away = tmp_path / "away"
    away.touch()
    assert leave(way, tmp_path, str(away)) == status
    assert sorted(sent(tmp_path)) == ["a", "b", "c"]
    assert spooled(tmp_path) == []


def test_a_queue_that_stays_away_keeps_the_spool_for_yet_another_process(tmp_path: Path) -> None:
    (tmp_path / "away").touch()
    leave("normal", tmp_path)
    leave("normal", tmp_path)
    assert len([line for file in spooled(tmp_path) for line in file.read_text().splitlines()]) == 6
    (tmp_path / "away").unlink()
    leave("normal", tmp_path)
    assert sorted(sent(tmp_path)) == sorted("abc" * 3)
    assert spooled(tmp_path) == []
