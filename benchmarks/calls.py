"""AWS calls per task, counted where botocore makes them: the real worker and the real adapters over moto.

The calls of Lambda's own poller (receive, delete) are not sedano's and are not counted. A worker's heartbeat (one write a minute) happens
before the count. moto is not atomic across threads, so tasks do not run on lanes here; this changes the waits, not the calls.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from moto import mock_aws

from benchmarks import tasks
from benchmarks.report import Entry, Section, Target
from sedano import group, memory
from sedano.aws.client.session import Session
from sedano.aws.ledger import DynamoLedger
from sedano.aws.machine import SystemEntropy
from sedano.aws.members import DynamoMembers
from sedano.aws.queues import SqsQueues
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.model.history.run_rows import Host
from sedano.ports import EVENTS, PARKED, RECORDS, command_queue
from sedano.task import Task

TASKS = 100
BATCH = 10
QUEUE = command_queue("default")
REGION = {"AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
READS = ("dynamodb.GetItem", "dynamodb.BatchGetItem", "dynamodb.Query")
WRITES = ("dynamodb.UpdateItem", "dynamodb.PutItem", "dynamodb.TransactWriteItems")


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of *tasks* tasks, by service.Operation: to publish them and to process them."""

    publish: Mapping[str, int]
    work: Mapping[str, int]
    tasks: int = TASKS

    def writes(self) -> float:
        """Return the ledger's writes a task."""
        return sum(self.work.get(name, 0) for name in WRITES) / self.tasks

    def reads(self) -> float:
        """Return the ledger's reads a task."""
        return sum(self.work.get(name, 0) for name in READS) / self.tasks

    def sends(self) -> float:
        """Return the worker's sends a task: its history."""
        return self.work.get("sqs.SendMessageBatch", 0) / self.tasks

    def published(self) -> float:
        """Return all calls of publishing, a task."""
        return sum(self.publish.values()) / self.tasks


class Deployment:
    """One app's tables and queues on moto, its ports over them, and a worker."""

    def __init__(self) -> None:
        """Create everything; moto must be active."""
        self.session = Session()
        self._before: Counter[str] = Counter()
        sqs, dynamodb = self.session.client("sqs"), self.session.client("dynamodb")
        urls = {key: sqs.create_queue(QueueName=key.replace(":", "-"))["QueueUrl"] for key in (QUEUE, EVENTS, RECORDS, PARKED)}
        for name in ("ledger", "control"):
            dynamodb.create_table(
                TableName=name, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            )  # fmt: skip
        self.ports = replace(
            memory.ports(), ledger=DynamoLedger(dynamodb, "ledger", lanes=1), queues=SqsQueues(sqs, urls),
            members=DynamoMembers(dynamodb, "control"), clock=memory.VirtualClock(time.time()), entropy=SystemEntropy(),
        )  # fmt: skip
        self.worker = Worker(tasks.app.registry, self.ports, Host("bench.1.00000000", 1), WorkerSettings(lanes=0), None)
        self.worker.work([], self.ports.clock.now() + 900)

    def publish(self, task: Task[[int, int], Any], number_of: int, together: bool) -> None:
        """Publish *number_of* tasks in a block of `app.batch()`, or as a group."""
        if together:
            group([task.s(number, 1) for number in range(number_of)]).delay()
            return
        with tasks.app.batch():
            for number in range(number_of):
                task.delay(number, 1)

    def work_off(self) -> None:
        """Receive and process batches of ten until the queue is empty."""
        while deliveries := self.ports.queues.receive(QUEUE, BATCH):
            if self.worker.work(deliveries, self.ports.clock.now() + 900):
                raise AssertionError("a message was returned to the queue")
            self.ports.queues.delete(deliveries)

    def count(self, task: Task[[int, int], Any], number_of: int, together: bool = False) -> Calls:
        """Return the calls of *number_of* tasks of *task*."""
        self._since()
        self.publish(task, number_of, together)
        published = self._since()
        self.work_off()
        polled = ("sqs.ReceiveMessage", "sqs.DeleteMessageBatch")
        return Calls(published, {name: number for name, number in self._since().items() if name not in polled}, number_of)

    def _since(self) -> Counter[str]:
        before, self._before = self._before, Counter(self.session.calls)
        return self._before - before


def counted(number_of: int = TASKS) -> dict[str, Calls]:
    """Return the calls of each kind of delivery, for *number_of* tasks each, and of a group."""
    os.environ.update(REGION)
    with mock_aws():
        deployment = Deployment()
        tasks.app.attach(deployment.ports)
        try:
            modes: dict[str, Task[[int, int], Any]] = {"claimed": tasks.add, "record_once": tasks.once, "at_least_once": tasks.plain}
            found = {name: deployment.count(task, number_of) for name, task in modes.items()}
            return {**found, "group": deployment.count(tasks.add, number_of, together=True)}
        finally:
            tasks.app.attach(None)


def section() -> Section:
    """Return the numbers for the report."""
    calls = counted()
    writes = {"claimed": 2, "record_once": 1, "at_least_once": 0}
    entries = [
        Entry("publish under app.batch()", calls["claimed"].published(), "calls", Target(0.1)),
        Entry("publish a group", calls["group"].published(), "calls", Target(0.1)),
        *(Entry(f"ledger writes, {name}", calls[name].writes(), "writes", Target(most)) for name, most in writes.items()),
        Entry("ledger reads, most of all", max(c.reads() for c in calls.values()), "reads", Target(0)),
        Entry("history, one packed message a batch", calls["claimed"].sends(), "sends", Target(0.1)),
    ]
    how = f"{TASKS} tasks in batches of {BATCH} over moto, counted at botocore; Celery on SQS: 1 to publish, 1 Get + 1 Put for a result"
    return Section("AWS calls a task", how, entries)
