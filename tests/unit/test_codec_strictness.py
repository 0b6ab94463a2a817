"""Whatever is not strict JSON within the limits is refused with its code; nothing else ever comes out."""

import json
import sys
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import MessageRefused
from sedano.model import refusals
from sedano.model.messages.attributes import COMMAND
from sedano.model.messages.codec import (
    MAX_BYTES,
    MAX_DATA_DEPTH,
    MAX_DEPTH,
    MAX_VALUE_DEPTH,
    decode,
    decode_data,
    decode_event_data,
    decode_value,
    encode,
)
from sedano.model.messages.strict_json import MAX_DIGITS, load
from tests.unit.generated import messages, plain

HEAD = '{"specversion":"1.0","id":"1","source":"me","type":"sedano.command.v1","subject":"shop.add","data":{"args":['
TAIL = "]}}"


def code_of(body, read=decode):
    """Return the code with which *body* is refused, or None."""
    try:
        read(body)
    except MessageRefused as refused:
        fits = refused.code in refusals.ALL and str(refused).isascii() and len(str(refused)) < 300
        return refused.code if fits else f"no refusal to show to people: {refused}"
    return None


@contextmanager
def digit_limit(digits):
    """Let CPython itself convert integers of up to *digits* digits (0: any)."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(digits)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)


@pytest.mark.parametrize(
    "value",
    [
        '{"a":1,"a":1}',
        '{"a":{"b":[{"c":1,"d":2,"c":3}]}}',
        "NaN",
        "Infinity",
        "-Infinity",
        "1e400",
        "-1e400",
        "1" * 400 + ".0",
        r'"\ud800"',
        r'"\uDFFF"',
        r'"\ude00\ud83d"',
        r'"\ud83d\\\ude00"',
        r'"\ud83d \ude00"',
        r'{"\ud800":1}',
        '"\ud800"',
        '"tab\there"',
        '"\x00"',
        "'1'",
        "01",
        "1.",
        ".5",
        "+1",
        "0x10",
        "True",
        "undefined",
        "[1,]",
        '{"a":1,}',
        "{a:1}",
        '"\\x41"',
        '"\\u12"',
        "// comment\n1",
        "1 2",
        "",
    ],
)
def test_what_is_not_strict_json_is_malformed(value):
    assert code_of(HEAD + value + TAIL) == refusals.MALFORMED or value == ""
    assert code_of(value, decode_value) == refusals.MALFORMED


@pytest.mark.parametrize(
    "value", [r'"\ud83d\ude00"', r'"\\ud800"', '"\U0001f600"', '"\\\\"', "[[],{}]", "1e308", "-0", '"\u2028"', r'"\u0000"']
)
def test_what_only_looks_suspicious_is_read(value):
    assert decode(HEAD + value + TAIL).args == (json.loads(value),)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        "",
        " \n",
        b"\xef\xbb\xbf{}",
        "\ufeff{}",
        b"\xff\xfe{\x00}\x00",
        b'"\xed\xa0\x80"',
        b'"\xc0\xaf"',
        b'{"id":"\xe9"}',
        "{",
        "[",
        '"',
        "{}}",
        "{} x",
        "\x00{}",
        "nul",
    ],
)
def test_a_body_that_is_no_json_text_in_utf_8_is_malformed(body):
    assert code_of(body) == refusals.MALFORMED


def test_a_byte_order_mark_is_named_for_it_cannot_be_seen():
    for body in ("\ufeff{}", b"\xef\xbb\xbf{}"):
        with pytest.raises(MessageRefused, match="begins with a byte order mark"):
            decode(body)


@pytest.mark.parametrize("body", ["[]", "1", '"a"', "null", "true", "{}", '{"type":[]}', '{"type":"sedano.command.v1"}'])
def test_json_that_is_no_message_is_against_the_schema(body):
    assert code_of(body) == refusals.SCHEMA


@pytest.mark.parametrize(("size", "code"), [(MAX_BYTES - 1, None), (MAX_BYTES, None), (MAX_BYTES + 1, refusals.TOO_LARGE)])
@pytest.mark.parametrize("letter", ["x", "é", "\U0001f600"])
def test_a_body_may_have_exactly_one_mebibyte(size, code, letter):
    room = size - len(HEAD + TAIL) - 2
    width = len(letter.encode())
    body = HEAD + '"' + letter * (room // width) + "x" * (room % width) + '"' + TAIL
    assert len(body.encode()) == size
    assert code_of(body) == code
    assert code_of(body.encode()) == code


@pytest.mark.parametrize(("depth", "code"), [(MAX_DEPTH - 1, None), (MAX_DEPTH, None), (MAX_DEPTH + 1, refusals.TOO_DEEP)])
@pytest.mark.parametrize(("opened", "closed"), [("[", "]"), ('{"a":', "}")])
def test_a_message_may_nest_exactly_64_containers(depth, code, opened, closed):
    inner = depth - 3
    assert code_of(HEAD + opened * inner + "1" + closed * inner + TAIL) == code
    assert code_of(HEAD + f'"{"[" * 99}\\"{"{" * 99}",' + opened * inner + "1" + closed * inner + TAIL) == code


@pytest.mark.parametrize(
    ("read", "most", "opened", "closed"),
    [
        (decode_value, MAX_VALUE_DEPTH, "", ""),
        (decode_data, MAX_DATA_DEPTH, '{"args":', "}"),
        (decode_event_data, MAX_DATA_DEPTH, '{"a":', "}"),
    ],
)
def test_results_and_claim_checked_data_have_their_depth_too(read, most, opened, closed):
    for depth, code in ((most - 1, None), (most, None), (most + 1, refusals.TOO_DEEP)):
        inner = depth - opened.count("{")
        assert code_of(opened + "[" * inner + "]" * inner + closed, read) == code


@pytest.mark.parametrize("limit", [0, 4300, 100_000])
@pytest.mark.parametrize("sign", ["", "-"])
def test_an_integer_may_have_exactly_4300_digits_whatever_the_interpreter_allows(limit, sign):
    for digits, code in ((MAX_DIGITS - 1, None), (MAX_DIGITS, None), (MAX_DIGITS + 1, refusals.TOO_LARGE)):
        for filler in range(0, MAX_DIGITS + 2, 997):
            body = f'{HEAD}"{"x" * filler}",{sign}{"7" * digits}{TAIL}'
            with digit_limit(limit):
                assert code_of(body) == code


def test_a_lower_limit_of_the_interpreter_is_a_refusal_too():
    with digit_limit(640):
        assert code_of(HEAD + "7" * 641 + TAIL) == refusals.TOO_LARGE


def test_the_deepest_recursion_is_a_refusal():
    assert code_of("[" * 1000) == refusals.TOO_DEEP
    for body in ("[" * 100_000 + "]" * 100_000, '{"a":' * 100_000):
        assert code_of(body) == refusals.TOO_DEEP
        with pytest.raises(MessageRefused, match="too-deep"):
            load(body, MAX_BYTES, 10**9)  # the limit of the interpreter, which each version of Python has its own of


def test_the_refusal_names_a_repeated_key_but_never_more_of_it_than_a_line():
    with pytest.raises(MessageRefused, match=r"^malformed: body: the key 'subject' is given twice"):
        decode('{"subject":1,"subject":2}')
    name = "\u20ac" * 10_000
    assert code_of(f'{{"{name}":1,"{name}":2}}') == refusals.MALFORMED


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_random_input_is_refused_and_nothing_else_happens(body):
    for read in (decode, decode_data, decode_event_data):
        assert code_of(body, read) is not None or body in {"{}", b"{}"}
    code_of(body, decode_value)


@given(messages, st.data())
def test_a_damaged_message_is_read_or_refused_and_nothing_else_happens(message, data):
    body = bytearray(encode(message).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(body)))
        end = data.draw(st.integers(start, min(len(body), start + 8)))
        body[start:end] = data.draw(
            st.binary(max_size=4) | st.sampled_from([b'"', b"\\", b"[", b"}", b"null", b"1e999", b"\\ud800", b"-1", b",", b":"])
        )
    code_of(bytes(body))
    code_of(bytes(body).decode("latin-1"))


changed = st.dictionaries(st.sampled_from([*COMMAND, "state", "x", "X", ""]), plain, max_size=3)


@given(messages, changed)
def test_attributes_of_other_types_and_ranges_are_refused_and_nothing_else_happens(message, changes):
    code_of(json.dumps(json.loads(encode(message)) | changes))
