"""The worker of Dramatiq over SQS, with ten tasks at once, for `benchmarks.worker_peers`; `--body` prints one message."""

from __future__ import annotations

import threading
from base64 import b64encode

import dramatiq as library
from dramatiq_sqs import SQSBroker

from benchmarks.contenders.peer_workers import AT_ONCE, QUEUE, Peer, serve_peer


def dramatiq() -> Peer:
    """Return Dramatiq with ten threads."""

    broker = SQSBroker()
    library.set_broker(broker)

    @library.actor(broker=broker, queue_name=QUEUE, actor_name="bench.plain")  # type: ignore[untyped-decorator] # as Taskiq's
    def plain(a: int, b: int) -> None:
        """Do nothing."""

    def work() -> None:
        worker = library.Worker(broker, worker_threads=AT_ONCE)
        worker.start()
        threading.Event().wait()

    return Peer(work, lambda: b64encode(plain.message(1, 2).encode()).decode())


if __name__ == "__main__":
    serve_peer(dramatiq())
