"""A stream's record as a task gets it: a table's types as the nearest of JSON, nothing rounded; what is none is refused, whatever it is."""

import base64
import json
from contextlib import suppress
from decimal import Decimal

import pytest
from boto3.dynamodb.types import Binary, TypeDeserializer, TypeSerializer
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import MessageRefused, OptionError
from sedano.memory.stream_records import kinesis_record, queue_record, s3_notification, table_record
from sedano.model.messages.codec import decode_value, encode_value
from sedano.model.messages.timestamps import LAST_SECOND
from sedano.model.sources.streams import call_id, read, read_back, sequence, written

AT = 1_767_225_600.0
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBERS = st.decimals(allow_nan=False, allow_infinity=False).map(lambda one: one.normalize()).filter(
    lambda one: len(one.as_tuple().digits) <= 38 and -130 <= one.adjusted() <= 125
)  # fmt: skip
LEAVES = (
    st.none() | st.booleans() | TEXTS | NUMBERS | st.binary(max_size=8) | st.sets(TEXTS.filter(bool), min_size=1, max_size=4)
    | st.sets(NUMBERS, min_size=1, max_size=4) | st.sets(st.binary(min_size=1, max_size=4), min_size=1, max_size=4)
)  # fmt: skip
ATTRIBUTES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=12)
JSON = st.recursive(
    st.none() | st.booleans() | TEXTS | st.integers(-(10**37), 10**37) | st.floats(-1e15, 1e15),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=12,
)  # fmt: skip
REST = st.none() | st.booleans() | st.integers() | TEXTS | st.lists(st.integers(), max_size=2)
ANYTHING = st.recursive(
    REST, lambda inner: st.dictionaries(st.sampled_from(["S", "N", "B", "M", "L", "NS", "SS", "BS", "NULL", "X"]), inner, max_size=2)
)


def change(**parts):
    """A record of a table's stream, with other *parts* at its top."""
    return {**table_record(1, AT, {"id": 7}, {"id": 7}, None), **parts}


def told(**parts):
    """A record of a table's stream, with other *parts* in what the table tells."""
    return change(dynamodb={**table_record(1, AT, {"id": 7}, {"id": 7}, None)["dynamodb"], **parts})


def seen(value):
    """What a task sees of the attribute *value*, which DynamoDB's own library writes."""
    return read("orders", told(NewImage={"it": value}), AT)["new"]["it"]


def meant(value):
    """What is to be seen of what DynamoDB's own library reads: nothing is rounded, sets are sorted lists, bytes are base64."""
    if isinstance(value, Decimal):
        whole, near = value == value.to_integral_value(), float(value)
        return int(value) if whole else near if Decimal(str(near)) == value else str(value)
    if isinstance(value, Binary | bytes):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, set):
        return [meant(one) for one in sorted(value)] if all(isinstance(one, Decimal) for one in value) else sorted(map(meant, value))
    if isinstance(value, list):
        return [meant(one) for one in value]
    return {name: meant(one) for name, one in value.items()} if isinstance(value, dict) else value


def on_the_way(typed):
    """A typed attribute as Lambda hands it over: what is binary is base64 text."""
    if isinstance(typed, Binary | bytes):
        return base64.b64encode(bytes(typed)).decode()
    if isinstance(typed, dict):
        return {name: on_the_way(one) for name, one in typed.items()}
    return [on_the_way(one) for one in typed] if isinstance(typed, list) else typed


@given(ATTRIBUTES)
def test_an_attribute_is_what_dynamodbs_own_library_reads_as_json(value):
    typed = TypeSerializer().serialize(value)
    found = seen(on_the_way(typed))
    assert found == meant(TypeDeserializer().deserialize(typed))
    assert decode_value(encode_value(found)) == found


@given(JSON)
def test_json_that_a_table_holds_comes_back_as_it_was(value):
    record = table_record(1, AT, {"id": 7}, {"id": 7, "it": value}, None)
    assert read("orders", record, AT)["new"]["it"] == value


@given(NUMBERS)
def test_no_number_is_rounded(number):
    found = seen({"N": str(number)})
    assert Decimal(repr(found) if isinstance(found, float) else found) == number


def test_a_change_is_told_with_what_was_and_what_is():
    record = table_record(5, AT, {"id": 7, "at": "b"}, {"paid": True, "price": Decimal("9.90")}, {"id": 7})
    assert read("orders", record, 0.0) == {
        "stream": "orders", "id": f"{5:032x}", "at": AT, "operation": "MODIFY", "keys": {"id": 7, "at": "b"},
        "new": {"id": 7, "at": "b", "paid": True, "price": 9.9}, "old": {"id": 7, "at": "b"}, "expired": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("new", "old", "operation"), [({"id": 1}, None, "INSERT"), ({"id": 1, "a": 2}, {"id": 1}, "MODIFY"), (None, {"id": 1}, "REMOVE")]
)
def test_a_change_has_its_operation(new, old, operation):
    found = read("orders", table_record(1, AT, {"id": 1}, new, old), 0.0)
    assert (found["operation"], found["new"], found["old"]) == (operation, new, old)


