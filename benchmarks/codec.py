"""Reading and writing messages: CPU against plain `json`, and the memory of a large one."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

from benchmarks.contest import contest
from benchmarks.report import Entry, Section
from benchmarks.sizes import message
from sedano.model.messages import codec
from sedano.model.messages.message import Command

TASKS = 1_000
ROUNDS = 9
CONTENDERS = {
    "decode add(1, 2)": ("engine", "decode"),
    "encode add(1, 2)": ("engine", "encode"),
    "json.loads of the same": ("bare_python", "loads"),
    "json.dumps of the same": ("bare_python", "dumps"),
}
LARGE = 1_000_000
HOW = "µs of CPU a message, best round; memory at its peak while one message of 1 MB is read"


def section(progress: Callable[[], None]) -> Section:
    """Return the numbers for the report."""
    samples = contest(CONTENDERS, TASKS, ROUNDS, progress)
    entries = [Entry(name, min(sample.cpu for sample in found) * 1e6, "µs") for name, found in samples.items()]
    milliseconds, megabytes = large()
    return Section("Codec", HOW, [*entries, Entry("decode 1 MB", milliseconds, "ms"), Entry("memory to decode 1 MB", megabytes, "MB")])


def large() -> tuple[float, float]:
    """Return the CPU milliseconds to read a message of 1 MB, and the megabytes that are in use meanwhile in addition to its text."""
    small = codec.decode(message())
    if not isinstance(small, Command):
        raise TypeError("not a command")
    room = LARGE - len(message())
    body = codec.encode(Command(small.id, small.task_id, small.task, small.source, small.time, small.clock, ([1] * (room // 2),)))
    began = time.process_time()
    codec.decode(body)
    seconds = time.process_time() - began
    tracemalloc.start()
    codec.decode(body)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return seconds * 1e3, peak / 1e6
