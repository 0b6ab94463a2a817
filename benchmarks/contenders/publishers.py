"""Publishing to a queue on loopback (`benchmarks.endpoint`): by hand with boto3, with sedano, and with Celery."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import boto3
from celery import Celery  # type: ignore[import-untyped] # it ships no types

from benchmarks.contenders.serving import Contender, serve
from benchmarks.tasks import add, app

BATCH = 10


def by_hand() -> Contender:
    """Return code without a framework: ids, JSON, `send_message_batch` of ten."""
    client, url = boto3.client("sqs"), os.environ["BENCH_QUEUE"]

    def publish(tasks: int) -> None:
        for start in range(0, tasks, BATCH):
            answer = client.send_message_batch(QueueUrl=url, Entries=list(_entries(start)))
            if answer.get("Failed"):
                raise AssertionError("a message was refused")

    return lambda tasks: lambda: publish(tasks)


def _entries(start: int) -> Iterator[Any]:
    for number in range(start, start + BATCH):
        body = json.dumps({"task": "bench.add", "id": str(uuid4()), "args": [number, 2], "kwargs": {}})
        yield {"Id": str(number), "MessageBody": body}


def in_a_batch() -> Contender:
    """Return sedano's `delay` under `app.batch()`."""

    def publish(tasks: int) -> None:
        with app.batch():
            for number in range(tasks):
                add.delay(number, 2)

    return lambda tasks: lambda: publish(tasks)


def one_by_one() -> Contender:
    """Return sedano's `delay`, with one call for each task."""
    return lambda tasks: lambda: [add.delay(number, 2) for number in range(tasks)]


def celery() -> Contender:
    """Return Celery's `send_task` over its SQS transport, with one call for each task."""
    there = Celery("bench", broker="sqs://", set_as_current=False)
    queues = {"celery": {"url": os.environ["BENCH_QUEUE"]}}
    there.conf.update(broker_transport_options={"predefined_queues": queues, "region": "us-east-1"}, task_ignore_result=True)
    return lambda tasks: lambda: [there.send_task("bench.add", (number, 2)) for number in range(tasks)]


if __name__ == "__main__":
    serve({"by-hand": by_hand, "batch": in_a_batch, "delay": one_by_one, "celery": celery})
