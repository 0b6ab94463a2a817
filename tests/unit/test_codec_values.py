"""What a task may take and return travels as documented; anything else is refused with the place where it stands."""

import json
import math
import sys
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import Unserialisable
from sedano.model.messages.codec import (
    MAX_DATA_DEPTH,
    MAX_VALUE_DEPTH,
    decode,
    decode_value,
    encode,
    encode_data,
    encode_event_data,
    encode_value,
)
from sedano.model.messages.message import Command, Document, Event
from sedano.model.messages.strict_json import MAX_DIGITS
from tests.unit.generated import plain


class Point(NamedTuple):
    x: int
    y: int


ID = UUID("0b7e2c1a-54d3-4c9f-8a61-7f0e9d2c3b4a")


class Colour(Enum):
    RED = "red"
    MIXED = ("red", 2)


class Level(IntEnum):
    HIGH = 3


class Word(StrEnum):
    YES = "yes"


@dataclass
class Line:
    """One line of an order."""

    sku: str
    price: Decimal
    tags: list[Any] = field(default_factory=list)


class Text(str):
    __slots__ = ()


class Money(float):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        (None, None),
        (True, True),
        (0, 0),
        (10**40, 10**40),
        (1.5, 1.5),
        (Money(2.5), 2.5),
        ('é\u2028\U0001f600\x00"\\', 'é\u2028\U0001f600\x00"\\'),
        (Text("t"), "t"),
        ((1, (2,)), [1, [2]]),
        (Point(1, 2), [1, 2]),
        (OrderedDict(a=1), {"a": 1}),
        (defaultdict(list, a=[1]), {"a": [1]}),
        ({Word.YES: 1, Text("t"): 2}, {"yes": 1, "t": 2}),
        (ID, str(ID)),
        (Decimal("1.10"), "1.10"),
        (datetime(2026, 11, 20, 11, 0, 0, 5, tzinfo=UTC), "2026-11-20T11:00:00.000005+00:00"),
        (datetime.fromisoformat("2026-11-20T11:00"), "2026-11-20T11:00:00"),
        (date(2026, 11, 20), "2026-11-20"),
        (Colour.RED, "red"),
        (Colour.MIXED, ["red", 2]),
        (Level.HIGH, 3),
        (Word.YES, "yes"),
        (Line("a", Decimal(2), [ID]), {"sku": "a", "price": "2", "tags": [str(ID)]}),
    ],
)
def test_a_value_travels_as_documented(value, wire):
    assert json.loads(encode_value(value)) == wire
    assert decode_value(encode_value(value)) == wire
    assert json.loads(encode_value({"deep": [value]})) == {"deep": [wire]}


class Opaque:
    pass


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b"bytes", "type bytes"),
        (bytearray(b"b"), "type bytearray"),
        ({1, 2}, "type set"),
        (frozenset(), "type frozenset"),
        (Opaque(), "type Opaque"),
        (Opaque, "type type"),
        (Line, "type type"),
        (1j, "type complex"),
        (timedelta(1), "type timedelta"),
        (range(3), "type range"),
        (MappingProxyType({}), "type mappingproxy"),
        (print, "type builtin_function_or_method"),
        (iter([]), "type list_iterator"),
        (math.nan, "float nan"),
        (math.inf, "float inf"),
        (Money("-inf"), "float -inf"),
        (Decimal("NaN"), "Decimal NaN"),
        (Decimal("-Infinity"), "Decimal -Infinity"),
        ("\ud800", "half a surrogate pair"),
        ("a\udfffb", "half a surrogate pair"),
        pytest.param(10**MAX_DIGITS, "more than 4300 digits", id="10**4300"),
        pytest.param(-(10**MAX_DIGITS), "more than 4300 digits", id="-10**4300"),
        ({1: "a"}, "key of type int"),
        ({None: "a"}, "key of type NoneType"),
        ({True: "a"}, "key of type bool"),
        ({1.5: "a"}, "key of type float"),
        ({(1, 2): "a"}, "key of type tuple"),
        ({ID: "a"}, "key of type UUID"),
        ({Level.HIGH: "a"}, "key of type Level"),
        ({"\ud800": "a"}, "half a surrogate pair"),
    ],
)
def test_a_value_that_json_cannot_hold_is_refused_with_its_place_and_type(value, words):
    with pytest.raises(Unserialisable, match=rf"^result.*: .*{words}"):
        encode_value(value)
    key = "" if not isinstance(value, dict) else r".*"
    with pytest.raises(Unserialisable, match=rf"^invoice\.lines\[1\]\.tags\[0\]{key}: .*{words}"):
        encode_value({"lines": [1, Line("a", Decimal(1), [value])]}, "invoice")


