"""What is written is read back as it was, in as few bytes as can be, and a message can be written by hand."""

import json
import uuid

import pytest
from hypothesis import given

from sedano.errors import OptionError
from sedano.model.messages.codec import (
    decode,
    decode_data,
    decode_event_data,
    decode_value,
    encode,
    encode_data,
    encode_event_data,
    encode_value,
)
from sedano.model.messages.lineage import ROOT, Lineage
from sedano.model.messages.message import BlobRef, Command, Event, JoinMember
from tests.unit.generated import ADD, events, fields, messages, plain


@given(messages)
def test_what_is_written_is_read_back_equal(message):
    assert decode(encode(message)) == message


@given(messages)
def test_bytes_and_text_are_the_same_message(message):
    assert decode(encode(message).encode()) == message


@given(messages)
def test_a_message_is_one_line_of_visible_ascii_so_that_any_queue_takes_it(message):
    text = encode(message)
    assert text.isascii()
    assert text.isprintable()


@given(messages)
def test_no_attribute_is_written_twice_and_each_is_a_cloudevents_type(message):
    pairs = json.loads(encode(message), object_pairs_hook=list)
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names)
    assert all(name.isalnum() and name.islower() and len(name) <= 20 for name in names)
    assert all(type(value) in {str, bool, int} for name, value in pairs if name != "data")


@given(events())
def test_an_event_keeps_its_fields(event):
    again = decode(encode(event))
    assert isinstance(again, Event)
    assert again.data == event.data


@given(plain)
def test_a_result_is_read_back_equal(value):
    assert decode_value(encode_value(value)) == value


@given(plain, fields)
def test_claim_checked_data_is_read_back_equal(value, named):
    assert decode_data(encode_data((value,), named)) == ((value,), named)
    assert decode_event_data(encode_event_data(named)) == named


def test_add_of_one_and_two_travels_in_at_most_420_bytes():
    assert len(encode(ADD)) <= 420
    follow_up = Command(str(uuid.uuid4()), str(uuid.uuid4()), ADD.task, ADD.source, ADD.time, ADD.clock, (1, 2))
    assert len(encode(follow_up)) <= 420


def test_what_stands_at_its_default_is_not_written():
    written = json.loads(encode(ADD))
    assert set(written) == {"specversion", "type", "source", "subject", "id", "time", "clock", "taskid", "data"}
    assert written["data"] == {"args": [1, 2]}


def test_a_call_without_arguments_has_no_data():
    assert "data" not in json.loads(encode(Command("m", "t", "tick", "me", 0.0, 0)))


def test_a_command_written_by_hand_is_understood():
    command = decode('{"specversion":"1.0","id":"1","source":"me","type":"sedano.command.v1","subject":"shop.add","data":{"args":[2,3]}}')
    assert command == Command("1", "1", "shop.add", "me", 0.0, 0, (2, 3))


def test_a_message_may_be_indented_and_its_attributes_may_stand_in_any_order():
    pairs = json.loads(encode(ADD), object_pairs_hook=list)
    shuffled = {name: dict(value) if name == "data" else value for name, value in reversed(pairs)}
    assert decode("\r\n\t " + json.dumps(shuffled, indent=2) + " \n") == ADD


def test_an_attribute_that_is_null_counts_as_absent():
    envelope = json.loads(encode(ADD)) | {"tenant": None, "hops": None, "data": None}
    command = decode(json.dumps(envelope))
    assert (command.tenant, command.lineage, command.args) == (None, ROOT, ())


def test_attributes_of_other_extensions_are_ignored():
    envelope = json.loads(encode(ADD)) | {"partitionkey": "k", "sampledrate": 3, "dataschema": "urn:x", "flag": True}
    assert decode(json.dumps(envelope)) == ADD


def test_data_behind_a_claim_check_is_not_in_the_message():
    ref = BlobRef("ab" * 32, 2_000_000)
    text = encode(Command("m", "t", "tick", "me", 0.0, 0, args=(1,), data_ref=ref))
    assert "data" not in json.loads(text)
    command = decode(text)
    assert (command.args, command.data_ref) == ((), ref)


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("id", {"id": ""}),
        ("id", {"id": "two words"}),
        ("taskid", {"task_id": "x" * 257}),
        ("subject", {"task": "line\nbreak"}),
        ("source", {"source": ""}),
        ("time", {"time": -1.0}),
        ("time", {"time": float("nan")}),
        ("expirytime", {"expires": 1e12}),
        ("clock", {"clock": 2**63}),
        ("clock", {"clock": -1}),
        ("attempt", {"attempt": 1_000_001}),
        ("tenant", {"tenant": "a b"}),
        ("traceparent", {"traceparent": "00-zz"}),
        ("budget", {"lineage": Lineage(budget=-1)}),
        ("hops", {"lineage": Lineage(hops=129)}),
        ("joinindex", {"member": JoinMember("j", -1, 2)}),
        ("joinindex", {"member": JoinMember("j", 2, 2)}),
        ("dataref", {"data_ref": BlobRef("../../etc/passwd", 1)}),
    ],
)
def test_what_could_not_be_read_is_not_written_and_the_field_is_named(field, changes):
    with pytest.raises(OptionError, match=f"^{field}: "):
        encode(ADD._replace(**changes))
