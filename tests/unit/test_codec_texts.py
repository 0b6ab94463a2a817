"""Messages as they are written, letter by letter, and the words with which a wrong attribute is refused."""

import json
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest

from sedano.errors import MessageRefused, OptionError, Unserialisable
from sedano.model.messages import attributes as wire
from sedano.model.messages import codec, decoder, encoder, fast_decoder
from sedano.model.messages.lineage import Lineage
from sedano.model.messages.message import BlobRef, Command, Document, Event, Gather, JoinMember, Message, Place, Section, TimeLimits
from sedano.model.messages.plain_json import dump

DIGEST, AT, TIMED = "0f" * 32, 1_795_172_400.123456, ',"time":"2026-11-20T11:00:00.123456Z","clock":"7"'
TRACE, MARK = f"00-{'1' * 32}-{'2' * 16}-01", "k1;" + "0a" * 16
LINEAGE = Lineage("root", "parent", 3, 5, MARK)
SAID = f',"rootid":"root","parentid":"parent","hops":3,"budget":5,"budgetmark":"{MARK}","tenant":"acme","traceparent":"{TRACE}"'
SAID += ',"tracestate":"a=b","stamps":"c=d"'
MORE: dict[str, Any] = {"lineage": LINEAGE, "tenant": "acme", "traceparent": TRACE, "tracestate": "a=b", "stamps": "c=d"}


def head(kind: str, rest: str, subject: str = "shop.add", message_id: str = "m") -> str:
    """Return the text of a message."""
    start = f'{{"specversion":"1.0","type":"sedano.{kind}.v1","source":"me","subject":"{subject}"'
    return f'{start},"id":"{message_id}"{rest}}}'


COMMAND = Command("m", "m", "shop.add", "me")
TEXTS: list[tuple[Message, str]] = [
    (COMMAND, head("command", "")),
    (COMMAND._replace(time=AT, clock=7, args=[1, "é"]), head("command", rf'{TIMED},"data":{{"args":[1,"\u00e9"]}}')),
    (COMMAND._replace(clock=7), head("command", ',"clock":"7"')),
    (COMMAND._replace(clock=2**63 - 1), head("command", ',"clock":"9223372036854775807"')),
    (COMMAND._replace(time=AT), head("command", ',"time":"2026-11-20T11:00:00.123456Z"')),
    (COMMAND._replace(time=AT, clock=1), head("command", TIMED.replace("7", "1"))),
    (COMMAND._replace(kwargs={"k": None}), head("command", ',"data":{"kwargs":{"k":null}}')),
    (COMMAND._replace(args=[0], kwargs={"k": 1}), head("command", ',"data":{"args":[0],"kwargs":{"k":1}}')),
    (COMMAND._replace(task_id="t", attempt=2), head("command", ',"taskid":"t","attempt":2')),
    (COMMAND._replace(lineage=Lineage("root", "parent")), head("command", ',"rootid":"root","parentid":"parent"')),
    (COMMAND._replace(**MORE, data_ref=BlobRef(DIGEST, 9)), head("command", f'{SAID},"dataref":"blob:{DIGEST}","datasize":9')),
    (
        COMMAND._replace(
            ignore_result=True, expires=AT, member=JoinMember("j", 1, 2), gather=Gather("g", 3), place=Place("c", "0.1", "{ }")
        ),
        head(
            "command",
            ',"ignoreresult":true,"expirytime":"2026-11-20T11:00:00.123456Z","joinid":"j","joinindex":1,"joinsize":2'
            ',"gatherid":"g","gathersize":3,"canvasid":"c","canvasnode":"0.1","canvasplan":"{ }"',
        ),
    ),
    (
        COMMAND._replace(ignore_result=False, gather=Gather("g", 0, False, True), section=Section(1, 4), time_limits=TimeLimits(0.5, 60)),
        head(
            "command",
            ',"ignoreresult":false,"gatherid":"g","gathersize":0,"gatherhandon":false,"gatheroutcomes":true,"section":"1:4"'
            ',"timelimits":"0.5:60"',
        ),
    ),
    (COMMAND._replace(headers='{"a":1}'), head("command", ',"headers":"{\\"a\\":1}"')),
    (COMMAND._replace(expires=AT), head("command", ',"expirytime":"2026-11-20T11:00:00.123456Z"')),
    (COMMAND._replace(time_limits=TimeLimits(None, 100)), head("command", ',"timelimits":":100"')),
    (COMMAND._replace(time_limits=TimeLimits(1.000001, None)), head("command", ',"timelimits":"1.000001:"')),
    (Event("m", "Bought", "me"), head("event", "", "Bought")),
    (Event("m", "Bought", "me", AT, 7, {"a": 1}, **MORE), head("event", f'{TIMED}{SAID},"data":{{"a":1}}', "Bought")),
    (Event("m", "Bought", "me", data_ref=BlobRef(DIGEST, 0)), head("event", f',"dataref":"blob:{DIGEST}","datasize":0', "Bought")),
    (Document("m", "t", "shop.add", "me"), head("document", ',"taskid":"t","state":"SUCCESS"')),
    (
        Document("m", "t", "shop.add", "me", AT, 7, "SUCCESS", [0], **MORE),
        head("document", f'{TIMED},"taskid":"t","state":"SUCCESS"{SAID},"data":{{"value":[0]}}'),
    ),
    (
        Document("m", "t", "shop.add", "me", state="FAILURE", error=("E", "no", "tb")),
        head("document", ',"taskid":"t","state":"FAILURE","data":{"error":{"type":"E","message":"no","traceback":"tb"}}'),
    ),
    (
        Document("m", "t", "shop.add", "me", data_ref=BlobRef(DIGEST, 1)),
        head("document", f',"taskid":"t","state":"SUCCESS","dataref":"blob:{DIGEST}","datasize":1'),
    ),
]


