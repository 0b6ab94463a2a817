"""sedano over one SQLite file: a program publishes tasks that do nothing, and a worker takes them from the queue to the acknowledgement.

The file lies on the machine's disk and is the deployment's own: real time, real transactions, the write-ahead log as it is shipped.
"""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks.contenders.serving import Contender, Run, serve
from benchmarks.tasks import add, app
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.engine.worker_events import Host
from sedano.host import one_file
from sedano.ports import Ports, command_queue

QUEUE = command_queue("default")


def opened() -> Ports:
    """Return ports over a new file, which the app uses too."""
    ports = one_file.ports(Path(tempfile.mkdtemp(prefix="sedano-bench-")) / "bench.db")
    app.attach(ports)
    return ports


def publish(tasks: int, together: int) -> None:
    """Publish *tasks* calls, so many in one publication."""
    for _ in range(0, tasks, together):
        if together == 1:
            add.delay(1, 2)
        else:
            with app.batch():
                for _ in range(together):
                    add.delay(1, 2)


def publishing(together: int) -> Contender:
    """Return what publishes calls, so many together."""
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
    """Receive, work off and delete until the queue is empty; a message that was not finished ends the measurement."""
    done = 0
    while deliveries := ports.queues.receive(QUEUE):
        if built.work(deliveries, time.time() + 30):
            raise AssertionError("a message was given back")
        ports.queues.delete(deliveries)
        done += len(deliveries)
    if done != tasks or ports.consumers.load(QUEUE) != (0, 0):
        raise AssertionError(f"{done} messages came for {tasks} tasks, or some are left")


if __name__ == "__main__":
    serve({
        "work": partial(working, WorkerSettings()),
        "work-no-lanes": partial(working, WorkerSettings(lanes=0)),
        "publish": partial(publishing, 1),
        "publish-together": partial(publishing, 100),
    })  # fmt: skip
