"""How many bytecodes Python executes for a publication and for a task: the same on every machine, busy or not.

Only Python's own instructions are counted, not the work of C functions, so the count shows whether code was added to the path of every
task. It is valid for one minor version of Python, because each compiles differently.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from benchmarks.report import Entry, Section, Target
from sedano import Sedano
from sedano.testing import world

TASKS = 100
PYTHON = (3, 11)
"""The version that the targets are for."""
BEFORE = {"a publication by delay()": 2131, "a task from its message to its history": 4296}
"""The counts of commit c504b5f, which has no time limits, effects, budgets, boot steps and drains."""
#: About 400 of those of a task are for the sums of the history (`sedano.model.history.rollups`), in the recorder, for which no task waits.
TARGETS = {"a publication by delay()": 2200, "a task from its message to its history": 5060}
HOW = "executed by Python in the test world, with queues and tables in memory; a task is claimed, runs, is recorded, and is in the history"


def executed(call: Callable[[], object]) -> int:
    """Return how many bytecodes *call* executes on this thread."""
    counted = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal counted
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        counted += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return counted


def measured() -> dict[str, float]:
    """Return the bytecodes of one publication and of one task."""
    app = Sedano("shop")

    @app.task(name="add")
    def add(left: int, right: int) -> int:
        return left + right

    def publish() -> None:
        for number in range(TASKS):
            add.delay(number, 2)

    with world(app) as shop:
        publish()  # the first use imports and builds
        shop.drain()
        counts = executed(publish) / TASKS, executed(shop.drain) / TASKS
    return dict(zip(TARGETS, counts, strict=True))


def section() -> Section:
    """Return the numbers for the report."""
    entries = [
        Entry(name, count, "bytecodes", Target(TARGETS[name]) if sys.version_info[:2] == PYTHON else None, {"at c504b5f": BEFORE[name]})
        for name, count in measured().items()
    ]
    return Section("Bytecodes of the task path", HOW, entries)
