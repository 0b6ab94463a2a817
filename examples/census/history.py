"""What the event history of the run says: read here, and evaluated by the Spark job in its own process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from examples.local_run.command import ROOT

TOOLCHAIN = ROOT / "requirements" / "toolchain.py"
ENDS = frozenset({"task-succeeded", "task-failed", "task-revoked"})
Line = Mapping[str, Any]


class HistoryError(Exception):
    """The history cannot be evaluated; the message has the job's output."""


def ends_told(lines: Iterable[Line]) -> dict[str, frozenset[int]]:
    """Return the clocks of each task's terminal events; repeated events about one end have the same clock."""
    clocks: dict[str, set[int]] = defaultdict(set)
    for line in lines:
        if line["type"] in ENDS:
            clocks[line["uuid"]].add(line["clock"])
    return {task: frozenset(told) for task, told in clocks.items()}


def spark(history: Path, ledger: Mapping[str, tuple[str, str]], target: Path) -> dict[str, Any]:
    """Run the timeline job over *history*, with the final states of *ledger*, and return its summary.

    Raises:
        HistoryError: the job failed.
    """
    states = history.parent / "ledger.jsonl"
    states.write_text("".join(json.dumps({"uuid": task, "state": state}) + "\n" for task, (_, state) in ledger.items()))
    job = ["-m", "glue_jobs.timeline", "--source", str(history), "--target", str(target), "--ledger", str(states)]
    command = [sys.executable, str(TOOLCHAIN), "run", sys.executable, *job]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise HistoryError(f"the Spark job failed:\n{done.stderr.strip()[-2000:]}")
    told: dict[str, Any] = json.loads((target / "summary.json").read_text())
    return told
