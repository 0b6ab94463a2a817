"""Taskiq's receiver: it reads the message, runs the task and passes the result to the in-memory back end."""

from __future__ import annotations

import asyncio
import json

from taskiq import InMemoryBroker
from taskiq.receiver import Receiver

from benchmarks.contenders.serving import Contender, Run, serve

broker = InMemoryBroker()


@broker.task(task_name="bench.add")  # type: ignore[untyped-decorator] # the type checker's environment does not have it
async def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def receiving() -> Contender:
    """Return the receiver."""
    loop = asyncio.new_event_loop()
    receiver = Receiver(broker)

    async def receive(messages: list[bytes]) -> None:
        for message in messages:
            await receiver.callback(message)

    def contender(tasks: int) -> Run:
        messages = [_message(number) for number in range(tasks)]
        return lambda: loop.run_until_complete(receive(messages))

    return contender


def _message(number: int) -> bytes:
    return json.dumps({
        "task_id": f"{number:032x}", "task_name": "bench.add", "labels": {}, "labels_types": {}, "args": [1, 2], "kwargs": {},
    }).encode()  # fmt: skip


if __name__ == "__main__":
    serve({"receiver": receiving})
