"""Messages of foreign queues: each format as its sender writes it, and what is refused with its place."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import MessageRefused
from sedano.memory.stream_records import queue_record, s3_notification
from sedano.model.messages.timestamps import LAST_SECOND
from sedano.model.sources.queue_messages import EVENTBRIDGE, FORMATS, MESSAGE, S3, SNS, read_messages
from sedano.model.sources.streams import read_all, sequence

NOW = 1_800_000_000.5
TOPIC = "arn:aws:sns:eu-central-1:123456789012:orders"
CREATED: dict[str, Any] = {
    "eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "eu-central-1", "eventTime": "2026-11-27T10:00:00.250Z",
    "eventName": "ObjectCreated:Put", "userIdentity": {"principalId": "A"}, "requestParameters": {"sourceIPAddress": "1.2.3.4"},
    "s3": {
        "s3SchemaVersion": "1.0", "configurationId": "c", "bucket": {"name": "incoming", "arn": "arn:aws:s3:::incoming"},
        "object": {"key": "a+b/%C3%A9.csv", "size": 7, "eTag": "e1", "versionId": "v1", "sequencer": "0A1B"},
    },
}  # fmt: skip
"""A record of S3's documentation (notification-content-structure), with a key that S3 encodes."""
FROM_BUS: dict[str, Any] = {
    "version": "0", "id": "17793124-05d4-b198-2fde-7ededc63b103", "detail-type": "Object Created", "source": "aws.s3",
    "account": "123456789012", "time": "2026-11-27T10:00:00Z", "region": "eu-central-1", "resources": ["arn:aws:s3:::incoming"],
    "detail": {
        "version": "0", "bucket": {"name": "incoming"}, "reason": "PutObject",
        "object": {"key": "a b/é.csv", "size": 7, "etag": "e1", "version-id": "v1", "sequencer": "0A1B"},
    },
}  # fmt: skip
"""An event of EventBridge about the same change."""
CHANGE = {
    "stream": "uploads", "id": "ObjectCreated/0A1B/v1/incoming/a b/é.csv", "at": 1795773600.25, "event": "ObjectCreated",
    "bucket": "incoming", "key": "a b/é.csv", "size": 7, "etag": "e1", "version": "v1", "sequencer": "0A1B",
}  # fmt: skip


def envelope(message: str, **changes: Any) -> str:
    """A message of a topic, as SNS writes it into a queue."""
    return json.dumps({
        "Type": "Notification", "MessageId": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324", "TopicArn": TOPIC, "Subject": "paid",
        "Message": message, "Timestamp": "2026-11-27T10:00:00.000Z", "SignatureVersion": "1", "Signature": "x", "SigningCertURL": "https://sns…",
        "MessageAttributes": {"kind": {"Type": "String", "Value": "order"}, "raw": {"Type": "Binary", "Value": "AA=="}}, **changes,
    })  # fmt: skip


def read(body: str, form: str, /, **changes: Any) -> list[Any]:
    """The messages in a message with this *body*."""
    return read_messages("uploads", queue_record(3, NOW, body, {"kind": "order"}) | changes, form, 9.0)


def test_a_message_of_another_program_is_passed_on_as_it_is() -> None:
    record = queue_record(3, NOW, "tea", {"kind": "order"})
    record["messageAttributes"]["raw"] = {"binaryValue": "AA==", "dataType": "Binary"}
    assert read_all("uploads", record, 9.0) == [
        {"stream": "uploads", "id": "00000000-0000-0000-0000-000000000003", "at": NOW, "body": "tea", "attributes": {"kind": "order"}},
    ]  # fmt: skip
    assert sequence(record) == "00000000-0000-0000-0000-000000000003"
    assert read("x", MESSAGE, attributes={})[0]["at"] == 9.0


def test_a_message_of_a_topic_has_the_topics_id() -> None:
    assert read(envelope("tea"), SNS) == [{
        "stream": "uploads", "id": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324", "at": 1795773600.0, "topic": TOPIC, "subject": "paid",
        "message": "tea", "attributes": {"kind": "order"},
    }]  # fmt: skip
    assert read(envelope("", Subject=None, MessageAttributes=None), SNS)[0]["subject"] == ""


def test_a_change_of_an_object_is_the_same_by_each_way_that_s3_reports_it() -> None:
    direct, bus = json.dumps({"Records": [CREATED]}), json.dumps(FROM_BUS)
    (by_queue,), (by_topic,), (by_bus,) = read(direct, S3), read(envelope(direct), S3), read(bus, S3)
    assert by_queue == by_topic == CHANGE
    assert by_bus == {**CHANGE, "at": 1795773600.0}


