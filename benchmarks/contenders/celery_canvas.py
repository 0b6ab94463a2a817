"""Celery's canvas over its SQS transport with its DynamoDB back end: the sends and writes of each form, counted at botocore.

It runs as a process and prints one JSON object: by form the bytes of the first and of the longest message, and the calls. Celery's own
code publishes, receives (kombu's SQS transport), runs (`celery.worker.request.Request`), stores and counts the chord; SQS and DynamoDB are
moto's, in this process. Celery's worker loop is left out: it calls SQS through pycurl, which moto cannot replace, and adds only
receipts, which are not compared.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from queue import Empty
from typing import Any

from botocore import handlers
from celery import Celery, chain, chord, group  # type: ignore[import-untyped] # it ships no types
from celery.worker.request import Request  # type: ignore[import-untyped]
from moto import mock_aws

KEY = "testing"
WRITES = ("dynamodb.PutItem", "dynamodb.UpdateItem", "dynamodb.DeleteItem")
SENDS = ("sqs.SendMessage", "sqs.SendMessageBatch")
CALLS: Counter[str] = Counter()
BYTES: list[int] = []

app = Celery("peer", broker="sqs://", backend=f"dynamodb://{KEY}:{KEY}@us-east-1/results", set_as_current=True)
app.conf.update(
    broker_transport_options={"region": "us-east-1", "wait_time_seconds": 0}, task_default_queue="commands", worker_hijack_root_logger=False
)


@app.task(name="add")  # type: ignore[untyped-decorator] # likewise
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@app.task(name="total")  # type: ignore[untyped-decorator] # likewise
def total(values: list[int]) -> int:
    """Add all."""
    return sum(values)


def counted(params: dict[str, Any], model: Any, **_: Any) -> None:
    """Count one call of a client, from botocore's event."""
    CALLS[f"{model.service_model.service_name}.{model.name}"] += 1
    if model.name == "SendMessage":
        BYTES.append(len(params["MessageBody"]))


def worked_off() -> int:
    """Process the queue as a worker does, one message after the other; return the number of messages."""
    done = 0
    with app.connection_for_read() as connection:
        queue = connection.SimpleQueue("commands")
        while True:
            try:
                message = queue.get(block=False)
            except Empty:
                return done
            Request(message, app=app, on_ack=lambda _log, _errors, message=message: message.ack()).execute()
            done += 1


def taken(form: Any, expected: Any, tasks: int) -> dict[str, float]:
    """Return the cost of *form*, whose result after *tasks* tasks is *expected*."""
    CALLS.clear()
    BYTES.clear()
    result = form.apply_async()
    done = worked_off()
    calls = Counter(CALLS)
    if done != tasks or result.get(timeout=30) != expected:
        raise AssertionError(f"{done} messages of {tasks}, {result.state}")
    writes, sends = sum(calls[name] for name in WRITES), sum(calls[name] for name in SENDS)
    return {"first": BYTES[0], "longest": max(BYTES), "sends": sends, "writes": writes, "reads": calls["dynamodb.GetItem"]}


def main(links: int, members: int, header: int) -> None:
    """Measure a chain of *links*, a group of *members*, and a chord of *header* and its body."""
    forms = {
        "chain": (chain(add.s(0, 1), *(add.s(1) for _ in range(links - 1))), links, links),
        "group": (group(add.s(n, 1) for n in range(members)), [n + 1 for n in range(members)], members),
        "chord": (chord([add.s(n, 1) for n in range(header)], total.s()), header * (header + 1) // 2, header + 1),
    }
    os.environ.update(AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=KEY, AWS_DEFAULT_REGION="us-east-1")
    handlers.BUILTIN_HANDLERS.append(("before-parameter-build", counted))
    with mock_aws():
        print(json.dumps({name: taken(*form) for name, form in forms.items()}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
