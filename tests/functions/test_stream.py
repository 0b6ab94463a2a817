"""The stream function over SQS on moto, asked as an event source mapping of a table's or a Kinesis stream asks it."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from sedano.aws.settings import command_addresses
from sedano.errors import ConfigurationError
from sedano.memory.stream_records import queue_record, s3_notification
from tests.functions.conftest import Remaining, environment, handler_of
from tests.functions.test_cold_start import start
from tests.plugins.resources import Resources

APP = "tests.functions.ledge:app"
ORDERS = "arn:aws:dynamodb:eu-central-1:123456789012:table/orders/stream/2026-11-22T10:00:00.000"
CLICKS = "arn:aws:kinesis:eu-central-1:123456789012:stream/clicks"
UPLOADS = "arn:aws:sqs:eu-central-1:123456789012:uploads"
STREAMS = {"orders": ORDERS, "clicks": CLICKS, "uploads": UPLOADS}
Take = Callable[..., list[str]]


def changed(number: int, step: str, order: int = 7, **parts: Any) -> dict[str, Any]:
    """A record of an *order* as Lambda hands it over."""
    return {
        "eventID": f"c4ca4238a0b923820dcc509a6f758{number:03}", "eventName": "MODIFY", "eventVersion": "1.1", "eventSource": "aws:dynamodb",
        "awsRegion": "eu-central-1", "eventSourceARN": ORDERS,
        "dynamodb": {
            "ApproximateCreationDateTime": 1767225600.0, "Keys": {"id": {"N": str(order)}}, "SizeBytes": 59,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
            "NewImage": {"id": {"N": "7"}, "step": {"S": step}, "tags": {"SS": ["b", "a"]}}, "OldImage": {"id": {"N": "7"}},
            "SequenceNumber": f"4421584500000000017450439{number:03}",
        },
        **parts,
    }  # fmt: skip


def clicked(number: int, data: str) -> dict[str, Any]:
    """A record of Kinesis as Lambda hands it over; *data* in base64."""
    sequence = f"49590338271490256608559692538361571095921575989136588{number:03}"
    return {
        "kinesis": {
            "kinesisSchemaVersion": "1.0", "partitionKey": "1", "sequenceNumber": sequence, "data": data,
            "approximateArrivalTimestamp": 1545084650.987,
        },
        "eventSource": "aws:kinesis", "eventVersion": "1.0", "eventID": f"shardId-000000000006:{sequence}",
        "eventName": "aws:kinesis:record", "invokeIdentityArn": "arn:aws:iam::123456789012:role/lambda-role", "awsRegion": "eu-central-1",
        "eventSourceARN": CLICKS,
    }  # fmt: skip


def uploaded(number: int, body: str | None = None) -> dict[str, Any]:
    """A message of the queue of a bucket as Lambda delivers it; *body*: by default the notification of an object."""
    notified = s3_notification(number, 1.8e9, "incoming", f"{number}.csv", "ObjectCreated:Put", 3)
    return queue_record(number, 1.8e9, notified if body is None else body, {}) | {"eventSourceARN": UPLOADS}


@pytest.fixture
def known(settings: Mapping[str, str]) -> dict[str, str]:
    """The function's environment."""
    return {**settings, "SEDANO_APP": APP, "SEDANO_STREAMS": json.dumps(STREAMS)}


@pytest.fixture
def take(known: dict[str, str]) -> Iterator[Take]:
    """Hand records to the function, started cold; the sequence numbers of those that stay in the stream."""

    def take(*records: Mapping[str, Any]) -> list[str]:
        return [failure["itemIdentifier"] for failure in handler({"Records": list(records)}, Remaining(60))["batchItemFailures"]]

    with environment(known):
        handler = handler_of("stream")
        yield take


def waiting(resources: Resources, url: str) -> list[dict[str, Any]]:
    """The messages in a queue, with their bodies read."""
    found = resources.session.client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"])
    return [{**message, "Body": json.loads(message["Body"])} for message in found.get("Messages", [])]


def commands(resources: Resources, settings: Mapping[str, str]) -> list[dict[str, Any]]:
    """The commands that were published."""
    return [message["Body"] for message in waiting(resources, command_addresses(settings)["default"])]


def test_each_record_of_a_table_is_a_call_with_what_it_says(take: Take, resources: Resources, known: dict[str, str]) -> None:
    assert take(changed(1, "packed"), changed(2, "sent")) == []
    found = commands(resources, known)
    assert [one["subject"] for one in found] == ["tests.functions.ledge.follow"] * 2
    (record,) = next(one["data"]["args"] for one in found if one["data"]["args"][0]["new"]["step"] == "sent")
    assert record == {
        "stream": "orders", "id": "c4ca4238a0b923820dcc509a6f758002", "at": 1767225600.0, "operation": "MODIFY", "keys": {"id": 7},
        "new": {"id": 7, "step": "sent", "tags": ["a", "b"]}, "old": {"id": 7}, "expired": False,
    }  # fmt: skip


def test_a_record_of_kinesis_is_one_too(take: Take, resources: Resources, known: dict[str, str]) -> None:
    assert take(clicked(1, "SGVsbG8="), clicked(2, "/wA=")) == []
    found = [one["data"]["args"][0] for one in commands(resources, known)]
    assert sorted((one["data"] or "", one["data_base64"] or "") for one in found) == [("", "/wA="), ("Hello", "")]


