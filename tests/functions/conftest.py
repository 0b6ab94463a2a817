"""`functions`: the handlers of the deployed functions over moto, fed with events as Lambda makes them."""

import os
import runpy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.resources import Resources

ROOT = Path(__file__).parents[2]
APP = "tests.functions.corner:app"
ATTRIBUTES = ["ApproximateReceiveCount", "SentTimestamp", "SenderId", "ApproximateFirstReceiveTimestamp", "MessageGroupId"]
Event = dict[str, Any]
Handler = Callable[[Event, Any], dict[str, Any]]


class Remaining:
    """Lambda's context object, as far as anyone may need it."""

    aws_request_id = "5a1e4d3c-0000-4000-8000-000000000000"
    function_name = "sedano"

    def __init__(self, seconds: float = 30.0) -> None:
        """Say that *seconds* are left."""
        self.seconds = seconds

    def get_remaining_time_in_millis(self) -> int:
        """What is left."""
        return int(self.seconds * 1000)


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Run the block with these variables set as well."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def handler_of(function: str) -> Handler:
    """Start *function* cold, as Lambda does: by running its handler's module."""
    handler: Handler = runpy.run_path(str(ROOT / "functions" / function / "handler.py"))["handler"]
    return handler


@dataclass
class Functions:
    """The three functions and what feeds them."""

    resources: Resources

    def __post_init__(self) -> None:
        """Start each of them."""
        self.sqs = self.resources.session.client("sqs")
        self.restart()

    def restart(self) -> None:
        """Start each of them cold, as if there had been none before."""
        self.handlers = {name: handler_of(name) for name in ("worker", "router", "recorder")}

    def event(self, url: str, most: int = 10, wait: int = 0) -> Event:
        """Receive from the queue at *url* what an event source mapping would hand over, waiting for it for *wait* seconds at the most."""
        found = self.sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=most, WaitTimeSeconds=wait, MessageSystemAttributeNames=ATTRIBUTES,
            MessageAttributeNames=["All"],
        )  # fmt: skip
        return {"Records": [_record(message, url.rpartition("/")[2]) for message in found.get("Messages", ())]}

    def run(self, function: str, event: Event, seconds: float = 30.0) -> list[str]:
        """Invoke *function* and return the message ids that it reports as failed."""
        answer = self.handlers[function](event, Remaining(seconds))
        assert set(answer) == {"batchItemFailures"}
        assert all(set(failure) == {"itemIdentifier"} for failure in answer["batchItemFailures"])
        return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]

    def count(self, url: str) -> int:
        """How many messages wait in the queue at *url*."""
        found = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
        return int(found["Attributes"]["ApproximateNumberOfMessages"])


def _record(message: Mapping[str, Any], queue: str) -> Event:
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": {"ApproximateReceiveCount": "1", **message.get("Attributes", {})},
        "messageAttributes": {},
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": f"arn:aws:sqs:eu-central-1:123456789012:{queue}",
        "awsRegion": "eu-central-1",
    }


@pytest.fixture
def settings(resources: Resources) -> Iterator[Mapping[str, str]]:
    """What the stack puts into the functions' environment, set in this process's."""
    region = resources.session.region_name or ""
    variables = {**resources.settings, "SEDANO_APP": APP, "SEDANO_STAGE": "test", "AWS_DEFAULT_REGION": region, "AWS_REGION": region}
    with environment(variables):
        yield variables


@pytest.fixture
def functions(resources: Resources, settings: Mapping[str, str]) -> Functions:
    """The functions, started cold."""
    assert settings["SEDANO_APP"] == APP
    return Functions(resources)