def test_what_its_time_to_live_removed_says_so():
    gone = table_record(1, AT, {"id": 1}, None, {"id": 1})
    assert read("orders", gone, 0.0)["expired"] is False
    by_time = {**gone, "userIdentity": {"type": "Service", "principalId": "dynamodb.amazonaws.com"}}
    assert read("orders", by_time, 0.0)["expired"] is True
    assert read("orders", {**gone, "userIdentity": {"principalId": "arn:aws:iam::1:user/a"}}, 0.0)["expired"] is False


def test_a_stream_of_keys_alone_tells_keys_alone():
    record = told()
    del record["dynamodb"]["NewImage"], record["dynamodb"]["ApproximateCreationDateTime"]
    found = read("orders", record, 12.5)
    assert (found["keys"], found["new"], found["old"], found["at"]) == ({"id": 7}, None, None, 12.5)


@pytest.mark.parametrize(("data", "text", "encoded"), [(b"", "", None), ("grün".encode(), "grün", None), (b"\xff\x00", None, "/wA=")])
def test_a_kinesis_record_is_text_or_else_base64(data, text, encoded):
    assert read("clicks", kinesis_record(3, AT + 0.25, data, "visitor 7"), 0.0) == {
        "stream": "clicks", "id": f"shardId-000000000000:{3:056}", "at": AT + 0.25, "partition_key": "visitor 7", "data": text,
        "data_base64": encoded,
    }  # fmt: skip


def test_a_record_has_the_sequence_number_that_lambda_knows_it_by():
    assert sequence(table_record(4, AT, {"id": 1}, {"id": 1}, None)) == f"{4:021}"
    assert sequence(kinesis_record(4, AT, b"", "a")) == f"{4:056}"
    assert [sequence(none) for none in ({}, {"dynamodb": 5}, {"kinesis": {}}, {"dynamodb": {"SequenceNumber": 5}})] == [""] * 4


def test_the_call_of_another_task_stream_or_record_has_another_id():
    some = {call_id(*of) for of in (("a", "t", "1"), ("a", "t", "2"), ("a", "u", "1"), ("b", "t", "1"), ("a", "t/1", ""), ("a", "", "t/1"))}
    assert len(some) == 6
    assert call_id("a", "t", "1") in some


def test_the_id_of_a_call_stays_the_same_between_releases():
    """A record that Lambda delivers again after a deployment is recognised by it."""
    assert call_id("orders", "tasks.count", "1") == "ec13818f-ad60-542d-8e8e-19b123d53835"


ONE_TYPE, FLAG, NO_NUMBER = "not a value with its one type", "not a true or false", "is not a number that a table can hold"
UNKNOWN = "which is not one of S, N, B, BOOL, NULL, L, M, SS, NS, BS"
OPERATION = "is not one of INSERT, MODIFY, REMOVE"
NO_SOURCE = "is neither from a DynamoDB table nor from Kinesis"