def test_the_place_is_named_as_a_person_would_write_it():
    for value, place in (
        ({"a b": [0, {1}]}, r"^result\['a b'\]\[1\]: "),
        ({"é": {1}}, r"^result\['\\xe9'\]: "),
        ({"x" * 500: {1}}, r"^result\['x{59}\.\.\.\]: "),
        ({"rows": {7: "a"}}, r"^result\.rows\[7\]: "),
    ):
        with pytest.raises(Unserialisable, match=place):
            encode_value(value)


def test_arguments_fields_and_documents_are_named_by_the_message():
    for message, place in (
        (Command("m", "t", "f", "s", 0.0, 0, args=(1, {2})), r"^data\.args\[1\]: "),
        (Command("m", "t", "f", "s", 0.0, 0, kwargs={"when": {2}}), r"^data\.kwargs\.when: "),
        (Event("m", "e", "s", 0.0, 0, data={"when": {2}}), r"^data\.when: "),
        (Document("m", "t", "f", "s", 0.0, 0, "SUCCESS", value=[{2}]), r"^data\.value\[0\]: "),
        (Document("m", "t", "f", "s", 0.0, 0, "FAILURE", error=("E", "\ud800", "")), r"^data\.error\.message: "),
    ):
        with pytest.raises(Unserialisable, match=place):
            encode(message)


def test_arguments_may_be_any_sequence_and_any_mapping():
    command = Command("m", "t", "f", "s", 0.0, 0, args=range(3), kwargs=MappingProxyType({"a": 1}))
    again = decode(encode(command))
    assert (again.args, again.kwargs) == ((0, 1, 2), {"a": 1})


def test_the_longest_integer_is_written_and_read_whatever_the_interpreter_allows():
    longest, before = 10**MAX_DIGITS - 1, sys.get_int_max_str_digits()
    try:
        for limit in (0, MAX_DIGITS):
            sys.set_int_max_str_digits(limit)
            assert decode_value(encode_value([longest, -longest])) == [longest, -longest]
        sys.set_int_max_str_digits(0)
        with pytest.raises(Unserialisable, match=r"^result\[1\]: "):
            encode_value([1, longest + 1])
        sys.set_int_max_str_digits(640)
        with pytest.raises(Unserialisable, match=r"^result: "):
            encode_value([longest])
    finally:
        sys.set_int_max_str_digits(before)


def nested(depth, kind):
    """Return *depth* containers inside one another."""
    value: Any = kind()
    for _ in range(depth - 1):
        value = [value] if kind is list else {"a": value}
    return value


@pytest.mark.parametrize("kind", [list, dict])
def test_what_is_written_nests_no_deeper_than_what_is_read(kind):
    for write, most in (
        (encode_value, MAX_VALUE_DEPTH),
        (lambda value: encode_data((value,), {}), MAX_DATA_DEPTH - 2),
        (lambda value: encode_data((), {"a": value}), MAX_DATA_DEPTH - 2),
        (lambda value: encode_event_data({"a": value}), MAX_DATA_DEPTH - 1),
        (lambda value: encode(Command("m", "t", "f", "s", 0.0, 0, (value,))), MAX_DATA_DEPTH - 2),
    ):
        write(nested(most, kind))
        for depth in (most + 1, 900, 5000):
            with pytest.raises(Unserialisable, match="too many containers"):
                write(nested(depth, kind))


def test_a_value_that_contains_itself_is_refused():
    loop: list[Any] = []
    loop.append({"again": loop})
    line = Line("a", Decimal(1))
    line.tags.append(line)
    for value in (loop, line):
        with pytest.raises(Unserialisable, match="contains itself"):
            encode_value(value)


def test_a_deepest_result_fits_into_a_document_and_among_the_results_of_a_join():
    value = nested(MAX_VALUE_DEPTH, list)
    assert decode(encode(Document("m", "t", "f", "s", 0.0, 0, "SUCCESS", value=value))).value == value
    assert decode(encode(Command("m", "t", "f", "s", 0.0, 0, args=([value],)))).args == ([value],)


@given(
    st.recursive(
        plain | st.binary() | st.floats() | st.text(st.characters(categories=["Cs"])) | st.dates(),
        lambda inner: st.lists(inner) | st.dictionaries(st.integers() | st.text(), inner),
        max_leaves=8,
    )
)
def test_any_value_is_written_so_that_it_can_be_read_or_refused(value):
    try:
        text = encode_value(value)
    except Unserialisable:
        return
    assert encode_value(decode_value(text)) == text
