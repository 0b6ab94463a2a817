"""The workers of other task queues over SQS, with ten tasks at once, as `benchmarks.worker_peers` compares them.

    python -m benchmarks.contenders.peer_workers celery             # works until it is ended
    python -m benchmarks.contenders.peer_workers celery --body      # prints one message, as this queue sends it

Each is set up as its own documentation does it: one process, no result stored, and its SQS broker with the client that the broker brings
(Celery: pycurl, Dramatiq: boto3, Taskiq: an asyncio client).
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import NamedTuple

AT_ONCE = 10
QUEUE = "bench"


class Peer(NamedTuple):
    """A task queue: *work* runs its worker, *body* returns one message."""

    work: Callable[[], object]
    body: Callable[[], str]


def celery() -> Peer:
    """Return Celery with a pool of threads."""
    from celery import Celery  # type: ignore[import-untyped] # it ships no types

    url = os.environ["AWS_ENDPOINT_URL"]
    app = Celery("bench", broker=f"sqs://bench:bench@{url.removeprefix('http://')}", set_as_current=False)
    app.conf.update(
        task_default_queue=QUEUE, worker_enable_remote_control=False, task_ignore_result=True,
        broker_transport_options={
            "region": "us-east-1", "is_secure": False,
            "predefined_queues": {QUEUE: {"url": os.environ["BENCH_QUEUE"], "access_key_id": "bench", "secret_access_key": "bench"}},
        },
    )  # fmt: skip

    @app.task(name="bench.plain")  # type: ignore[untyped-decorator] # it ships no types
    def plain(a: int, b: int) -> None:
        """Do nothing."""

    def body() -> str:
        import boto3

        plain.apply_async((1, 2))
        queue = boto3.client("sqs")
        found = queue.receive_message(QueueUrl=os.environ["BENCH_QUEUE"], WaitTimeSeconds=5)["Messages"][0]
        queue.delete_message(QueueUrl=os.environ["BENCH_QUEUE"], ReceiptHandle=found["ReceiptHandle"])
        sent: str = found["Body"]
        return sent

    lean = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    return Peer(lambda: app.worker_main(["worker", "--pool", "threads", "-c", str(AT_ONCE), *lean]), body)


def dramatiq() -> Peer:
    """Return Dramatiq with ten threads."""
    import dramatiq as library
    from dramatiq_sqs import SQSBroker

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


def taskiq() -> Peer:
    """Return Taskiq with ten tasks at once."""
    from taskiq.api import run_receiver_task
    from taskiq.message import TaskiqMessage
    from taskiq_sqs import SQSBroker

    queue = {"name": QUEUE, "max_number_of_messages": 10, "wait_time_seconds": 20}
    broker = SQSBroker(queue, os.environ["AWS_ENDPOINT_URL"], "us-east-1", "bench", "bench")

    @broker.task(task_name="bench.plain")  # type: ignore[untyped-decorator] # the type checker's environment does not have it
    async def plain(a: int, b: int) -> None:
        """Do nothing."""

    async def work() -> None:
        await broker.startup()
        await run_receiver_task(broker, max_async_tasks=AT_ONCE)

    def body() -> str:
        message = TaskiqMessage(task_id="bench", task_name="bench.plain", labels={}, args=[1, 2], kwargs={})
        sent: str = broker.formatter.dumps(message).message.decode()
        return sent

    return Peer(lambda: asyncio.run(work()), body)


PEERS: Mapping[str, Callable[[], Peer]] = {"celery": celery, "dramatiq": dramatiq, "taskiq": taskiq}

if __name__ == "__main__":
    chosen = PEERS[sys.argv[1]]()
    if "--body" in sys.argv[2:]:
        print(chosen.body())
    else:
        chosen.work()