def test_removed_objects_several_records_and_the_test_event() -> None:
    removed = {**CREATED, "eventName": "ObjectRemoved:DeleteMarkerCreated", "s3": {"bucket": {"name": "b"}, "object": {"key": "k"}}}
    first, second = read(json.dumps({"Records": [CREATED, removed]}), S3)
    assert first == CHANGE
    assert second["id"] == "ObjectRemoved/00000000-0000-0000-0000-000000000003//b/k", "without a sequencer, the message identifies it"
    assert (second["event"], second["size"], second["etag"]) == ("ObjectRemoved", None, "")
    deleted = {**FROM_BUS, "detail-type": "Object Deleted"}
    assert read(json.dumps(deleted), S3)[0]["event"] == "ObjectRemoved"
    assert read(json.dumps({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "incoming"}), S3) == []


def test_an_event_of_a_bus_has_its_detail() -> None:
    event = {"id": "e-1", "detail-type": "Order Paid", "source": "shop", "detail": {"order": 7}, "time": "2026-11-27T10:00:00Z"}
    assert read(json.dumps(event), EVENTBRIDGE) == [{
        "stream": "uploads", "id": "e-1", "at": 1795773600.0, "type": "Order Paid", "source": "shop", "account": "", "region": "",
        "resources": [], "detail": {"order": 7},
    }]  # fmt: skip
    (found,) = read(json.dumps(FROM_BUS), EVENTBRIDGE)
    assert (found["account"], found["region"], found["resources"]) == ("123456789012", "eu-central-1", ["arn:aws:s3:::incoming"])


@pytest.mark.parametrize(("key", "size"), [("plain.csv", 3), ("with space/and+plus.csv", None), ("é%20", 0)])
def test_the_notification_of_the_test_world_is_read_back(key: str, size: int | None) -> None:
    (found,) = read(s3_notification(5, NOW, "incoming", key, "ObjectCreated:Copy", size), S3)
    assert (found["bucket"], found["key"], found["size"], found["at"]) == ("incoming", key, size, NOW)


def sized(size: Any) -> str:
    """A notification of S3 about an object of this size."""
    return json.dumps({"Records": [CREATED | {"s3": {"bucket": {"name": "b"}, "object": {"key": "k", "size": size}}}]})


KIND = "is not Notification: a subscription without raw delivery sends such messages"
NO_CHANGE = "is not a notification of S3: it has no Records, and does not come from aws.s3"
NO_TEXTS, NO_TIME, NO_JSON = "not list of texts", "is not a time by RFC 3339: ValueError", "not JSON at character 0"
NULL = "is of type NoneType, not"
NO_RECORDS: tuple[Any, ...] = (None, [], 7, "x", {"a": 1})
NO_SIZES: tuple[Any, ...] = (-1, "7", True, 7.5, [])
BAD: list[tuple[str, str, str, str]] = [
    (SNS, "[]", "body", "is of type list, not object"),
    (SNS, "{}", "body.Type", KIND),
    (SNS, envelope("x", Type="SubscriptionConfirmation"), "body.Type", KIND),
    (SNS, envelope("x", MessageId=""), "body.MessageId", "is empty"),
    (SNS, envelope("x", TopicArn=None), "body.TopicArn", f"{NULL} text"),
    (SNS, envelope("x", Message=7), "body.Message", "is of type int, not text"),
    (SNS, envelope("x", Timestamp="today"), "body.Timestamp", NO_TIME),
    (SNS, envelope("x", Timestamp=7), "body.Timestamp", "is of type int, not text"),
    (SNS, envelope("x", Subject=7), "body.Subject", "is of type int, not text"),
    (SNS, envelope("x", MessageAttributes=[1]), "body.MessageAttributes", "is of type list, not object"),
    (SNS, envelope("x", MessageAttributes={"a": 7}), "body.MessageAttributes.a", "is of type int, not object"),
    (EVENTBRIDGE, "{}", "body.id", f"{NULL} text"),
    (EVENTBRIDGE, json.dumps(FROM_BUS | {"detail": "x"}), "body.detail", "is of type str, not object"),
    (EVENTBRIDGE, json.dumps(FROM_BUS | {"detail-type": ""}), "body.detail-type", "is empty"),
    (EVENTBRIDGE, json.dumps(FROM_BUS | {"account": 7}), "body.account", "is of type int, not text"),
    (EVENTBRIDGE, json.dumps(FROM_BUS | {"region": []}), "body.region", "is of type list, not text"),
    (EVENTBRIDGE, json.dumps(FROM_BUS | {"resources": [7]}), "body.resources", f"is of type list, {NO_TEXTS}"),
    (EVENTBRIDGE, json.dumps(FROM_BUS | {"resources": "x"}), "body.resources", f"is of type str, {NO_TEXTS}"),
    (S3, "{}", "body", NO_CHANGE),
    *((S3, json.dumps({"Records": wrong}), "body", NO_CHANGE) for wrong in NO_RECORDS),
    (S3, envelope("{}", Type="UnsubscribeConfirmation"), "body", NO_CHANGE),
    (S3, '{"Records": [7]}', "body.Records[0]", "is of type int, not object"),
    (S3, '{"Records": [{}]}', "body.Records[0].s3", f"{NULL} object"),
    (S3, json.dumps({"Records": [CREATED, CREATED | {"eventName": 7}]}), "body.Records[1].eventName", "is of type int, not text"),
    (
        S3, json.dumps({"Records": [CREATED | {"s3": {"bucket": {}, "object": {"key": "k"}}}]}), "body.Records[0].s3.bucket.name",
        f"{NULL} text",
    ),
    (
        S3, json.dumps({"Records": [CREATED | {"s3": {"bucket": {"name": "b"}, "object": {}}}]}), "body.Records[0].s3.object.key",
        f"{NULL} text",
    ),
    *(
        (S3, sized(size), "body.Records[0].s3.object.size", f"is of type {type(size).__name__}, not number of bytes")
        for size in NO_SIZES
    ),
    (S3, json.dumps(FROM_BUS | {"detail": {"bucket": {"name": "b"}}}), "body.detail.object", f"{NULL} object"),
]  # fmt: skip
NOT_READ: list[tuple[str, str, str, str, str]] = [
    (SNS, "tea", "malformed", "body", NO_JSON),
    (S3, envelope("tea"), "malformed", "body.Message", NO_JSON),
    (S3, '{"a": 1, "a": 2}', "malformed", "body", "the key 'a' is given twice in one object"),
    (S3, "[" * 60 + "]" * 60, "too-deep", "body", "more than 48 containers inside one another"),
]


