"""Tasks a CPU-second over one SQLite file, which vary with the machine, and transactions for each task, which do not."""

from __future__ import annotations

import os
import statistics
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.contenders.one_file import work_off
from benchmarks.contest import Sample, contest
from benchmarks.report import Entry, Section, Target
from benchmarks.tasks import add, app
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.host import one_file
from sedano.model.history.run_rows import Host
from sedano.sqlite.store import Store

TASKS = 5_000
ROUNDS = 3
COUNTED = 100
MOST_TRANSACTIONS = 1.45
"""For ten tasks: receiving, claiming, the history and deleting take one each, and each outcome is recorded when its body has ended."""
OURS = {
    "sedano: claimed": ("work", Target(2_000, "least")),
    "sedano: claimed, without lanes": ("work-no-lanes", Target(2_000, "least")),
    "sedano: published one by one": ("publish", None),
    "sedano: published a hundred together": ("publish-together", None),
}
HOW = (
    "tasks that do nothing, per second of CPU (user and system, all threads) of the process that works or publishes: received in batches\n"
    "  of ten, claimed, run, recorded with a result, written to the history, deleted; real time, the write-ahead log as it is shipped"
)


def section(progress: Callable[[], None]) -> Section:
    """Return the numbers for the report."""
    contenders = {name: ("one_file", variant) for name, (variant, _) in OURS.items()}
    with tempfile.TemporaryDirectory(prefix="sedano-bench-") as folder:
        samples = contest(contenders, TASKS, ROUNDS, progress, {**os.environ, "TMPDIR": folder, "SEDANO_SPOOL": "off"})
    entries = [_entry(name, samples[name], target) for name, (_, target) in OURS.items() if name in samples]
    each = Entry("transactions a claimed task", transactions() / COUNTED, "", Target(MOST_TRANSACTIONS))
    return Section("One SQLite file", HOW, [*entries, each])


def transactions() -> int:
    """Return how many transactions that write a worker without lanes makes for `COUNTED` tasks in batches of ten."""
    with tempfile.TemporaryDirectory(prefix="sedano-bench-") as folder:
        ports: Any = one_file.ports(Path(folder) / "bench.db")
        app.attach(ports)
        worker = Worker(app.registry, ports, Host("bench.1.00000000", 1), WorkerSettings(lanes=0), app.run_loop())
        add.delay(1, 2)
        work_off(worker, ports, 1)
        with app.batch():
            for _ in range(COUNTED):
                add.delay(1, 2)
        store: Store = ports.queues._store  # noqa: SLF001 - the transactions of its connection are counted
        statements: Counter[str] = Counter()
        with store.changing() as database:
            database.set_trace_callback(lambda statement: statements.update([statement]))
        work_off(worker, ports, COUNTED)
        store.close()
        return statements["BEGIN IMMEDIATE"]


def _entry(name: str, samples: Sequence[Sample], target: Target | None) -> Entry:
    rates = [1 / sample.cpu for sample in samples]
    return Entry(name, statistics.median(rates), "a CPU-s", target, {"best": max(rates)})