@pytest.mark.parametrize(("message", "text"), TEXTS)
def test_a_message_is_written_and_read_letter_by_letter(message: Message, text: str) -> None:
    assert codec.encode(message) == text
    found: Any = codec.decode(text)
    assert found == (message._replace(args=tuple(message.args)) if isinstance(message, Command) else message)


@pytest.mark.parametrize(
    "message",
    [
        COMMAND._replace(args=[1], data_ref=BlobRef(DIGEST, 9)),
        Document("m", "t", "a.b", "me", value=1, data_ref=BlobRef(DIGEST, 9)),
        Event("m", "a.b", "me", data={"a": 1}, data_ref=BlobRef(DIGEST, 9)),
    ],
)
def test_data_in_the_blob_store_is_not_in_the_message_too(message: Message) -> None:
    assert '"data":' not in codec.encode(message)


def test_a_usual_command_is_read_field_by_field() -> None:
    rest = ',"taskid":"t","rootid":"r","parentid":"p","hops":128,"budget":0,"joinid":"j","joinindex":1,"joinsize":2'
    rest += f',"canvasid":"c","canvasnode":"0.1","canvasplan":"blob:{DIGEST}:7","data":{{"args":[1]}}'
    whole = COMMAND._replace(time=AT, clock=7, args=(1,))
    told = {
        "task_id": "t",
        "lineage": Lineage("r", "p", 128, 0),
        "member": JoinMember("j", 1, 2),
        "place": Place("c", "0.1", f"blob:{DIGEST}:7"),
    }
    assert fast_decoder.read(head("command", TIMED + rest)) == whole._replace(**told)
    assert fast_decoder.read(head("command", TIMED + ',"data":{"args":[1]}')) == whole
    for part, changed in (
        (',"rootid":"r","parentid":"p"', {"lineage": Lineage("r", "p")}),
        (',"rootid":"r","parentid":"p","hops":2', {"lineage": Lineage("r", "p", 2)}),
        (',"joinid":"j","joinindex":0,"joinsize":1', {"member": JoinMember("j", 0, 1)}),
        (f',"canvasid":"c","canvasnode":"7","canvasplan":"blob:{DIGEST}:7"', {"place": Place("c", "7", f"blob:{DIGEST}:7")}),
    ):
        assert fast_decoder.read(head("command", f'{TIMED}{part},"data":{{"args":[1]}}')) == whole._replace(**changed)
    for rest in (
        ',"joinid":"j","joinindex":1,"joinsize":1,"data":{}',
        ',"data":{"args":[1e400]}',
        ',"data":[]',
        ',"data":5',
        ',"hops":1,"data":{}',
    ):
        assert fast_decoder.read(head("command", TIMED + rest)) is None


def test_data_is_written_for_the_blob_store() -> None:
    assert encoder.encode_data((), {}) == b"{}"
    assert encoder.encode_data(range(2), MappingProxyType({"a": 1})) == b'{"args":[0,1],"kwargs":{"a":1}}'
    assert encoder.encode_event_data(MappingProxyType({"a": 1})) == b'{"a":1}'
    assert encoder.encode_event_data(OrderedDict(a=1)) == b'{"a":1}'
    assert encoder.encode_document_data({"a": 1}) == b'{"value":{"a":1}}'
    assert decoder.decode_document_data(b'{"value":{"a":1}}') == {"a": 1}
    assert decoder.decode_document_data(b"{}") is None
    assert decoder.decode_data(b'{"args":[1],"kwargs":{}}') == ((1,), {})
    with pytest.raises(MessageRefused, match=r"^schema: data: an error in the blob store, where a value belongs$"):
        decoder.decode_document_data(b'{"error":{"type":"E","message":"no"}}')
    deep = "[" * 63 + "]" * 63
    with pytest.raises(MessageRefused, match=r"^too-deep: data: "):
        decoder.decode_document_data(f'{{"value":{deep}}}')


