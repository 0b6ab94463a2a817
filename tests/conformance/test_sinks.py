"""Sinks: a document is written once where the sink can tell, and always under its id."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sedano.aws.sinks.services import AwsSinks
from sedano.errors import ConfigurationError, SedanoError, TooLarge, Unavailable
from sedano.memory.sinks import MemorySinks
from sedano.model.canonical_json import canonical_json
from sedano.model.messages.message import Document
from sedano.model.sinks.content import Content, content_of
from sedano.model.sinks.places import BUS, KINDS, MOST_BYTES, WEBHOOK
from tests.conformance.sinks import KnownSink, of_aws, of_memory, of_one_file
from tests.unit.test_answers import Planted, answer

VALUE = {"sku": "té-7", "cents": 199, "rate": 0.25, "tags": ["a", None, True], "of": {"deep": [{"n": -1}]}}
CONTENT = content_of(Document("price/te-7", "task-1", "shop.price", "worker@host", 1.9e9, value=VALUE))
OTHER = {**CONTENT, "id": "price/8", "value": "eight"}
ON_AWS = [kind for kind in KINDS if kind != WEBHOOK]
ON_MOTO = [kind for kind in ON_AWS if kind != BUS]
"""moto's rules need a library of their own, which no test here has."""
ON_MINISTACK = [pytest.param(f"ministack {kind}", marks=pytest.mark.ministack) for kind in ON_AWS]
WORLDS = ["memory", "sqlite", *(f"moto {kind}" for kind in ON_MOTO), *ON_MINISTACK]


@pytest.fixture(params=WORLDS)
def sink(request: pytest.FixtureRequest, tmp_path: Path) -> KnownSink:
    """A sink in each world."""
    world, _, kind = request.param.partition(" ")
    if world == "memory":
        return of_memory()
    if world == "sqlite":
        return of_one_file(tmp_path)
    return of_aws(request.getfixturevalue("resources" if world == "moto" else "ministack_resources"), kind)


def by_id(found: list[Content]) -> dict[str, Content]:
    """The documents by their ids."""
    return {one["id"]: one for one in found}


def test_a_document_arrives_as_it_was_written(sink: KnownSink) -> None:
    assert sink.port.write("one", CONTENT)
    assert sink.port.write("one", OTHER)
    found = sink.read()
    assert len(found) == 2
    assert by_id(found) == {CONTENT["id"]: CONTENT, OTHER["id"]: OTHER}


def test_a_second_delivery_changes_nothing_where_the_sink_can_tell_and_has_the_same_id_elsewhere(sink: KnownSink) -> None:
    assert sink.port.write("one", CONTENT)
    again = sink.port.write("one", {**CONTENT, "value": "another"})
    found = sink.read()
    assert again is not sink.tells
    assert len(found) == (1 if sink.tells else 2)
    assert {one["id"] for one in found} == {CONTENT["id"]}
    assert not sink.tells or found == [CONTENT]


def test_a_write_whose_answer_was_lost_is_written_once_by_the_next_attempt(sink: KnownSink) -> None:
    with sink.losing(), suppress(Unavailable):
        sink.port.write("one", CONTENT)
    sink.port.write("one", CONTENT)
    found = sink.read()
    assert {one["id"] for one in found} == {CONTENT["id"]}
    assert len(found) == 1 or not sink.tells


@pytest.mark.parametrize("kind", ON_AWS)
def test_a_sink_that_the_deployment_does_not_have_or_that_is_gone_is_no_fault_of_the_document(kind: str, resources: Any) -> None:
    known = of_aws(resources, kind)
    with pytest.raises(ConfigurationError, match="SEDANO_SINKS does not name it; deploy with the setting sinks=two=ARN"):
        known.port.write("two", CONTENT)
    port: Any = known.port
    gone = AwsSinks(port._client_for, {"one": port._places["one"].replace("sink-", "gone-")}, lambda _, __: MemorySinks())
    with pytest.raises(SedanoError) as refused:
        gone.write("one", CONTENT)
    assert not refused.value.is_final