@pytest.mark.parametrize(
    ("record", "field", "detail"),
    [
        ({}, "record", NO_SOURCE), ({"body": "an SQS message"}, "record", NO_SOURCE),
        (change(dynamodb=None), "dynamodb", "is of type NoneType, not a dict"),
        (change(eventName="RENAME"), "eventName", OPERATION), (change(eventName=None), "eventName", "is of type NoneType, not a str"),
        (change(eventID=""), "eventID", "is empty, but a repeated record is recognised by it"),
        (change(eventID=5), "eventID", "is of type int, not a str"),
        (told(Keys=None), "Keys", "is of type NoneType, not a map"), (told(Keys=[]), "Keys", "is of type list, not a map"),
        (told(OldImage={"a": {"L": [{"S": ""}, {"Z": 1}]}}), "OldImage.a[1]", f"has the type 'Z', {UNKNOWN}"),
        *[
            (told(NewImage={"a": value}), "NewImage.a", detail)
            for value, detail in (
                (5, f"is of type int, {ONE_TYPE}"), ({}, f"is of type dict, {ONE_TYPE}"),
                ({"S": "", "N": "5"}, f"is of type dict, {ONE_TYPE}"), ({"S": 5}, "is of type int, not a text"),
                ({"N": 5}, "is of type int, not a text"), ({"N": "five"}, "is of type str, not a number"), ({"N": "NaN"}, NO_NUMBER),
                ({"N": "1E+999999999"}, NO_NUMBER), ({"N": "9" * 127}, NO_NUMBER), ({"N": "1" + "0" * 126}, NO_NUMBER),
                ({"NS": ["1", "x"]}, "is of type str, not a number"), ({"B": "%"}, "is not base64"),
                ({"B": 5}, "is of type int, not a text"), ({"BS": "ab"}, "is of type str, not a set"),
                ({"BOOL": 1}, f"is of type int, {FLAG}"), ({"L": {}}, "is of type dict, not a list"),
                ({"M": []}, "is of type list, not a map"),
            )
        ],
        (told(NewImage={"a": {"M": {"b": {"NULL": None}}}}), "NewImage.a.b", f"is of type NoneType, {FLAG}"),
        *[
            (told(ApproximateCreationDateTime=at), "ApproximateCreationDateTime", f"is of type {kind}, not a number of seconds")
            for at, kind in (
                ("now", "str"), (None, "NoneType"), (True, "bool"), (-1, "int"), (LAST_SECOND + 1, "int"), (1e300, "float"),
                (10**400, "int"),
            )
        ],
        ({"kinesis": {}, "eventID": "1"}, "data", "is of type NoneType, not a text"),
        ({"kinesis": {"data": "é", "partitionKey": "a"}, "eventID": "1"}, "data", "is not base64"),
        ({"kinesis": {"data": ""}, "eventID": "1"}, "partitionKey", "is of type NoneType, not a str"),
    ],
)  # fmt: skip
def test_what_is_no_record_is_refused_with_its_place_and_its_fault(record, field, detail):
    with pytest.raises(MessageRefused) as refused:
        read("orders", record, AT)
    assert (refused.value.code, refused.value.field, refused.value.detail) == ("stream", field, detail)


@pytest.mark.parametrize("at", [0, 0.25, LAST_SECOND])
def test_a_change_may_be_of_any_second_from_1970_to_9999(at):
    assert read("orders", told(ApproximateCreationDateTime=at), AT)["at"] == at


@pytest.mark.parametrize(("text", "found"), [("5", 5), ("5.0", 5), ("-1E+3", -1000), (str(2**53 + 1), 2**53 + 1), ("9" * 126, 10**126 - 1)])
def test_a_whole_number_is_an_int_however_it_is_written(text, found):
    number = seen({"N": text})
    assert (type(number), number) == (int, found)


@given(st.dictionaries(TEXTS, ANYTHING, max_size=3), st.sampled_from(["NewImage", "OldImage", "Keys"]))
def test_whatever_stands_in_a_record_it_is_read_or_refused(image, where):
    with suppress(MessageRefused):
        found = read("orders", told(**{where: image}), AT)
        assert json.loads(json.dumps(found)) == found


def test_a_refusal_tells_no_values():
    with pytest.raises(MessageRefused) as refused:
        read("orders", told(NewImage={"card": {"N": "secret 4111"}}), AT)
    assert "4111" not in str(refused.value)


@given(ANYTHING)
def test_a_record_that_was_written_is_read_back(value):
    record = told(NewImage={"it": value})
    assert read_back(written(record)) == record


@pytest.mark.parametrize(
    ("text", "kind"), [("", "JSONDecodeError"), ("{", "JSONDecodeError"), ("[]", "list"), ("5", "int"), ("[" * 100_000, "RecursionError")]
)
def test_what_holds_no_record_is_refused(text, kind):
    with pytest.raises(MessageRefused) as refused:
        read_back(text)
    assert (refused.value.code, refused.value.field, refused.value.detail) == ("schema", "body", f"not a stream's record: {kind}")


@pytest.mark.parametrize("value", [set(), {1, "a"}, {True}, float("nan"), object()])
def test_a_table_that_is_made_up_holds_what_a_table_holds(value):
    with pytest.raises(OptionError, match=r"NewImage\.it: a table cannot hold"):
        table_record(1, AT, {"id": 1}, {"it": value}, None)


@pytest.mark.parametrize("keys", [{}, {"a": 1, "b": 2, "c": 3}, {"id": True}, {"id": None}, {"id": ["a"]}, {"id": 1, "b": None}])
def test_a_table_that_is_made_up_has_keys_that_a_table_has(keys):
    with pytest.raises(OptionError, match=r"keys: .* is not a key; give a partition key"):
        table_record(1, AT, keys, {"a": 1}, None)


def test_an_item_that_is_made_up_keeps_its_keys():
    with pytest.raises(OptionError, match=r"NewImage\.id: is '7' and in keys 7; an item keeps its keys"):
        table_record(1, AT, {"id": 7}, {"id": "7"}, None)


@pytest.mark.parametrize("images", [(None, None), ({}, {}), ({"a": [1]}, {"id": 7, "a": [1]})])
def test_a_table_that_is_made_up_tells_nothing_of_what_changes_nothing(images):
    with pytest.raises(OptionError, match="a table reports only changes"):
        table_record(1, AT, {"id": 7}, *images)


