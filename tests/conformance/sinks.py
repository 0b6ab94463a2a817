"""The sinks that the promises of sinks are run on: how each is made, and how a test reads what it holds."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from sedano import memory
from sedano.aws.sinks.services import AwsSinks
from sedano.memory.sinks import MemorySinks
from sedano.model.sinks.content import Content
from sedano.model.sinks.places import BUCKET, BUS, QUEUE, STREAM, TABLE, TOPIC
from sedano.ports.sinks import Sinks
from sedano.sqlite.deployment import connect
from tests.conformance.worlds import losing_answers, session_of
from tests.plugins.resources import Resources

ACCOUNT = "000000000000"
OPERATIONS = {
    TABLE: "PutItem", BUCKET: "PutObject", STREAM: "PutRecord", BUS: "PutEvents", QUEUE: "SendMessage", TOPIC: "Publish",
}  # fmt: skip


class KnownSink(NamedTuple):
    """A sink `one` of a deployment: the port, a reader of what it holds, whether it can tell a second delivery, how answers get lost."""

    port: Sinks
    read: Callable[[], list[Content]]
    tells: bool
    losing: Callable[[], AbstractContextManager[None]] = nullcontext


def of_memory() -> KnownSink:
    """A sink in memory."""
    port = MemorySinks()
    return KnownSink(port, lambda: list(port.documents("one")), tells=True)


def of_one_file(folder: Path) -> KnownSink:
    """A sink in one file."""
    ports = connect(folder / "sedano.db", ("default",), memory.VirtualClock(0.0), memory.SeededEntropy(), memory.MemoryTelemetry())
    port: Any = ports.sinks
    return KnownSink(port, lambda: list(port.documents("one")), tells=True)


def of_aws(resources: Resources, kind: str) -> KnownSink:
    """A sink of this *kind* on AWS, made for one test."""
    session = session_of(resources)

    def made(service: str) -> Any:
        return resources.session.client(service, endpoint_url=resources.endpoint_url)

    place, read = MAKERS[kind](made, f"sink-{secrets.token_hex(6)}")
    port = AwsSinks(session.client, {"one": place}, lambda _, __: MemorySinks())
    real = resources.endpoint_url is not None
    return KnownSink(port, read, kind in (TABLE, BUCKET), lambda: losing_answers(session.client(kind), OPERATIONS[kind], send=real))


def _table(made: Callable[[str], Any], name: str) -> tuple[str, Callable[[], list[Content]]]:
    dynamodb = made("dynamodb")
    found = dynamodb.create_table(
        TableName=name, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    )["TableDescription"]  # fmt: skip
    return found["TableArn"], lambda: [_plain({"M": item}) for item in dynamodb.scan(TableName=name)["Items"]]


def _plain(attribute: dict[str, Any]) -> Any:
    ((kind, value),) = attribute.items()
    if kind == "M":
        return {name: _plain(one) for name, one in value.items()}
    if kind == "L":
        return [_plain(one) for one in value]
    return json.loads(value) if kind == "N" else None if kind == "NULL" else value


def _bucket(made: Callable[[str], Any], name: str) -> tuple[str, Callable[[], list[Content]]]:
    s3 = made("s3")
    s3.create_bucket(Bucket=name)

    def read() -> list[Content]:
        keys = [one["Key"] for one in s3.list_objects_v2(Bucket=name, Prefix="in/").get("Contents", ())]
        return [json.loads(s3.get_object(Bucket=name, Key=key)["Body"].read()) for key in keys]

    return f"arn:aws:s3:::{name}/in/", read


def _queue(made: Callable[[str], Any], name: str) -> tuple[str, Callable[[], list[Content]]]:
    sqs = made("sqs")
    anybody = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*"}  # topics and buses may send to it
    policy = json.dumps({"Version": "2012-10-17", "Statement": [anybody]})
    url = sqs.create_queue(QueueName=name, Attributes={"Policy": policy})["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    return arn, lambda: [json.loads(one) for one in _received(sqs, url)]


def _received(sqs: Any, url: str) -> Iterator[str]:
    """Yield the bodies of the messages in a queue."""
    while found := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1).get("Messages"):
        yield from (one["Body"] for one in found)


def _topic(made: Callable[[str], Any], name: str) -> tuple[str, Callable[[], list[Content]]]:
    sns, sqs = made("sns"), made("sqs")
    topic = sns.create_topic(Name=name)["TopicArn"]
    arn, _ = _queue(made, name)
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    return topic, lambda: [json.loads(json.loads(one)["Message"]) for one in _received(sqs, url)]


def _bus(made: Callable[[str], Any], name: str) -> tuple[str, Callable[[], list[Content]]]:
    events, sqs = made("events"), made("sqs")
    bus = events.create_event_bus(Name=name)["EventBusArn"]
    arn, _ = _queue(made, name)
    events.put_rule(Name=name, EventBusName=name, EventPattern=json.dumps({"source": ["sedano"]}))
    events.put_targets(Rule=name, EventBusName=name, Targets=[{"Id": "1", "Arn": arn}])
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    return bus, lambda: [json.loads(one)["detail"] for one in _received(sqs, url)]


def _stream(made: Callable[[str], Any], name: str) -> tuple[str, Callable[[], list[Content]]]:
    firehose, s3 = made("firehose"), made("s3")
    s3.create_bucket(Bucket=name)
    goal: dict[str, Any] = {"RoleARN": f"arn:aws:iam::{ACCOUNT}:role/firehose", "BucketARN": f"arn:aws:s3:::{name}"}
    goal |= {"BufferingHints": {"SizeInMBs": 1, "IntervalInSeconds": 0}}
    arn = firehose.create_delivery_stream(DeliveryStreamName=name, ExtendedS3DestinationConfiguration=goal)["DeliveryStreamARN"]

    def read() -> list[Content]:
        keys = [one["Key"] for one in s3.list_objects_v2(Bucket=name).get("Contents", ())]
        lines = b"".join(s3.get_object(Bucket=name, Key=key)["Body"].read() for key in keys).splitlines()
        return [json.loads(line) for line in lines]

    return arn, read


MAKERS: dict[str, Callable[[Callable[[str], Any], str], tuple[str, Callable[[], list[Content]]]]] = {
    TABLE: _table, BUCKET: _bucket, STREAM: _stream, BUS: _bus, QUEUE: _queue, TOPIC: _topic,
}  # fmt: skip