ID = "a string of 1 to 256 visible ASCII characters"
INT32 = "an integer from 0 to 2147483647"


@pytest.mark.parametrize(
    ("kind", "name", "value", "words"),
    [
        ("command", "specversion", "1.1", "'1.1' is not \"1.0\""),
        ("command", "source", "", f"'' is not {ID}"),
        ("command", "id", [1], f"a JSON array is not {ID}"),
        ("command", "id", {}, f"a JSON object is not {ID}"),
        ("command", "subject", " ", "' ' is not a string of 1 to 256 characters without spaces and control characters"),
        ("command", "time", 5, "5 is not a time (RFC 3339)"),
        ("command", "time", "x", "'x': not a time such as 2026-11-20T11:00:00.123456Z (RFC 3339)"),
        ("command", "clock", 5, "5 is not a decimal number of at most 9223372036854775807, as a string"),
        ("command", "clock", str(2**63), f"'{2**63}' is not a decimal number of at most 9223372036854775807, as a string"),
        ("command", "hops", -1, "-1 is not an integer from 0 to 128"),
        ("command", "budget", 2**31, f"2147483648 is not {INT32}"),
        ("command", "datasize", -1, "-1 is not an integer from 0 to 67108864"),
        ("command", "attempt", 1_000_001, "1000001 is not an integer from 0 to 1000000"),
        ("command", "ignoreresult", 1, "1 is not true or false"),
        ("command", "joinsize", 0, "0 is not an integer from 1 to 2147483647"),
        ("command", "section", "0:1", "'0:1' is not the number of a section and its failures, such as \"1:4\""),
        ("command", "data", [], "a JSON array is not an object with args and kwargs"),
        ("command", "data", 5, "5 is not an object with args and kwargs"),
        ("command", "data.args", {"args": 5}, "5 is not an array"),
        ("command", "data.kwargs", {"kwargs": 5}, "5 is not an object"),
        ("command", "data.kwargs", {"kwargs": None}, "None is not an object"),
        ("command", "data", {"args": [], "x": 1}, "'x' is neither args nor kwargs"),
        ("command", "data", {"b": 1, "a": 1}, "'a' is neither args nor kwargs"),
        ("event", "data", [], "a JSON array is not an object, the event's fields"),
        ("document", "data", [], "a JSON array is not an object with either value or error"),
        ("document", "data", {"value": 1, "error": 1}, "a JSON object is not an object with either value or error"),
        ("document", "data", {"other": 1}, "a JSON object is not an object with either value or error"),
        ("document", "data.error", {"error": 5}, "5 is not an object with type, message and traceback"),
        ("document", "data.error", {"error": {"type": "a"}}, "a JSON object is not an object with type, message and traceback"),
        ("document", "data.error.type", {"error": {"type": 5, "message": ""}}, "5 is not a string"),
        ("document", "state", "RETRY", "'RETRY' is not one of EXPIRED, FAILURE, POISON, REVOKED, SUCCESS"),
        ("command", "other", [1], "a JSON array is not a string, a boolean or an integer of 32 bits"),
        ("command", "other", 1.5, "1.5 is not a string, a boolean or an integer of 32 bits"),
        ("command", "other", 2**31, "2147483648 is not a string, a boolean or an integer of 32 bits"),
        ("command", "other", -(2**31) - 1, "-2147483649 is not a string, a boolean or an integer of 32 bits"),
        ("command", "other", "x" * 4_097, "more than 4096 characters"),
        ("command", "'Other'", 1, "the name of an attribute has only lower-case letters and digits"),
    ],
)
def test_a_wrong_attribute_is_refused_with_what_it_may_be(kind: str, name: str, value: Any, words: str) -> None:
    field = name.partition(".")[0].strip("'")
    with pytest.raises(MessageRefused) as caught:
        codec.decode(json.dumps({**json.loads(head(kind, "")), field: value}))
    assert (caught.value.code, caught.value.field, caught.value.detail) == ("schema", name, words)


@pytest.mark.parametrize("value", [None, True, "x" * 4_096, 2**31 - 1, -(2**31)])
def test_an_attribute_of_another_party_is_ignored(value: Any) -> None:
    assert codec.decode(json.dumps({**json.loads(head("command", "")), "other": value})) == COMMAND


def test_the_other_refusals_of_a_message() -> None:
    for body, words in (
        ("[]", "schema: body: a message is a JSON object"),
        ("{}", "schema: type: is missing"),
        ('{"type":5}', "schema: type: 5 is not one of sedano.command.v1, sedano.event.v1, sedano.document.v1"),
        ('{"type":"sedano.event.v2"}', "newer-protocol: type: sedano.event.v2 is newer than this deployment's version 1 of the protocol"),
        ('{"type":"sedano.event.v1","specversion":"1.0"}', "schema: id: is missing"),
        ('{"type":"sedano.event.v1"}', "schema: specversion: is missing"),
    ):
        with pytest.raises(MessageRefused) as caught:
            codec.decode(body)
        assert str(caught.value) == words


