"""What a queue takes, at the limits: n − 1, n, n + 1."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from sedano.errors import MessageRefused, OptionError, TooLarge
from sedano.model.queues import MAX_BYTES, MAX_DELAY_S, MAX_ENTRIES, batches, messages_wait, misplaced, objection, weigh


@pytest.mark.parametrize(("size", "refused"), [(MAX_BYTES - 1, False), (MAX_BYTES, False), (MAX_BYTES + 1, True)])
def test_a_body_may_have_one_mebibyte(size: int, refused: bool) -> None:
    assert isinstance(objection("x" * size, 0, None, {}), TooLarge) == refused


@pytest.mark.parametrize(("size", "refused"), [(MAX_BYTES - 13, False), (MAX_BYTES - 12, False), (MAX_BYTES - 11, True)])
def test_attributes_weigh_their_names_types_and_values(size: int, refused: bool) -> None:
    assert isinstance(objection("x" * size, 0, None, {"name": "é"}), TooLarge) == refused


@pytest.mark.parametrize(
    ("delay", "refused"), [(-1, True), (0, False), (MAX_DELAY_S - 1, False), (MAX_DELAY_S, False), (MAX_DELAY_S + 1, True)]
)
def test_a_delay_is_between_nothing_and_a_quarter_of_an_hour(delay: int, refused: bool) -> None:
    assert isinstance(objection("{}", delay, None, {}), OptionError) == refused


@pytest.mark.parametrize(
    ("tenant", "refused"), [("", True), ("a", False), ("a" * 128, False), ("a" * 129, True), ("a b", True), ("é", True), ("a\n", True)]
)
def test_a_tenant_is_printable_ascii_of_at_most_128(tenant: str, refused: bool) -> None:
    assert isinstance(objection("{}", 0, tenant, {}), OptionError) == refused


@pytest.mark.parametrize(("count", "refused"), [(9, False), (10, False), (11, True)])
def test_ten_attributes_travel(count: int, refused: bool) -> None:
    assert isinstance(objection("{}", 0, None, {f"a{n}": "1" for n in range(count)}), OptionError) == refused


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("reason", False), ("a" * 256, False), ("a" * 257, True), ("", True), ("a b", True), ("é", True), ("AWS.x", True), ("aws.x", True),
        ("Amazon.x", True), ("awsx", False), (".a", True), ("a.", True), ("a..b", True), ("a.b-c_d", False), ("sedano-slot", False),
    ],
)  # fmt: skip
def test_the_name_of_an_attribute_is_one_that_sqs_takes(name: str, refused: bool) -> None:
    assert isinstance(objection("{}", 0, None, {name: "1"}), OptionError) == refused


@pytest.mark.parametrize(("once", "refused"), [("", False), ("a" * 128, False), ("a" * 129, True), ("a b", True), ("é", True)])
def test_what_tells_copies_apart_is_printable_ascii_of_at_most_128(once: str, refused: bool) -> None:
    assert isinstance(misplaced("commands:q.fifo", 0, "key", once), OptionError) == refused


@pytest.mark.parametrize("code", [0x09, 0x0A, 0x0D, 0x20, 0x7F, 0xD7FF, 0xE000, 0xFFFD, 0x10000, 0x10FFFF])
def test_what_xml_can_say_is_taken(code: int) -> None:
    assert objection(f"a{chr(code)}", 0, None, {}) is None


@pytest.mark.parametrize("code", [0x00, 0x08, 0x0B, 0x0C, 0x0E, 0x1F, 0xD800, 0xDFFF, 0xFFFE, 0xFFFF])
def test_what_xml_cannot_say_is_refused_with_its_place(code: int) -> None:
    refused = objection(f"ab{chr(code)}", 0, None, {})
    assert isinstance(refused, MessageRefused)
    assert f"U+{code:04X} at 2" in refused.detail
    assert isinstance(objection("{}", 0, None, {"reason": chr(code)}), OptionError)


@given(st.lists(st.integers(1, MAX_BYTES) | st.integers(1, MAX_BYTES // 8), max_size=60))
def test_batches_keep_order_and_limits_and_lose_nothing(weights: list[int]) -> None:
    found = list(batches(weights))
    assert [position for batch in found for position in batch] == list(range(len(weights)))
    for batch in found:
        assert 1 <= len(batch) <= MAX_ENTRIES
        assert sum(weights[position] for position in batch) <= MAX_BYTES


@given(st.lists(st.integers(1, 1000), max_size=60))
def test_small_messages_fill_their_batches(weights: list[int]) -> None:
    assert len(list(batches(weights))) == -(-len(weights) // MAX_ENTRIES)


def test_a_body_weighs_its_bytes() -> None:
    assert [weigh(text, {}) for text in ("a", "é", "€", "😀")] == [1, 2, 3, 4]


@pytest.mark.parametrize(("number", "words"), [(0, "0 messages wait"), (1, "1 message waits"), (2, "2 messages wait")])
def test_one_message_waits_and_several_wait(number: int, words: str) -> None:
    assert messages_wait(number) == words
