"""Sinks of a deployed stage, under the worker's own role: a result reaches a table, a bucket, a stream, a bus, a queue and a topic."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sedano.aws.settings import command_addresses
from sedano.local import LocalStage, local_stage
from sedano.model.messages import codec
from sedano.model.messages.lineage import derived_id, result_document_id
from sedano.model.messages.message import Command
from sedano.model.sinks.content import Content
from sedano.model.sinks.places import BUCKET, BUS, KINDS, QUEUE, STREAM, TABLE, TOPIC, WEBHOOK
from tests.conformance.sinks import ACCOUNT, MAKERS
from tests.deploy.kept import result

CODE = Path(__file__).parent / "sends"
NAMES = {TABLE: "bi", BUCKET: "lake", STREAM: "feed", BUS: "bus", QUEUE: "queue", TOPIC: "topic"}
"""The name of the sink of each kind."""


def name_of(kind: str) -> str:
    """The name of its resource."""
    return f"sends-{NAMES[kind]}"


def arn_of(kind: str) -> str:
    """The ARN of the resource that `MAKERS` makes on the endpoint."""
    resource = {TABLE: "table/", STREAM: "deliverystream/", BUS: "event-bus/"}.get(kind, "")
    return f"arn:aws:s3:::{name_of(kind)}/in/" if kind == BUCKET else f"arn:aws:{kind}:us-east-1:{ACCOUNT}:{resource}{name_of(kind)}"


class Sent:
    """A stage with sinks, and a reader of each of them."""

    def __init__(self, stage: LocalStage) -> None:
        """Make the sinks; the stage does not make them."""
        self.stage = stage

        def made(service: str) -> Any:
            return stage.endpoint.session().client(service, endpoint_url=stage.endpoint.url)

        self.made, self.read = made, dict[str, Callable[[], list[Content]]]()
        for kind in NAMES:
            place, self.read[kind] = MAKERS[kind](made, name_of(kind))
            assert place == arn_of(kind)


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sent]:
    """The stage, where each function may do what its role allows."""
    asked = {"app": "sends:app", "code": CODE, "directory": tmp_path_factory.mktemp("sends")}
    sinks = ",".join(f"{name}={arn_of(kind)}" for kind, name in NAMES.items())
    with local_stage(**asked, enforce_iam=True, sinks=sinks) as stage:
        yield Sent(stage)


def test_a_result_reaches_a_sink_of_each_kind_and_one_that_the_stage_lacks_is_parked(sent: Sent) -> None:
    assert {*NAMES, WEBHOOK} == set(KINDS)
    sqs, settings = sent.made("sqs"), sent.stage.environment
    body = codec.encode(Command("m-1", "t-1", "sends.measure", "me", args=(3,)))
    sqs.send_message(QueueUrl=command_addresses(settings)["default"], MessageBody=body)
    assert result(sent.stage, "t-1") == '{"number":3,"half":1.5}'
    document = result_document_id("t-1")
    for kind, name in NAMES.items():
        assert result(sent.stage, derived_id(document, f"sink.{name}")) is None, kind
        found = sent.read[kind]()
        assert [(one["id"], one["value"]) for one in found] == [(document, {"number": 3, "half": 1.5})], kind
    (parked,) = sqs.receive_message(QueueUrl=settings["SEDANO_PARKED_QUEUE"], WaitTimeSeconds=20, MessageAttributeNames=["All"])["Messages"]
    said = {name: one["StringValue"] for name, one in parked["MessageAttributes"].items()}
    assert said["reason"] == "rejected"
    assert "SEDANO_SINKS does not name it" in said["detail"]
    assert "AccessDenied" not in sent.stage.endpoint.log.read_text(), "nothing was denied on the way"
