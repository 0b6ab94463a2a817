"""sedano's worker over ports that answer at once: everything from the message's text to the acknowledgement, in batches of ten."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from benchmarks.contenders.serving import Contender, Run, serve
from benchmarks.stubs import adapter_ports, client_ports, instant_ports, loopback_ports
from benchmarks.tasks import add, app, once, plain
from sedano.engine.drafts import CommandDraft, Composer
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.model.history.run_rows import Host
from sedano.model.messages import codec
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import Command
from sedano.ports import Delivery, Ports

BATCH = 10
Batch = list[Delivery]


def batches(ports: Ports, task: str, tasks: int) -> list[Batch]:
    """Return *tasks* messages of *task*, as a queue delivers them."""
    composer = Composer("bench@host", LamportClock(lambda: int(ports.clock.now() * 1e6)), ports)
    drafts = [CommandDraft("default", Command("", ports.entropy.uuid(), task, args=(1, 2))) for _ in range(tasks)]
    bodies = [composer.compose(draft).outgoing.body for draft in drafts]
    deliveries = [Delivery("commands:default", f"m-{n}", f"r-{n}", body) for n, body in enumerate(bodies)]
    return [deliveries[start : start + BATCH] for start in range(0, tasks, BATCH)]


def worker(task: str, settings: WorkerSettings, made: Callable[[], Ports] = instant_ports) -> Contender:
    """Return a worker that processes messages of *task* over the ports that *made* returns."""
    ports = made()
    built = Worker(app.registry, ports, Host("bench.1.00000000", 1), settings, app.run_loop())

    def contender(tasks: int) -> Run:
        return partial(work_off, built, batches(ports, task, tasks))

    return contender


def work_off(built: Worker, work: list[Batch]) -> None:
    """Process all batches; a message that was not finished ends the measurement."""
    deadline = time.time() + 900
    for batch in work:
        if built.work(batch, deadline):
            raise AssertionError("a message was returned to the queue")


def decoding() -> Contender:
    """Return the decoder of messages."""
    ports = instant_ports()

    def contender(tasks: int) -> Run:
        bodies = [delivery.body for batch in batches(ports, add.name, tasks) for delivery in batch]
        return lambda: [codec.decode(body) for body in bodies]

    return contender


def encoding() -> Contender:
    """Return the encoder of messages."""
    ports = instant_ports()

    def contender(tasks: int) -> Run:
        messages = [codec.decode(delivery.body) for batch in batches(ports, add.name, tasks) for delivery in batch]
        return lambda: [codec.encode(message) for message in messages]

    return contender


if __name__ == "__main__":
    serve({
        "claimed": partial(worker, add.name, WorkerSettings()),
        "claimed-no-lanes": partial(worker, add.name, WorkerSettings(lanes=0)),
        "record-once": partial(worker, once.name, WorkerSettings()),
        "at-least-once": partial(worker, plain.name, WorkerSettings()),
        "claimed-adapter": partial(worker, add.name, WorkerSettings(), adapter_ports),
        "claimed-client": partial(worker, add.name, WorkerSettings(), client_ports),
        "record-once-client": partial(worker, once.name, WorkerSettings(), client_ports),
        "claimed-loopback": partial(worker, add.name, WorkerSettings(), partial(loopback_ports, slim=False)),
        "claimed-loopback-slim": partial(worker, add.name, WorkerSettings(), partial(loopback_ports, slim=True)),
        "claimed-loopback-grouped": partial(worker, add.name, WorkerSettings(), partial(loopback_ports, slim=False, grouped=True)),
        "claimed-loopback-slim-grouped": partial(worker, add.name, WorkerSettings(), partial(loopback_ports, slim=True, grouped=True)),
        "decode": decoding,
        "encode": encoding,
    })  # fmt: skip
