"""Programs of the shell as processes of boxes: short ones, that end with their test."""

from __future__ import annotations

import os
import select
from typing import Any

import pytest

from sedano.engine.boxes.child import BoxProcess
from sedano.engine.task_context import TaskContext
from sedano.model.boxes import BoxPlan
from tests.unit.engine.following import command_of

SECONDS = 5.0
QUICKLY = pytest.mark.timeout(2 * SECONDS, func_only=True)
"""A program that does not answer ends its test soon."""
CONTEXT = TaskContext(command_of("a"), 7, 99.5, 1)
"""The running task of a call."""
ANSWERS = r"""
while read -r line; do
  id=${line#*'"id":"'}
  id=${id%%'"'*}
  printf '\036{"id":"%s","ok":%d}\n' "$id" $$
done
"""
"""Answers each call with the number of its process."""


def shell(script: str, **options: Any) -> BoxPlan:
    """Return the plan of a box whose program is *script*."""
    return BoxPlan("box", ("sh", "-c", script), **options)


class Processes:
    """Starts programs of the shell; *lines* has what is logged of them."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self.lines: list[tuple[str, str]] = []
        self.started: list[BoxProcess] = []

    def start(self, script: str, reserved: int | None = None, **options: Any) -> BoxProcess:
        """Start *script*."""
        return self.of(shell(script, **options), reserved)

    def of(self, plan: BoxPlan, reserved: int | None = None) -> BoxProcess:
        """Start the program of *plan*."""
        child = BoxProcess(plan, reserved)
        self.started.append(child)
        child.log = lambda stream, text: self.lines.append((stream, text))
        return child

    def end(self) -> None:
        """Kill those that run."""
        for child in self.started:
            if child._process.returncode is None:
                child.kill()


def arrived(*descriptors: int) -> None:
    """Wait until something arrives at each of these pipes, or its end does."""
    for descriptor in descriptors:
        assert select.select([descriptor], [], [], SECONDS)[0]


def ended(child: BoxProcess) -> None:
    """Wait until *child* has ended."""
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
