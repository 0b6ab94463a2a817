"""The framework's own CPU for a task that does nothing, sedano and the peers, each in its own process, in turns."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

from benchmarks.contest import Sample, contest, ratio
from benchmarks.report import Entry, Section, Target

TASKS = 1_000
ROUNDS = 15
YARDSTICK = "Celery: trace alone"
OF_YARDSTICK = "of Celery's trace"
OURS = {
    "sedano: at least once": (("engine", "at-least-once"), Target(15)),
    "sedano: claimed, with result": (("engine", "claimed"), Target(28)),
    "sedano: claimed, over its adapter": (("engine", "claimed-adapter"), None),
    "sedano: claimed, without lanes": (("engine", "claimed-no-lanes"), None),
    "sedano: recorded once": (("engine", "record-once"), None),
}
PEERS = {
    YARDSTICK: ("celery_tasks", "trace"),
    "Celery: eager": ("celery_tasks", "eager"),
    "Taskiq: receiver": ("taskiq_tasks", "receiver"),
    "Dramatiq: worker on its stub": ("dramatiq_tasks", "stub"),
    "Powertools: batch": ("powertools_handler", "batch"),
    "Powertools: batch with idempotency": ("powertools_handler", "idempotency"),
    "bare: json, call, json": ("bare_python", "call"),
}
TRACE_US = 14
"""The time of Celery's trace on the machine for which the targets were set; on another machine, compare the ratio."""
HOW = (
    "CPU (user and system) a task, AWS client excluded (`Handler CPU` includes it). Powertools' idempotency is stubbed below its adapter:\n"
    "  compare it with `claimed, over its adapter`, because sedano's other figures are stubbed above it; sedano: from the message's text\n"
    "  to the acknowledgement, in batches of ten\n"
    f"  (the targets in µs were set on a machine where Celery's trace takes {TRACE_US})"
)


def section(progress: Callable[[], None]) -> Section:
    """Return the numbers for the report."""
    contenders = {name: which for name, (which, _) in OURS.items()} | PEERS
    samples = contest(contenders, TASKS, ROUNDS, progress)
    targets = {name: target for name, (_, target) in OURS.items()}
    entries = [_entry(name, samples, targets.get(name)) for name in contenders if name in samples]
    entries += [_relative(entry, entry.target) for entry in entries if entry.target is not None and OF_YARDSTICK in entry.more]
    return Section("Framework CPU", HOW, entries)


def _entry(name: str, samples: Mapping[str, Sequence[Sample]], target: Target | None) -> Entry:
    cpu = [sample.cpu for sample in samples[name]]
    more = {"best": min(cpu) * 1e6}
    if YARDSTICK in samples:
        more[OF_YARDSTICK] = ratio(cpu, [sample.cpu for sample in samples[YARDSTICK]])
    return Entry(name, statistics.median(cpu) * 1e6, "µs", target, more)


def _relative(entry: Entry, target: Target) -> Entry:
    """Return *entry* as a share of Celery's trace, which varies with the machine in the same way."""
    return Entry(f"{entry.name}, {OF_YARDSTICK}", entry.more[OF_YARDSTICK], "times", Target(round(target.value / TRACE_US, 2)))
