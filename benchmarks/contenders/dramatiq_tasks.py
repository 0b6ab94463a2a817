"""Dramatiq's worker with one thread over its stub broker: messages wait in memory, the worker runs them."""

from __future__ import annotations

import threading

import dramatiq
from dramatiq.brokers.stub import StubBroker

from benchmarks.contenders.serving import Contender, Run, serve

done = threading.Semaphore(0)


def add(a: int, b: int) -> None:
    """Add, and signal the end."""
    done.release()


def working() -> Contender:
    """Return a worker that starts with the measurement."""
    workers: list[dramatiq.Worker] = []

    def contender(tasks: int) -> Run:
        while workers:
            workers.pop().stop()
        broker = StubBroker()
        actor = dramatiq.actor(broker=broker)(add)
        for _ in range(tasks):
            actor.send(1, 2)
        workers.append(dramatiq.Worker(broker, worker_threads=1))
        return lambda: _work(workers[0], tasks)

    return contender


def _work(worker: dramatiq.Worker, tasks: int) -> None:
    worker.start()
    for _ in range(tasks):
        done.acquire()


if __name__ == "__main__":
    serve({"stub": working})
