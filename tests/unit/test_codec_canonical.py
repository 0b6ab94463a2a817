"""The short way of reading a usual command never differs from the long way."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sedano.errors import MessageRefused
from sedano.model.messages import fast_decoder as canonical
from sedano.model.messages.codec import decode, encode
from sedano.model.messages.lineage import Lineage
from sedano.model.messages.message import Command, JoinMember, Place
from tests.unit.generated import usual_commands

ADD = Command("0b7e2c1a", "f3d1c5e7", "shop.add", "me", 1_795_172_400.123456, 1_795_172_400_123_457, (1, "a"), {"b": [{}]})
STEP = ADD._replace(lineage=Lineage("r", "p"), member=JoinMember("j", 1, 2), place=Place("c", "17.2", f"blob:{'0a' * 32}:2048"))
INLINE = STEP._replace(place=Place("c", "0", '{"item":{"chain":[{"task":"shop.add","args":[" {}~"]}]}}'))


def long_way(text):
    """Read *text* in full: as bytes, which the short way does not take."""
    try:
        return decode(text.encode("utf-8", "surrogatepass"))
    except MessageRefused as refused:
        return refused.code, refused.field


@pytest.mark.parametrize(
    "command",
    [
        ADD,
        ADD._replace(task_id=ADD.id),
        ADD._replace(lineage=Lineage("r", "p", 128, 0)),
        ADD._replace(member=JoinMember("j", 299, 300)),
        ADD._replace(lineage=Lineage("r", "p", 1, 99), member=JoinMember("j", 0, 1)),
        ADD._replace(lineage=Lineage("r", "p"), member=JoinMember("j", 0, 1)),
        ADD._replace(lineage=Lineage("r", "p", 2)),
        STEP,
        INLINE,
    ],
)
def test_a_usual_command_is_read_the_short_way(command):
    assert canonical.read(encode(command)) == command == long_way(encode(command))


@given(usual_commands())
def test_the_short_way_reads_what_the_long_way_reads(command):
    short = canonical.read(encode(command))
    assert short is None or short == command == long_way(encode(command))


@settings(max_examples=200)
@given(
    usual_commands() | st.sampled_from([ADD, STEP, INLINE, ADD._replace(lineage=Lineage("r", "p", 3, 4), member=JoinMember("j", 1, 2))]),
    st.data(),
)
def test_of_a_damaged_command_the_short_way_reads_nothing_that_the_long_way_would_not(command, data):
    text = encode(command)
    for _ in range(data.draw(st.integers(1, 2))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 6)))
        some = st.sampled_from(['"', "\\", "{", "}", "[", "]", ",", ":", "0", "9", "-", " ", "\n", "é", "٣", "e400", "NaN", '"x":1'])
        text = text[:start] + data.draw(some | st.just("")) + text[end:]
    short = canonical.read(text)
    assert short is None or short == long_way(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"args":[1', '"args":[NaN'),
        ('"args":[1', '"args":[1e400'),
        ('"args":[1', '"args":[' + "[" * 70 + "]" * 70),
        ('"args":[1', '"args":[' + "1" * 4301),
        ('"args":[1', r'"args":["\ud800"'),
        ('"args":[1', '"args":["é"'),
        ('"kwargs":{', '"args":[],"kwargs":{'),
        ('"b":[{}]', '"b":1,"b":[{}]'),
        ('"kwargs"', '"kwarg"'),
        ("2026-11-20", "2026-02-30"),
        ('"clock":"1', '"clock":"01'),
        ('"id":"0b7e2c1a"', f'"id":"{"x" * 257}"'),
        ('"id":"0b7e2c1a"', '"id":"two words"'),
        ('"joinindex":1', '"joinindex":2'),
        ('"hops":3', '"hops":129'),
        ('"budget":4', '"budget":04'),
        ("}}}", "}}} "),
        ("}}}", "}}}}"),
        ("}}}", "}}"),
        ("}}}", '}},"data":{}}'),
        ("}}}", '}},"tenant":"t"}'),
    ],
)
def test_what_needs_a_closer_look_is_left_to_the_long_way(old, new):
    text = encode(ADD._replace(lineage=Lineage("r", "p", 3, 4), member=JoinMember("j", 1, 2)))
    assert old in text
    assert canonical.read(text) is not None
    assert canonical.read(text.replace(old, new, 1)) is None


def test_the_short_way_takes_the_order_of_the_encoder_only():
    envelope = json.loads(encode(ADD))
    text = json.dumps(dict(reversed(envelope.items())), separators=(",", ":"))
    assert canonical.read(text) is None
    assert decode(text) == ADD


@pytest.mark.parametrize("plan", ['{"a":"\\\\"}', '{"a":"é"}', '{"a":"\\n"}', '{"a":1', "{}", '{"a":"' + "x" * 4_090 + '"}'])
def test_a_page_with_other_escapes_or_of_another_form_is_read_the_long_way(plan):
    text = encode(INLINE).replace(json.dumps(INLINE.place.plan), json.dumps(plan, ensure_ascii=False))
    assert canonical.read(text) is None
