"""What AWS would charge for a piece of work: the calls of every function, metered where botocore makes them, over moto.

SQS counts each started 64 KB of a call as one request, DynamoDB each started KB of the larger of an item's two states as one write unit and
each started 4 KB of a consistent read as one read unit. A poll that finds nothing is the idle queue's and is left out here.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import boto3
from moto import mock_aws

from infra.prices import LIST, MILLION
from sedano.app import Sedano
from sedano.aws.client.session import Session
from sedano.aws.deployment import ports_of
from sedano.aws.settings import DeploymentSettings
from sedano.engine.history.recorder import Recorder
from sedano.engine.router import Router
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.model.history.run_rows import Host
from sedano.ports import EVENTS, PARKED, RECORDS, Delivery, command_queue
from sedano.testing.strict_aws.dynamodb_values import item_size

REGION = {"AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
CHUNK, WRITE_UNIT, READ_UNIT = 64 * 1024, 1024, 4096
DOLLARS = {
    "sqs": LIST.sqs_request, "invocation": LIST.lambda_request, "write": LIST.dynamodb_write, "read": LIST.dynamodb_read,
    "put": LIST.s3_put, "get": LIST.s3_get,
}  # fmt: skip


def dollars(charged: Mapping[str, int]) -> float:
    """Return what the charged units cost."""
    return sum(DOLLARS[kind] * number for kind, number in charged.items()) / MILLION


class Meter:
    """Counts what the calls of a session are charged for."""

    def __init__(self, session: Session) -> None:
        """Meter the clients of *session*."""
        self.charged: Counter[str] = Counter()
        self._table, self._sizes = boto3.client("dynamodb"), dict[str, int]()
        for service, charge in (("sqs", self._sqs), ("dynamodb", self._dynamodb), ("s3", self._s3)):
            events = session.client(service).meta.events
            events.register(f"provide-client-params.{service}", lambda params, context, **_: context.update(given=params))
            events.register(f"after-call.{service}", charge)

    def _sqs(self, parsed: Mapping[str, Any], model: Any, context: Mapping[str, Any], **_: Any) -> None:
        messages = parsed.get("Messages", ()) if model.name == "ReceiveMessage" else context["given"].get("Entries", [context["given"]])
        if messages:
            self.charged["sqs"] += max(1, -(-sum(map(_bytes, messages)) // CHUNK))

    def _dynamodb(self, parsed: Mapping[str, Any], model: Any, context: Mapping[str, Any], **_: Any) -> None:
        given = context["given"]
        if model.name in ("UpdateItem", "PutItem"):
            key = given.get("Key") or {"pk": given["Item"]["pk"]}
            found = self._table.get_item(TableName=given["TableName"], Key=key, ConsistentRead=True).get("Item", {})
            before, self._sizes[str(key)] = self._sizes.get(str(key), 0), item_size(found)
            self.charged["write"] += max(1, -(-max(before, item_size(found)) // WRITE_UNIT))
        elif model.name == "GetItem":
            self.charged["read"] += _read_units(parsed.get("Item", {}))
        elif model.name == "BatchGetItem":
            asked = sum(len(request["Keys"]) for request in given["RequestItems"].values())
            found_items = [item for items in parsed["Responses"].values() for item in items]
            self.charged["read"] += sum(map(_read_units, found_items)) + asked - len(found_items)
        else:
            raise AssertionError(f"the meter knows no price for {model.name}")

    def _s3(self, model: Any, **_: Any) -> None:
        self.charged[{"PutObject": "put", "GetObject": "get"}[model.name]] += 1


class Deployed:
    """An app's functions over one metered session: publish with the app, then `drain`."""

    def __init__(self, app: Sedano) -> None:
        """Make its queues, tables, and buckets on moto, which must be on."""
        session = Session()
        sqs, dynamodb, s3 = boto3.client("sqs"), boto3.client("dynamodb"), boto3.client("s3")
        self.commands = [command_queue(name) for name in app.queues]
        keys = (*self.commands, EVENTS, RECORDS, PARKED)
        queues = {key: sqs.create_queue(QueueName=key.replace(":", "-"))["QueueUrl"] for key in keys}
        for table in ("ledger", "control"):
            dynamodb.create_table(
                TableName=table, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            )  # fmt: skip
        for bucket in ("blobs", "history"):
            s3.create_bucket(Bucket=bucket)
        settings = DeploymentSettings(queues, "ledger", "control", "blobs", "history")
        self.meter = Meter(session)
        self.ports = ports_of(settings, "worker", session)
        self.worker = Worker(app.registry, self.ports, Host("w.1.00000000", 1), WorkerSettings(lanes=0), app.run_loop())
        self.router = Router(app.registry, self.ports, Host("r.2.00000000", 2))
        self.recorder = Recorder(self.ports, Host("h.3.00000000", 3))
        self.worker.work([], self._deadline())
        self.meter.charged.clear()

    def drain(self, batch: int, records: int) -> None:
        """Let Lambda hand over *batch* commands or events at once until none is left, then *records* at once."""
        works = dict.fromkeys(self.commands, self.worker.work) | {EVENTS: self.router.route}
        while sum(self._invoked(queue, work, batch) for queue, work in works.items()):
            pass
        while self._invoked(RECORDS, self.recorder.record, records):
            pass

    def records(self, task: str) -> list[int]:
        """Return how many bytes the record of each task of this name has."""
        pages = boto3.client("dynamodb").get_paginator("scan").paginate(TableName="ledger", ConsistentRead=True)
        return [item_size(item) for page in pages for item in page["Items"] if item.get("nm") == {"S": task}]

    def _invoked(self, queue: str, work: Any, most: int) -> bool:
        deliveries = list(self._received(queue, most))
        if deliveries:
            self.meter.charged["invocation"] += 1
            assert work(deliveries, self._deadline()) == []
            for begin in range(0, len(deliveries), 10):
                self.ports.queues.delete(deliveries[begin : begin + 10])
        return bool(deliveries)

    def _received(self, queue: str, most: int) -> Iterator[Delivery]:
        """Yield what one invocation is handed: Lambda receives at most ten messages by a call."""
        left = most
        while left and (found := self.ports.queues.receive(queue, min(10, left))):
            left -= len(found)
            yield from found

    def _deadline(self) -> float:
        return self.ports.clock.now() + 900


@contextmanager
def deployed(app: Sedano) -> Iterator[Deployed]:
    """Attach *app* to functions over moto until the `with` statement ends."""
    before = {name: os.environ.get(name) for name in REGION}
    os.environ.update(REGION)
    try:
        with mock_aws():
            stage = Deployed(app)
            app.attach(stage.ports)
            yield stage
    finally:
        app.attach(None)
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


def _bytes(message: Mapping[str, Any]) -> int:
    """Return the bytes of a message: its body and its attributes."""
    body = message.get("MessageBody") or message.get("Body") or ""
    attributes: Mapping[str, Any] = message.get("MessageAttributes") or {}
    return len(body.encode()) + sum(len(name) + len(str(value)) for name, value in attributes.items())


def _read_units(item: Mapping[str, Any]) -> int:
    return max(1, -(-item_size(item) // READ_UNIT))
