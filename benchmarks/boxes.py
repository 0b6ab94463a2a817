"""The cost of a boxed task: a warm call, calls of a noisy program, and how late a program that hangs is killed.

    python -m benchmarks.boxes                 # 5 000 calls, 10 kills
    python -m benchmarks.boxes --full          # the promised size: 100 000 calls, 50 kills

A call is measured at the pool, below the engine: CPU and wall time of this process for one request and its reply. The program is Python's
own, started without its site packages.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import report
from benchmarks.report import Entry, Section, Target
from sedano.engine.boxes.pool import Pool
from sedano.engine.task_context import CURRENT, TaskContext
from sedano.errors import BoxTimeout
from sedano.model.boxes import BoxPlan
from sedano.model.messages.message import Command

HOST = Path(__file__).resolve().parents[1] / "tests" / "stories" / "programs" / "boxed.py"
COMMAND = (sys.executable, "-S", "-E", str(HOST))
TIMEOUT = 0.2
WARM_US, KILL_MS = 80.0, 50.0
"""The promises: the wall time of a warm call, and how late after its deadline a program that hangs is killed."""
HOW = "Python's own program at the pool, below the engine: one request and its reply in this process"
SHARE = 200
"""Calls measured together; the lowest of the results is the one that other programs of the machine disturbed least."""


class Size(NamedTuple):
    """How many calls and kills are measured."""

    calls: int
    kills: int


SMALL, FULL = Size(5_000, 10), Size(100_000, 50)


async def warm(calls: int) -> Mapping[str, float]:
    """Return the CPU microseconds of this process, and the wall-clock microseconds, for each of *calls* warm calls."""
    pool = Pool(BoxPlan("box", COMMAND, memory=256 << 20))
    await pool.call(("echo",), {})
    walls, cpus = [], []
    for _ in range(calls // SHARE):
        before = time.process_time()
        for _ in range(SHARE):
            began = time.perf_counter()
            await pool.call(("echo", 7), {})
            walls.append((time.perf_counter() - began) * 1e6)
        cpus.append((time.process_time() - before) * 1e6 / SHARE)
    pool.close()
    return {
        "warm_cpu_least_us": min(cpus), "warm_cpu_us": statistics.median(cpus), "warm_wall_us": statistics.median(walls),
        "warm_wall_p99_us": sorted(walls)[len(walls) * 99 // 100],
    }  # fmt: skip


async def noisy(calls: int) -> Mapping[str, float]:
    """Return how many of *calls* calls of a noisy program, four at a time, got the reply of another call or no reply."""
    pool = Pool(BoxPlan("box", COMMAND, pool=4))
    mismatched = 0

    async def share(first: int) -> None:
        nonlocal mismatched
        for number in range(first, calls, 4):
            mismatched += await pool.call(("noisy", number, 1), {}) != number + 1

    await asyncio.gather(*(share(first) for first in range(4)))
    pool.close()
    return {"noisy_calls": calls, "mismatched": mismatched}


async def kills(count: int) -> Mapping[str, float]:
    """Return the milliseconds after its deadline at which a call of a program that hangs has ended, and its group was killed."""
    pool, late = Pool(BoxPlan("box", COMMAND, timeout=TIMEOUT)), []
    for _ in range(count):
        began = time.perf_counter()
        try:
            await pool.call(("hang",), {})
        except BoxTimeout:
            late.append((time.perf_counter() - began - TIMEOUT) * 1e3)
    return {"kill_late_ms": statistics.median(late), "kill_late_most_ms": max(late)}


def section(size: Size = SMALL) -> Section:
    """Return the numbers for the report."""
    return Section("Boxed tasks", HOW, asyncio.run(measured(size)))


async def measured(size: Size) -> list[Entry]:
    """Return all numbers."""
    CURRENT.set(TaskContext(Command(id="call", task="box", task_id="call"), fence=1, deadline=time.time() + 3_600, clock=1))
    call, noise, late = await warm(size.calls), await noisy(size.calls), await kills(size.kills)
    return [
        Entry("a warm call", call["warm_wall_us"], "µs", Target(WARM_US), {"p99": call["warm_wall_p99_us"]}),
        Entry("a warm call: CPU of the worker", call["warm_cpu_us"], "µs", more={"least": call["warm_cpu_least_us"]}),
        Entry(f"{size.calls} calls of a noisy program: mismatched replies", noise["mismatched"], "", Target(0)),
        Entry(f"{size.kills} kills: latest", late["kill_late_most_ms"], "ms", Target(KILL_MS), {"median": late["kill_late_ms"]}),
    ]  # fmt: skip


def main(given: Sequence[str] | None = None) -> None:
    """Measure, print and write build/bench/boxes.json."""
    words = "Measure calls and kills of boxed tasks."
    report.measure_alone("boxes", words, "a minute", lambda full: section(FULL if full else SMALL), given)


if __name__ == "__main__":
    main()
