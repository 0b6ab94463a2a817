"""sedano over one SQLite file: a program publishes tasks that do nothing, and a worker processes them, including their acknowledgement.

The file is on the machine's disk, as in a deployment: real time, real transactions, the write-ahead log as it is shipped.
"""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks.contenders.serving import Contender, Run, serve
from benchmarks.tasks import add, app
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.host import one_file
from sedano.model.history.run_rows import Host
from sedano.ports import Ports, command_queue

QUEUE = command_queue("default")


def opened() -> Ports:
    """Return ports over a new file, which the app uses too."""
    ports = one_file.ports(Path(tempfile.mkdtemp(prefix="sedano-bench-")) / "bench.db")
    app.attach(ports)
    return ports


def publish(tasks: int, together: int) -> None:
    """Publish *tasks* calls, *together* in one publication."""
    for _ in range(0, tasks, together):
        if together == 1:
            add.delay(1, 2)
        else:
            with app.batch():
                for _ in range(together):
                    add.delay(1, 2)


def publishing(together: int) -> Contender:
    """Return a contender that publishes calls, *together* in one publication."""
    opened()
    return lambda tasks: partial(publish, tasks, together)


def working(settings: WorkerSettings) -> Contender:
    """Return a worker whose queue is filled before each measurement."""
    ports = opened()
    built = Worker(app.registry, ports, Host("bench.1.00000000", 1), settings, app.run_loop())

    def contender(tasks: int) -> Run:
        publish(tasks, min(100, tasks))
        return partial(work_off, built, ports, tasks)

    return contender


def work_off(built: Worker, ports: Ports, tasks: int) -> None:
    """Receive, process and delete until the queue is empty; a message that was not finished ends the measurement."""
    done = 0
    while deliveries := ports.queues.receive(QUEUE):
        if built.work(deliveries, time.time() + 30):
            raise AssertionError("a message was returned to the queue")
        ports.queues.delete(deliveries)
        done += len(deliveries)
    if done != tasks or ports.consumers.load(QUEUE) != (0, 0):
        raise AssertionError(f"{done} messages arrived for {tasks} tasks, or some are left")


if __name__ == "__main__":
    serve({
        "work": partial(working, WorkerSettings()),
        "work-no-lanes": partial(working, WorkerSettings(lanes=0)),
        "publish": partial(publishing, 1),
        "publish-together": partial(publishing, 100),
    })  # fmt: skip