BUSY = {
    "dynamodb": "ThrottlingException", "s3": "SlowDown", "firehose": "ServiceUnavailableException", "events": "ThrottlingException",
    "sqs": "RequestThrottled", "sns": "Throttled",
}  # fmt: skip


@pytest.mark.parametrize("kind", ON_AWS)
def test_a_busy_service_is_asked_again_later(kind: str) -> None:
    code = BUSY[kind]
    xml = f"<ErrorResponse><Error><Code>{code}</Code><Message>slow down</Message></Error></ErrorResponse>"
    body = f"<Error><Code>{code}</Code><Message>slow down</Message></Error>" if kind == "s3" else xml
    plain = json.dumps({"__type": code, "message": "slow down"})
    planted = Planted(((body if kind in ("s3", "sns") else plain).encode(), {"x-amzn-requestid": "1"}), status=503)
    resource = {"dynamodb": "table/prices", "firehose": "deliverystream/f", "events": "event-bus/b"}.get(kind, "q")
    place = "arn:aws:s3:::lake/" if kind == "s3" else f"arn:aws:{kind}:eu-west-1:000000000000:{resource}"
    with pytest.raises(Unavailable):
        AwsSinks(planted.client, {"one": place}, lambda _, __: MemorySinks()).write("one", CONTENT)


@pytest.mark.parametrize(
    ("entry", "error"),
    [
        ({"ErrorCode": "ThrottlingException", "ErrorMessage": "slow down"}, Unavailable),
        ({"ErrorCode": "InternalFailure", "ErrorMessage": "again"}, Unavailable),
        ({"ErrorCode": "NotAuthorizedForSourceException", "ErrorMessage": "no"}, ConfigurationError),
        ({}, Unavailable),
    ],
)
def test_an_event_that_the_bus_refused_in_a_successful_answer_was_not_written(entry: dict[str, str], error: type[SedanoError]) -> None:
    planted = Planted(answer({"FailedEntryCount": 1, "Entries": [entry]}))
    sinks = AwsSinks(planted.client, {"one": "arn:aws:events:eu-west-1:000000000000:event-bus/b"}, lambda _, __: MemorySinks())
    with pytest.raises(error):
        sinks.write("one", CONTENT)


@pytest.mark.parametrize("kind", [kind for kind in MOST_BYTES if kind in ON_MOTO])
def test_a_document_that_a_sink_cannot_hold_is_refused_for_good_before_anything_is_sent(kind: str, resources: Any) -> None:
    known = of_aws(resources, kind)
    room = MOST_BYTES[kind] - len(canonical_json({**CONTENT, "value": ""}))
    with pytest.raises(TooLarge, match=f"takes at most {MOST_BYTES[kind]}") as refused:
        known.port.write("one", {**CONTENT, "value": "x" * (room + 1)})
    assert refused.value.is_final
    assert known.port.write("one", {**CONTENT, "value": "x" * room})


def test_a_fifo_queue_gets_the_name_as_its_group_and_the_id_as_its_deduplication_id() -> None:
    planted = Planted(answer({"QueueUrl": "https://sqs.eu-west-1.amazonaws.com/000000000000/q.fifo"}), answer({"MessageId": "1"}))
    client = planted.client("sqs")
    sinks = AwsSinks(lambda _: client, {"one": "arn:aws:sqs:eu-west-1:000000000000:q.fifo"}, lambda _, __: MemorySinks())
    for content in (CONTENT, OTHER, CONTENT):
        sinks.write("one", content)
    asked, first, other, again = planted.sent
    assert asked == {"QueueName": "q.fifo", "QueueOwnerAWSAccountId": "000000000000"}
    assert first["MessageDeduplicationId"] == again["MessageDeduplicationId"] != other["MessageDeduplicationId"]
    assert first["MessageGroupId"] == other["MessageGroupId"]
    assert first["MessageAttributes"]["name"]["StringValue"] == "shop.price"