def test_an_item_that_is_made_up_expires_when_it_goes():
    gone = read("orders", table_record(1, AT, {"id": 7}, None, {}, expired=True), AT)
    assert (gone["operation"], gone["expired"], gone["old"]) == ("REMOVE", True, {"id": 7})
    with pytest.raises(OptionError, match="expired: an expired item has no new image"):
        table_record(1, AT, {"id": 7}, {"a": 1}, None, expired=True)


def test_what_the_producer_library_has_packed_together_is_no_text():
    """Its four magic bytes, https://github.com/awslabs/amazon-kinesis-producer/blob/master/aggregation-format.md, are not UTF-8."""
    found = read("clicks", kinesis_record(1, AT, b"\xf3\x89\x9a\xc2" + b"plain", "a"), AT)
    assert (found["data"], found["data_base64"]) == (None, "84mawnBsYWlu")


def test_a_record_that_is_made_up_is_the_one_that_lambda_gives():
    parts = {"a": {"b": [None, True, 1.5, b"x", (7,), {"t"}, {b"y"}]}}
    typed = [{"NULL": True}, {"BOOL": True}, {"N": "1.5"}, {"B": "eA=="}, {"L": [{"N": "7"}]}, {"SS": ["t"]}, {"BS": ["eQ=="]}]
    assert table_record(18, AT + 0.75, {"id": 7, "at": b"x"}, parts, None) == {
        "eventID": "00000000000000000000000000000012", "eventName": "INSERT", "eventVersion": "1.1", "eventSource": "aws:dynamodb",
        "awsRegion": "eu-central-1",
        "dynamodb": {
            "ApproximateCreationDateTime": 1_767_225_600, "Keys": {"id": {"N": "7"}, "at": {"B": "eA=="}},
            "NewImage": {"id": {"N": "7"}, "at": {"B": "eA=="}, "a": {"M": {"b": {"L": typed}}}},
            "SequenceNumber": "000000000000000000018", "SizeBytes": 1, "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
    }  # fmt: skip
    assert kinesis_record(18, AT + 0.75, b"ab", "p") == {
        "kinesis": {
            "kinesisSchemaVersion": "1.0", "partitionKey": "p", "sequenceNumber": "0" * 54 + "18", "data": "YWI=",
            "approximateArrivalTimestamp": 1_767_225_600.75,
        },
        "eventSource": "aws:kinesis", "eventVersion": "1.0", "eventID": f"shardId-000000000000:{'0' * 54}18",
        "eventName": "aws:kinesis:record", "awsRegion": "eu-central-1",
    }  # fmt: skip
    assert queue_record(18, AT + 0.75, "body", {"a": "1"}) == {
        "messageId": "00000000-0000-0000-0000-000000000012", "receiptHandle": "receipt-18", "body": "body",
        "attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": "1767225600750"},
        "messageAttributes": {"a": {"stringValue": "1", "dataType": "String"}},
        "eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:eu-central-1:123456789012:queue", "awsRegion": "eu-central-1",
    }  # fmt: skip


@pytest.mark.parametrize(("size", "told"), [(5, {"size": 5}), (0, {"size": 0}), (None, {})])
def test_a_notification_of_s3_that_is_made_up_has_a_size_where_the_object_has_one(size, told):
    (record,) = json.loads(s3_notification(18, AT + 0.75, "b", "x y/\u00e9", "ObjectCreated:Put", size))["Records"]
    assert record["eventTime"] == "2026-01-01T00:00:00.750000Z"
    assert record["s3"]["object"] == {"key": "x+y/%C3%A9", "sequencer": "000000000000000012", **told}


def test_each_type_of_a_table_is_its_nearest_type_of_json():
    image = {
        "s": {"S": "x"}, "n": {"N": "10"}, "f": {"N": "0.5"}, "long": {"N": "0.12345678901234567890"}, "b": {"B": "eA=="},
        "flag": {"BOOL": False}, "none": {"NULL": True}, "l": {"L": [{"S": "y"}, {"N": "1"}]}, "m": {"M": {"k": {"S": "z"}}},
        "ss": {"SS": ["b", "a"]}, "ns": {"NS": ["10", "9.5"]}, "bs": {"BS": ["eQ==", "eA=="]},
    }  # fmt: skip
    assert read("orders", told(NewImage=image), AT)["new"] == {
        "s": "x", "n": 10, "f": 0.5, "long": "0.12345678901234567890", "b": "eA==", "flag": False, "none": None, "l": ["y", 1],
        "m": {"k": "z"}, "ss": ["a", "b"], "ns": [9.5, 10], "bs": ["eA==", "eQ=="],
    }  # fmt: skip
