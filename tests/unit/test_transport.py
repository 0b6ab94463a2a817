"""What a queue takes, at the limits: n − 1, n, n + 1."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from sedano.errors import MessageRefused, OptionError, TooLarge
from sedano.model import queues
from sedano.model.queues import MAX_BYTES, MAX_DELAY_S, MAX_ENTRIES, QueueBounds, batches, messages_wait, misplaced, objection, weigh


def test_the_figures_are_those_of_sqs_and_those_that_leave_room_for_what_the_engine_sends() -> None:
    assert QueueBounds(max_bytes=1_048_576, max_batch=10, max_delay=900, ordered=True) == queues.SQS
    assert (queues.MAX_BYTES, queues.MAX_ENTRIES, queues.MAX_DELAY_S) == (1_048_576, 10, 900)
    assert (queues.MAX_HOLD_S, queues.HOLD_MOST_S) == (43_200, 41_940)
    assert (queues.MAX_ATTRIBUTES, queues.MAX_NAME, queues.MAX_TENANT) == (10, 256, 128)
    assert (queues.LEAST_BYTES, queues.CLAIM_CHECK_BYTES) == (8_192, 60_000)


@pytest.mark.parametrize(("max_bytes", "inline"), [(8_192, 2_048), (8_199, 2_049), (240_000, 60_000), (239_999, 59_999), (10**6, 60_000)])
def test_data_stays_in_a_message_up_to_a_quarter_of_its_bytes_and_up_to_the_price_of_a_request(max_bytes: int, inline: int) -> None:
    assert QueueBounds(max_bytes).inline_bytes == inline


@pytest.mark.parametrize(
    ("body", "delay", "tenant", "attributes", "said"),
    [
        ("x" * 8_190, 0, None, {"é": "é"}, "body: 8200 bytes with its attributes; a message may have 8192"),
        ("", 0, None, {}, "malformed: body: is empty"),
        ("{}", 6, None, {}, "delay: 6 is not between 0 and 5 seconds"),
        ("{}", -1, None, {}, "delay: -1 is not between 0 and 5 seconds"),
        ("{}", 5, "a" * 41 + " ", {}, f"tenant: {'a' * 40!r} is not 1 to 128 printable ASCII characters without spaces"),
        ("{}", 0, None, {str(n): "1" for n in range(11)}, "attributes: 11 attributes; a message may have 10"),
        ("{}", 0, None, {"fine": "1", "b" * 41 + ".": "1"}, (
            f"attributes: {'b' * 40!r} is not a valid name: use 1 to 256 letters, digits, _ and -, with single dots inside; "
            "AWS. and Amazon. at the start are reserved")),
        ("{}", 0, None, {"a": ""}, "attributes.a: is empty or has a character that is not legal in a queue"),
        ("{}", 5, "a", {"a": "1"}, None),
    ],
)  # fmt: skip
def test_a_refusal_says_what_is_wrong(body: str, delay: int, tenant: str | None, attributes: dict[str, str], said: str | None) -> None:
    found = objection(body, delay, tenant, attributes, QueueBounds(max_bytes=8_192, max_delay=5))
    assert (str(found) if found is not None else None) == said


KEYLESS = "serial_key: q.fifo keeps order within a key; give 1 to 128 printable ASCII characters without spaces"


@pytest.mark.parametrize(
    ("queue", "delay", "key", "once", "said"),
    [
        ("q", 5, None, "", None), ("q", 0, "k", "", "serial_key: q does not keep order; use a queue whose name ends in .fifo"),
        ("q.fifo", 0, None, "", KEYLESS), ("q.fifo", 0, "a b", "", KEYLESS), ("q.fifo", 0, "k", "o", None),
        ("q.fifo", 0, "k", "a" * 40 + " ", f"once: {'a' * 40!r} is not 1 to 128 printable ASCII characters without spaces"),
        ("q.fifo", 1, "k", "", "delay: q.fifo keeps order and cannot delay a single message; remove countdown and eta"),
    ],
)  # fmt: skip
def test_a_queue_says_why_it_cannot_keep_an_order(queue: str, delay: int, key: str | None, once: str, said: str | None) -> None:
    found = misplaced(queue, delay, key, once)
    assert (str(found) if found is not None else None) == said


def test_queues_without_order_are_refused_by_name_whatever_is_sent() -> None:
    bounds = QueueBounds(ordered=False)
    said = "queue: q.fifo must keep order, but the queues of this deployment do not keep order"
    assert str(misplaced("q.fifo", 0, "k", "", bounds)) == said
    assert misplaced("q", 0, None, "", bounds) is None


def test_a_queue_that_is_not_known_is_named_with_those_that_are() -> None:
    known = ["commands:b", "commands:a", "events"]
    assert str(queues.unknown_queue("commands:c", known)) == (
        "queue: 'c' is not known to this deployment, which has 'a', 'b'; name it in Sedano(queues=…) and deploy again"
    )
    assert str(queues.unknown_queue("records", known)) == (
        "queue: 'records' is not known to this deployment; if sedano itself uses it, deploy the app with this version"
    )


@pytest.mark.parametrize(
    ("weights", "found"),
    [([], []), ([8], [[0]]), ([9], [[0]]), ([4, 4, 1], [[0, 1], [2]]), ([1] * 4, [[0, 1, 2], [3]]), ([9, 9, 1], [[0], [1], [2]]),
     ([1, 8, 8], [[0], [1], [2]]), ([8, 4, 4], [[0], [1, 2]]), ([8, 4, 5], [[0], [1], [2]])],
)  # fmt: skip
def test_a_batch_ends_before_the_message_that_is_too_much(weights: list[int], found: list[list[int]]) -> None:
    assert [[*batch] for batch in batches(weights, QueueBounds(max_bytes=8, max_batch=3))] == found


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
    assert (refused.code, refused.field, refused.detail) == ("malformed", "body", f"U+{code:04X} at 2 is not legal in a queue")
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
