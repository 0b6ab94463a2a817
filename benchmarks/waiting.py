"""Tasks that wait: ten `async` bodies of a second each in one batch share one event loop."""

from __future__ import annotations

import time

from benchmarks.report import Entry, Section, Target
from benchmarks.stubs import instant_ports
from benchmarks.tasks import waiting
from sedano.engine.drafts import CommandDraft, Composer
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.model.history.run_rows import Host
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import Command
from sedano.ports import Delivery

TASKS = 10
SECONDS = 1.0
TARGET_S = 1.2


def seconds() -> float:
    """Return how long one batch of `TASKS` tasks of `SECONDS` takes."""
    ports = instant_ports()
    worker = Worker(waiting.registry, ports, Host("bench.1.00000000", 1), WorkerSettings(), waiting.run_loop())
    composer = Composer("bench@host", LamportClock(lambda: int(ports.clock.now() * 1e6)), ports)
    drafts = [CommandDraft("default", Command("", ports.entropy.uuid(), "waiting.nap", args=(SECONDS,))) for _ in range(TASKS)]
    batch = [Delivery("commands:default", f"m-{n}", f"r-{n}", composer.compose(d).outgoing.body) for n, d in enumerate(drafts)]
    began = time.perf_counter()
    if worker.work(batch, ports.clock.now() + 900):
        raise AssertionError("a message was returned to the queue")
    return time.perf_counter() - began


def section() -> Section:
    """Return the number for the report."""
    how = f"{TASKS} claimed async tasks of {SECONDS:g} s in one batch, one worker"
    return Section("Waiting together", how, [Entry("wall time of the batch", seconds(), "s", Target(TARGET_S))])
