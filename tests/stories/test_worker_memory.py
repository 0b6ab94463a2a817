"""The memory of a process of workers does not grow with the tasks that it has worked off."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TASKS = 10_000
MOST_GROWTH = 3 * 2**20
"""Bytes in the last three quarters: less than half a kilobyte a task."""


def _growth(*options: str) -> int:
    """Return by how many bytes a process grows after its first quarter."""
    words = [sys.executable, "-m", "tests.stories.memory_of_worker", str(TASKS), *options]
    done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True, timeout=600)
    first, *later = map(int, done.stdout.split())
    return max(later) - first


def test_ten_thousand_tasks_leave_no_memory_behind() -> None:
    assert _growth() < MOST_GROWTH


def test_a_kilobyte_that_each_task_leaves_behind_is_noticed() -> None:
    assert _growth("--leaks", "1024") > MOST_GROWTH
