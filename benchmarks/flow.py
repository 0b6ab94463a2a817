"""Limits and fairness: the used share of a rate, the cost of a task that waits for its slot, and the waits of quiet tenants.

The rate: several of the shipped workers process a backlog over the ports in memory, on virtual time; calls of the store and starts are
recorded. That a limit holds under crashes and different clocks is proven by simulation (`tests/simulation/limits.py`), not here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from benchmarks.fairness import Crowd, percentile, waits
from benchmarks.report import Entry, Section, Target
from sedano import Sedano, memory
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.model.history.run_rows import Host
from sedano.ports import Ports, command_queue

WORKERS, TASKS = 8, 1_500
COMMANDS = command_queue("default")
WRITES, READS = ("begin", "join", "turn"), ("line",)
CONSUMERS, TENANTS, NOISE, SECONDS = 100, 40, 100.0, 90.0
LOADS = (0.5, 0.7, 0.8, 0.9)


class Worked(NamedTuple):
    """The result of a backlog: the start of each task, and the calls of the store of limits by name."""

    starts: Sequence[float]
    calls: Counter[str]

    @property
    def rate(self) -> float:
        """The starts a second, from the first to the last."""
        return (len(self.starts) - 1) / (self.starts[-1] - self.starts[0])

    def most_in(self, seconds: float) -> int:
        """Return the most starts in any period of *seconds*."""
        last, most = 0, 0
        for first, moment in enumerate(self.starts):
            while last < len(self.starts) and self.starts[last] < moment + seconds:
                last += 1
            most = max(most, last - first)
        return most


def backlog(rate: str, tasks: int = TASKS, workers: int = WORKERS) -> Worked:
    """Let *workers* workers process *tasks* tasks that are published at once and may start at *rate*."""
    app, ports = Sedano("bench"), memory.ports()
    starts: list[float] = []

    @app.task(name="limited", rate=rate)
    def limited() -> None:
        starts.append(ports.clock.now())

    calls = _counted(ports)
    app.attach(ports)
    with app.batch():
        for _ in range(tasks):
            limited.delay()
    built = [Worker(app.registry, ports, Host(f"bench.{n}.0", n), WorkerSettings(lanes=0), None) for n in range(workers)]
    _drain(ports, built)
    return Worked(sorted(starts), calls)


def _counted(ports: Ports) -> Counter[str]:
    """Count the calls of the store of limits from now on."""
    calls: Counter[str] = Counter()
    limits: Any = ports.limits

    def counting(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def made(*given: Any) -> Any:
            calls[name] += 1
            return call(*given)

        return made

    for name in (*WRITES, *READS):
        setattr(limits, name, counting(name, getattr(limits, name)))
    return calls


def _drain(ports: Ports, workers: Sequence[Worker]) -> None:
    """Give batches to the workers in turn, and advance time to the next message, until no message is left."""
    queues: Any = ports.queues
    clock = ports.clock
    turns = _endless(workers)
    while (due := queues.next_visible(COMMANDS)) is not None:
        clock.sleep(max(0.0, due - clock.now()))
        for worker in (next(turns) for _ in workers):
            deliveries = queues.receive(COMMANDS)
            given_back = worker.work(deliveries, clock.now() + 900.0)
            queues.delete([delivery for delivery in deliveries if delivery not in given_back])


def _endless(workers: Sequence[Worker]) -> Iterator[Worker]:
    while True:
        yield from workers


def section_of_rates() -> Section:
    """Return the numbers of rate limits for the report."""
    entries: list[Entry] = []
    for rate, each, window in (("200/m", 200 / 60, 60.0), ("10/s", 10.0, 1.0)):
        found = backlog(rate)
        writes = sum(found.calls[name] for name in WRITES) / TASKS
        entries += [
            Entry(f"{rate}: share of the rate that is used", found.rate / each, "", Target(0.95, "least")),
            Entry(f"{rate}: writes an admitted task", writes, "", Target(1.1), dict(found.calls)),
            Entry(f"{rate}: reads of a task that waits", sum(found.calls[name] for name in READS), "", Target(0)),
            Entry(f"{rate}: most starts in any {window:g} s", found.most_in(window), "tasks", Target((window + 2) * each + 1)),
        ]
    how = f"{TASKS} tasks at once, {WORKERS} workers with batches of ten, virtual time; the queue delays by whole seconds"
    return Section("Rate limits", how, entries)


def section_of_fairness() -> Section:
    """Return how long quiet tenants wait behind a noisy one."""
    entries: list[Entry] = []
    for load in LOADS:
        each = load * CONSUMERS / 0.5 / TENANTS
        quiet, noisy, unfair = (
            waits(Crowd(TENANTS, each, noise), CONSUMERS, fair=fair, seconds=SECONDS, seed=1)
            for noise, fair in ((0.0, True), (NOISE, True), (NOISE, False))
        )
        alone, fair_s, unfair_s = (percentile([wait + took for wait, took in found], 0.95) for found in (quiet, noisy, unfair))
        more = {
            "p95_alone_s": round(alone, 3), "p95_beside_s": round(fair_s, 3), "p95_without_tenant_s": round(unfair_s, 1),
            "wait_alone_s": round(percentile([wait for wait, _ in quiet], 0.95), 3),
            "wait_beside_s": round(percentile([wait for wait, _ in noisy], 0.95), 3),
        }  # fmt: skip
        entries.append(Entry(f"quiet tenants use {load:.0%}: p95, times as long", fair_s / alone, "", Target(2.0), more))
    how = (
        f"{TENANTS} quiet tenants, one that publishes {NOISE:g} times as much as each, {CONSUMERS} consumers, tasks of half a second on "
        f"average; from publication to the end; the documented rules of SQS fair queues, simulated for {SECONDS:g} s"
    )
    return Section("Fairness", how, entries)