def test_a_message_of_a_buckets_queue_is_a_call_with_the_objects_place(take: Take, resources: Resources, known: dict[str, str]) -> None:
    assert take(uploaded(1), uploaded(2, "not JSON"), uploaded(3)) == []
    found = [one["data"]["args"][0] for one in commands(resources, known)]
    assert sorted((one["bucket"], one["key"], one["event"]) for one in found) == [
        ("incoming", "1.csv", "ObjectCreated"), ("incoming", "3.csv", "ObjectCreated"),
    ]  # fmt: skip
    url = known["SEDANO_PARKED_QUEUE"]
    (aside,) = resources.session.client("sqs").receive_message(QueueUrl=url, MessageAttributeNames=["All"])["Messages"]
    assert aside["MessageAttributes"]["field"]["StringValue"] == "body"


def test_each_message_of_a_queue_that_was_not_sent_is_named_to_lambda(known: dict[str, str], resources: Resources) -> None:
    nowhere = known["SEDANO_PARKED_QUEUE"] + "-gone"
    records = [uploaded(1), uploaded(2, "{}"), uploaded(3)]
    with environment({**known, "SEDANO_PARKED_QUEUE": nowhere}):
        answer = handler_of("stream")({"Records": records}, Remaining(60))
    assert answer == {"batchItemFailures": [{"itemIdentifier": one["messageId"]} for one in records[1:]]}


def test_of_each_key_the_calls_stand_in_the_queue_as_in_the_shard(take: Take, resources: Resources, known: dict[str, str]) -> None:
    orders = [number % 3 for number in range(30)]
    records = [changed(number, str(number), order) for number, order in enumerate(orders)]
    assert take(*records[:17]) == take(*records[11:]) == []
    seen: dict[str, list[int]] = {}
    url, sqs = command_addresses(known)["orders.fifo"], resources.session.client("sqs")
    asked: Any = {"QueueUrl": url, "MaxNumberOfMessages": 10, "MessageSystemAttributeNames": ["MessageGroupId"]}
    while found := sqs.receive_message(**asked).get("Messages"):
        for message in found:
            record = json.loads(message["Body"])["data"]["args"][0]
            seen.setdefault(message["Attributes"]["MessageGroupId"], []).append(int(record["new"]["step"]))
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    sent = [*range(17), *range(11, 30)]
    assert seen == {str(key): [number for number in sent if number % 3 == key] for key in range(3)}


def test_what_comes_again_has_the_ids_that_it_had(take: Take, resources: Resources, known: dict[str, str]) -> None:
    for _ in range(2):
        assert take(changed(1, "packed")) == []
    first, again = commands(resources, known)
    assert (first["taskid"], first["id"] == again["id"]) == (again["taskid"], False)


def test_what_is_no_record_is_parked_and_counted(
    take: Take, resources: Resources, known: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert take(changed(1, "packed"), changed(2, "sent", eventName="RENAME"), changed(3, "there")) == []
    assert len(commands(resources, known)) == 2
    (found,) = waiting(resources, known["SEDANO_PARKED_QUEUE"])
    assert found["Body"] == changed(2, "sent", eventName="RENAME")
    assert found["MessageAttributes"]["queue"]["StringValue"] == "stream:orders"
    assert found["MessageAttributes"]["reason"]["StringValue"] == "stream"
    assert found["MessageAttributes"]["message_id"]["StringValue"] == changed(2, "sent")["dynamodb"]["SequenceNumber"]
    assert '"MessagesParked":[1' in capsys.readouterr().out


def test_where_parking_is_not_possible_it_begins_there_again(
    known: dict[str, str], resources: Resources, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = known["SEDANO_PARKED_QUEUE"] + "-gone"
    records = [changed(1, "packed"), changed(2, "sent", eventName="RENAME"), changed(3, "there")]
    with environment({**known, "SEDANO_PARKED_QUEUE": nowhere}):
        answer = handler_of("stream")({"Records": records}, Remaining(60))
    assert answer == {"batchItemFailures": [{"itemIdentifier": records[1]["dynamodb"]["SequenceNumber"]}]}
    assert '"StreamsStopped":[1' in capsys.readouterr().out


def test_where_the_first_cannot_be_sent_the_invocation_fails(known: dict[str, str]) -> None:
    gone = json.dumps({name: f"{url}-gone" for name, url in command_addresses(known).items()})
    with environment({**known, "SEDANO_QUEUES": gone}), pytest.raises(ConfigurationError, match="does not exist"):
        handler_of("stream")({"Records": [changed(1, "packed")]}, Remaining(60))


def test_an_empty_batch_is_nothing(take: Take) -> None:
    assert take() == []


def test_a_record_of_a_stream_that_the_stage_does_not_know_is_not_passed_over(take: Take) -> None:
    with pytest.raises(ConfigurationError, match="stream arn:aws:dynamodb:eu-central-1:1:table/other"):
        take(changed(1, "packed", eventSourceARN="arn:aws:dynamodb:eu-central-1:1:table/other/stream/a"))


@pytest.mark.parametrize(
    ("streams", "why"),
    [
        ("{", "SEDANO_STREAMS is not JSON such as"), ("[]", "SEDANO_STREAMS must map names to texts"),
        (json.dumps({**STREAMS, "more": ORDERS}), "no task of the app reads the stream more; it declares clicks, orders, removed"),
        (json.dumps({"removed": CLICKS}), "stream removed: only a table has operations, and arn:aws:kinesis"),
    ],
)  # fmt: skip
def test_the_function_does_not_start_with_streams_that_are_not_the_apps(known: dict[str, str], streams: str, why: str) -> None:
    with environment({**known, "SEDANO_STREAMS": streams}), pytest.raises(ConfigurationError, match=why):
        handler_of("stream")


def test_a_cold_start_loads_no_worker_and_no_router(known: dict[str, str]) -> None:
    loaded = start("stream", known, APP)
    assert loaded[0] == "True"
    idle = {"sedano.engine.worker.pipeline", "sedano.engine.router", "sedano.engine.schedules.scheduler", "sedano.result", "sedano.memory"}
    assert idle.isdisjoint(loaded)
