"""The worker of Taskiq over SQS, with ten tasks at once, for `benchmarks.worker_peers`; `--body` prints one message."""

from __future__ import annotations

import asyncio
import os

from taskiq.api import run_receiver_task
from taskiq.message import TaskiqMessage
from taskiq_sqs import SQSBroker

from benchmarks.contenders.peer_workers import AT_ONCE, QUEUE, Peer, serve_peer


def taskiq() -> Peer:
    """Return Taskiq with ten tasks at once."""

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


if __name__ == "__main__":
    serve_peer(taskiq())