@pytest.mark.parametrize(("form", "body", "place", "fault"), BAD)
def test_what_is_not_of_the_format_is_refused_with_its_place_and_its_fault(form: str, body: str, place: str, fault: str) -> None:
    with pytest.raises(MessageRefused) as refused:
        read(body, form)
    assert (refused.value.code, refused.value.field, refused.value.detail) == ("stream", place, fault)


@pytest.mark.parametrize(("form", "body", "code", "place", "fault"), NOT_READ)
def test_what_is_not_strict_json_is_refused_by_the_reasons_of_every_message(
    form: str, body: str, code: str, place: str, fault: str
) -> None:  # fmt: skip
    with pytest.raises(MessageRefused) as refused:
        read(body, form)
    assert (refused.value.code, refused.value.field, refused.value.detail) == (code, place, fault)


LAST = LAST_SECOND * 1000
"""The last time that a message may have been sent at, in milliseconds."""


@pytest.mark.parametrize(
    ("changes", "place", "fault"),
    [
        ({"messageId": None}, "messageId", f"{NULL} text"), ({"messageId": ""}, "messageId", "is empty"),
        ({"body": None}, "body", f"{NULL} text"), ({"body": 7}, "body", "is of type int, not text"),
        *(
            (
                {"attributes": {"SentTimestamp": wrong}}, "attributes.SentTimestamp",
                f"is of type {type(wrong).__name__}, not number of milliseconds",
            )
            for wrong in (7, "", "-1", "1.5", "١٢", "²", "0" * 16, "9" * 5_000, str(LAST + 1))
        ),
        ({"messageAttributes": [1]}, "messageAttributes", "is of type list, not object"),
        ({"messageAttributes": {"a": 7}}, "messageAttributes.a", "is of type int, not object"),
    ],
)  # fmt: skip
def test_a_record_that_is_not_one_of_a_queue_is_refused_with_its_place_and_its_fault(
    changes: dict[str, Any], place: str, fault: str
) -> None:  # fmt: skip
    with pytest.raises(MessageRefused) as refused:
        read("{}", MESSAGE, **changes)
    assert (refused.value.code, refused.value.field, refused.value.detail) == ("stream", place, fault)


@pytest.mark.parametrize(("sent", "at"), [("0", 0.0), ("250", 0.25), (str(LAST), float(LAST_SECOND))])
def test_a_message_may_be_sent_in_any_millisecond_from_1970_to_9999(sent: str, at: float) -> None:
    assert read("x", MESSAGE, attributes={"SentTimestamp": sent})[0]["at"] == at


@pytest.mark.parametrize("attributes", [None, {}])
def test_a_message_needs_no_attributes(attributes: dict[str, Any] | None) -> None:
    assert read("x", MESSAGE, messageAttributes=attributes)[0]["attributes"] == {}


@pytest.mark.parametrize(
    ("body", "form"),
    [
        (envelope("x", Timestamp=None), SNS), (json.dumps(FROM_BUS | {"time": None}), EVENTBRIDGE),
        (json.dumps(FROM_BUS | {"time": None}), S3), (json.dumps({"Records": [CREATED | {"eventTime": None}]}), S3),
    ],
)  # fmt: skip
def test_what_has_no_time_has_that_of_the_message_it_came_in(body: str, form: str) -> None:
    assert read(body, form)[0]["at"] == NOW


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.sampled_from([*CREATED, *FROM_BUS, "Records", "Message", "Type"]), one),
)


@given(st.sampled_from(FORMATS), ANYTHING | st.fixed_dictionaries({"Records": st.lists(ANYTHING, min_size=1, max_size=2)}))
def test_any_body_is_read_or_refused(form: str, value: Any) -> None:
    try:
        found = read(json.dumps(value), form)
    except MessageRefused:
        return
    assert all(one["stream"] == "uploads" and one["id"] and one["at"] >= 0 for one in found)
