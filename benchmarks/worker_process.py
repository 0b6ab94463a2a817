"""CPU, calls and memory of one `sedano worker` process against SQS and DynamoDB on loopback (`endpoint.py`).

    python -m benchmarks.worker_process                        # plain and claimed tasks, 10 bodies at once
    python -m benchmarks.worker_process --beside ../before     # the same in turns with the library of another checkout, and the ratios
    python -m benchmarks.worker_process --memory 100000        # memory over so many tasks

CPU is user plus system time of the process, read from /proc before and after, so this runs on Linux. The messages are put into the queue
without a client, the endpoint is a process of its own, and each sample ends when the last message is deleted.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from benchmarks import report
from benchmarks.contenders.engine import batches
from benchmarks.publishing import ROOT, deployed, endpoint
from benchmarks.report import Entry, Section, Target
from benchmarks.stubs import instant_ports
from benchmarks.tasks import add, plain

BUILD = ROOT / "build" / "bench"
LANES, TASKS, ROUNDS, WARM_UP = 10, 2_000, 5, 300
AT_ONCE = 500
"""How many messages are put into the queue with one request."""
MOST_S = 600.0
TICKS = os.sysconf("SC_CLK_TCK")
KINDS = {"plain": plain.name, "claimed": add.name}
CALLS = ("ReceiveMessage", "UpdateItem", "SendMessageBatch", "DeleteMessageBatch", "DeleteMessage")
GROWTH = 0.05
"""By what part the memory of a process may grow after its warm-up."""
HOW = f"one process of `sedano worker -c {LANES}` over a counting endpoint on loopback; CPU of the process, user and system"


class Cost(NamedTuple):
    """What one sample of so many tasks took: CPU and wall seconds, and calls by their name, each for one task."""

    cpu: float
    wall: float
    calls: Mapping[str, float]


class ServedEndpoint:
    """The endpoint at *url*, as the side that measures sees it."""

    def __init__(self, url: str) -> None:
        """Make no request yet."""
        self.url = url
        self._queue = f"{url}/000000000000/bench"

    def fill(self, bodies: Sequence[str]) -> None:
        """Put messages into the queue."""
        for start in range(0, len(bodies), AT_ONCE):
            self._ask("/fill", {"url": self._queue, "bodies": bodies[start : start + AT_ONCE]})

    def begin(self) -> None:
        """Count anew."""
        self._ask("/counts")

    def until_deleted(self, tasks: int) -> Counter[str]:
        """Wait until so many messages are deleted, and return the counts."""
        return Counter(self._ask(f"/until/deleted/{tasks}"))

    def _ask(self, path: str, body: object = None) -> dict[str, int]:
        asked = urllib.request.Request(self.url + path, None if body is None else json.dumps(body).encode())  # noqa: S310 - on loopback
        with urllib.request.urlopen(asked, timeout=MOST_S) as answer:  # noqa: S310
            found: dict[str, int] = json.loads(answer.read())
            return found


class ServingWorker:
    """One process of `sedano worker` with the library of *tree*, and the endpoint that it works against."""

    kinds: Sequence[str] = tuple(KINDS.values())
    """The tasks that it can process."""

    def __init__(self, tree: Path, lanes: int = LANES, **own: str) -> None:
        """Start nothing yet. *own*: more variables of its environment."""
        self._tree, self._lanes, self._own, self._stack = tree, lanes, own, ExitStack()

    def __enter__(self) -> Self:
        self._endpoint = ServedEndpoint(self._stack.enter_context(endpoint("--keep")))
        self._begin()
        words, environment = self._command()
        environment = {**deployed(self._endpoint.url), **environment}
        self._process = subprocess.Popen(words, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for task in self.kinds:
            self.sample(task, WARM_UP)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        self._stack.close()

    def _begin(self) -> None:
        """Prepare what it needs of the endpoint."""

    def _command(self) -> tuple[list[str], dict[str, str]]:
        """Return the words that start it, and what it needs in the environment."""
        path = os.pathsep.join([str(self._tree / "layers" / "sedano" / "python"), str(ROOT)])
        words = [sys.executable, "-m", "sedano", "worker", "benchmarks.tasks:app", "-c", str(self._lanes), "--log", "json"]
        return words, {"PYTHONPATH": path, "SEDANO_SPOOL": "off", **self._own}

    def _bodies(self, task: str, tasks: int) -> list[str]:
        """Return so many messages of *task*."""
        return [delivery.body for batch in batches(instant_ports(), task, tasks) for delivery in batch]

    def sample(self, task: str, tasks: int) -> Cost:
        """Let it work off so many tasks."""
        bodies = self._bodies(task, tasks)
        self._endpoint.begin()
        cpu, wall = self._cpu(), time.perf_counter()
        self._endpoint.fill(bodies)
        counts = self._endpoint.until_deleted(tasks)
        wall, cpu = time.perf_counter() - wall, self._cpu() - cpu
        return Cost(cpu / tasks, wall / tasks, {name: counts[name] / tasks for name in CALLS})

    def memory(self) -> int:
        """Return how many bytes of memory the process has now."""
        return int(self._of_process("statm").split()[1]) * resource.getpagesize()

    def _cpu(self) -> float:
        """Return the CPU seconds that the process has used."""
        user, system = self._of_process("stat").rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / TICKS

    def _of_process(self, name: str) -> str:
        return Path(f"/proc/{self._process.pid}/{name}").read_text(encoding="ascii")


def section(tasks: int = TASKS, rounds: int = ROUNDS) -> Section:
    """Return the numbers of this checkout for the report."""
    with ServingWorker(ROOT) as worker:
        found = {kind: [worker.sample(task, tasks) for _ in range(rounds)] for kind, task in KINDS.items()}
    return Section("A worker process", HOW, [entry for kind, costs in found.items() for entry in _entries(kind, costs)])


def beside(tree: Path, tasks: int = TASKS, rounds: int = ROUNDS) -> Section:
    """Return the numbers of this checkout and those of *tree*, measured in turns, and the ratios of CPU."""
    entries: list[Entry] = []
    with ServingWorker(ROOT) as ours, ServingWorker(tree) as theirs:
        for kind, task in KINDS.items():
            pairs = [(ours.sample(task, tasks), theirs.sample(task, tasks)) for _ in range(rounds)]
            mine, others = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
            entries += [*_entries(kind, mine), *_entries(f"{kind}, before", others)]
            entries.append(Entry(f"{kind}: CPU, of before", statistics.median(a.cpu / b.cpu for a, b in pairs), "times"))
    return Section("A worker process beside another checkout", HOW, entries)


def memory(tasks: int, steps: int = 10) -> Section:
    """Return by how much the memory of a process grows over so many tasks, after a tenth of them."""
    step = tasks // steps
    with ServingWorker(ROOT) as worker:
        found = []
        for _ in range(steps):
            worker.sample(add.name, step)
            found.append(worker.memory())
    mebibytes = {"at first, MiB": found[0] / 2**20, "at most, MiB": max(found) / 2**20}
    growth = max(found) / found[0] - 1
    return Section("Memory of a worker process", HOW, [Entry(f"growth over {tasks} claimed tasks", growth, "", Target(GROWTH), mebibytes)])


def _entries(kind: str, costs: Sequence[Cost]) -> list[Entry]:
    calls = {name: statistics.median(cost.calls[name] for cost in costs) for name in CALLS}
    micro = statistics.median(cost.cpu for cost in costs) * 1e6
    rate = 1 / statistics.median(cost.wall for cost in costs)
    each = Entry(f"{kind}: CPU a task", micro, "µs", more={"tasks a second": rate})
    return [each, Entry(f"{kind}: calls a task", sum(calls.values()), "", more=calls)]


def main(given: Sequence[str] | None = None) -> None:
    """Measure, print and write build/bench/worker_process.json."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worker_process", description="Measure a process of sedano worker.")
    parser.add_argument("--beside", type=Path, metavar="DIR", help="another checkout, to compare with")
    parser.add_argument("--memory", type=int, metavar="TASKS", help="measure memory over so many tasks")
    asked, began = parser.parse_args(given), time.monotonic()
    found = memory(asked.memory) if asked.memory else beside(asked.beside.resolve()) if asked.beside else section()
    report.write(BUILD / "worker_process.json", [found], time.monotonic() - began)
    print(report.table([found]))


if __name__ == "__main__":
    main()