def test_the_figures_of_attributes_are_those_that_are_described() -> None:
    assert (wire.LONGEST_ID, wire.LONGEST_TENANT, wire.LONGEST_FOREIGN, wire.MOST_FOREIGN, wire.MAX_INT32) == (
        256,
        128,
        4_096,
        32,
        2**31 - 1,
    )
    assert (wire.MAX_DATA_DEPTH, wire.MAX_VALUE_DEPTH, wire.MAX_CLOCK) == (63, 60, 2**63 - 1)


def test_what_nothing_would_read_is_not_written() -> None:
    for message, words in (
        (COMMAND._replace(member=JoinMember("j", 1, 1)), "joinindex: 1 is not below joinsize 1"),
        (COMMAND._replace(time=-1.0), "time: -1.0 is not between 1970 and 9999"),
        (COMMAND._replace(expires=-1.0), "expirytime: -1.0 is not between 1970 and 9999"),
        (COMMAND._replace(clock=-1), "clock: '-1' is not a decimal number of at most 9223372036854775807, as a string"),
        (COMMAND._replace(time=AT, clock=2**63), f"clock: '{2**63}' is not a decimal number of at most 9223372036854775807, as a string"),
        (COMMAND._replace(id=""), f"id: '' is not {ID}"),
        (COMMAND._replace(attempt=1_000_001), "attempt: 1000001 is not an integer from 0 to 1000000"),
    ):
        with pytest.raises(OptionError) as caught:
            codec.encode(message)
        assert str(caught.value) == words


class Colour(Enum):
    """A colour."""

    RED = "red"


@dataclass
class Point:
    """A point."""

    x: int
    y: Any = None


class Model:
    """Stands for a model of pydantic."""

    def model_dump(self, mode: str) -> dict[str, str]:
        """Return the fields."""
        return {"mode": mode}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Colour.RED, '"red"'),
        (UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (Decimal("1.50"), '"1.50"'),
        (date(2026, 1, 2), '"2026-01-02"'),
        (datetime(2026, 1, 2, tzinfo=UTC), '"2026-01-02T00:00:00+00:00"'),
        (Point(1, [Colour.RED]), '{"x":1,"y":["red"]}'),
        (Model(), '{"mode":"json"}'),
        ((1, 2.5, None, True), "[1,2.5,null,true]"),
        ([[[]], []], "[[[]],[]]"),
        ("[[[[", '"[[[["'),
        (int("7" * 4_300), "7" * 4_300),
        (-int("7" * 4_300), "-" + "7" * 4_300),
    ],
)
def test_a_value_is_written(value: Any, text: str) -> None:
    assert dump(value, "v", 3) == text


TOO_DEEP = "too many containers inside one another, or a value that contains itself"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([[[[]]]], f"v[0][0][0]: {TOO_DEEP}"),
        ({"a": [{"b": []}]}, f"v.a[0].b: {TOO_DEEP}"),
        ([[], [[[]]]], f"v[1][0][0]: {TOO_DEEP}"),
        ([1, float("nan")], "v[1]: the float nan cannot be written as JSON"),
        (float("-inf"), "v: the float -inf cannot be written as JSON"),
        ([10**4_300], "v[0]: an integer of more than 4300 digits cannot be written as JSON"),
        ([-(10**4_300)], "v[0]: an integer of more than 4300 digits cannot be written as JSON"),
        ({"a": "\udcff"}, "v.a: the string '\\udcff' holds half a surrogate pair"),
        ({"\udcff": float("nan")}, "v['\\udcff']: the string '\\udcff' holds half a surrogate pair"),
        ({"a": {1: 2}}, "v.a[1]: a key of type int cannot be written as JSON, only str"),
        ({None: 2}, "v[None]: a key of type NoneType cannot be"),
        ({"a" * 60: {1}}, f"v.{'a' * 60}: a value of type set cannot be written as JSON"),
        ({"a" * 61: {1}}, f"v['{'a' * 59}...]: a value of type set cannot be written as JSON"),
        ({"é": {1}}, "v['\\xe9']: a value of type set cannot be written as JSON"),
        ({"a b": {1}}, "v['a b']: a value of type set cannot"),
        (Decimal("NaN"), "v: the Decimal NaN cannot be written as JSON"),
        (Point, "v: a value of type type cannot be written as JSON"),
    ],
)
def test_what_cannot_be_written_is_named_by_its_path(value: Any, words: str) -> None:
    with pytest.raises(Unserialisable) as caught:
        dump(value, "v", 3)
    assert str(caught.value).startswith(words)
