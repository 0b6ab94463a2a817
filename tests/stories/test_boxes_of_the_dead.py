"""Programs of a worker that was killed: none outlives it, whatever it does."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from sedano.engine.boxes.watcher import GroupWatcher
from tests.stories.test_boxes import COMMAND, runs, until_gone

OWNER = Path(__file__).parent / "programs" / "box_owner.py"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@contextmanager
def killed(way: str) -> Iterator[list[int]]:
    """Kill the owner of a program that hangs, and yield the pids of the program, of its child, and of the process that watched."""
    with subprocess.Popen(
        [sys.executable, OWNER, way, *map(str, COMMAND)], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as owner:  # fmt: skip
        assert owner.stdout is not None
        pids = [int(pid) for pid in owner.stdout.readline().split()]
        try:
            assert len(pids) == 3
            assert all(map(runs, pids))
            owner.kill()
            owner.wait()
            yield pids
        finally:
            for group in (pids[0], owner.pid):
                with suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGKILL)


@pytest.mark.parametrize("way", ["plain", "forked", "replaced"])
def test_a_program_that_hangs_does_not_outlive_a_worker_that_is_killed(way: str) -> None:
    with killed(way) as pids:
        until_gone(*pids)


def test_a_group_that_the_worker_has_killed_itself_is_watched_no_longer() -> None:
    with killed("removed") as (program, child, watching):
        until_gone(watching)
        assert runs(program)
        assert runs(child)


def test_a_machine_without_a_shell_runs_programs_all_the_same() -> None:
    watcher = GroupWatcher("/nowhere/sh")
    watcher.add(os.getpid())
    watcher.remove(os.getpid())
    assert watcher.pid is None
