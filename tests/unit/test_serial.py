"""Order within a key: who goes together, how a key travels, and what is refused where it is written."""

from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano import Sedano, every, testing
from sedano.errors import ArgumentError, OptionError
from sedano.model.order import KEPT_S, MAX_RECEIVES, group_of, turns
from sedano.model.queues import misplaced

APP = Sedano("order", queues=("default", "default-high", "orders.fifo", "second.fifo"))
KEYS = st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=12)


@APP.task(name="send")
def send(n: int) -> int:
    """Send."""
    return n


@APP.task(name="ship", queue="orders.fifo", serial_key="{order}")
def ship(order: Any, step: int = 0) -> int:
    """Ship."""
    return step


@APP.event
class Bought:
    """Something was bought."""

    order: str


@given(KEYS)
def test_every_message_has_one_turn_and_those_of_a_key_keep_their_order(batch: list[tuple[str, bool]]) -> None:
    found = turns([key for key, _ in batch], [again for _, again in batch])
    walked = [position for together in found for position in together]
    assert sorted(walked) == list(range(len(batch)))
    for key in "abcd":
        own = [position for position in walked if batch[position][0] == key]
        assert own == sorted(own)
    for together in found:
        assert len({batch[position][0] for position in together}) == len(together), "two of a key never go together"


@given(KEYS)
def test_what_comes_again_goes_alone_after_all_keys_that_are_new(batch: list[tuple[str, bool]]) -> None:
    found = turns([key for key, _ in batch], [again for _, again in batch])
    careful = {key for key, again in batch if again}
    alone = [len(together) == 1 and batch[together[0]][0] in careful for together in found]
    assert alone == sorted(alone)
    assert all(batch[position][0] not in careful for together, one in zip(found, alone, strict=True) if not one for position in together)


@given(st.text(min_size=1))
def test_every_key_travels_and_two_keys_stay_two(key: str) -> None:
    assert misplaced("orders.fifo", 0, group_of(key)) is None
    assert group_of(key) != group_of(key + "x")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"queue": "orders.fifo"}, "name the key: serial_key='{order_id}'"),
        ({"serial_key": "{n}"}, "'default' keeps no order; use a FIFO queue"),
        ({"queue": "orders.fifo", "serial_key": "{m}"}, "'m' is not a parameter of the task"),
        ({"queue": "orders.fifo", "serial_key": 7}, "neither a text"),
        ({"queue": "orders.fifo", "serial_key": "{n}", "tenant": "{n}"}, "tenant: cannot be combined with serial_key=: on a FIFO queue"),
        ({"queue": "orders.fifo", "serial_key": "{n}", "priority": "high"}, "queues of different priorities have no common order"),
        ({"queue": "orders.fifo", "serial_key": "{n}", "rate": "1/s"}, "rate: cannot be combined with serial_key=: a call that waits"),
        ({"queue": "orders.fifo", "serial_key": "{n}", "debounce": 1}, "debounce: cannot be combined"),
        ({"queue": "orders.fifo", "serial_key": "{n}", "batch": (2, 1)}, "batch: cannot be combined"),
        ({"queue": "orders.fifo", "serial_key": "{n}", "delivery": "record_once"}, "only a claimed task runs in order"),
        ({"queue": "third.fifo", "serial_key": "{n}"}, "not one of this app's queues"),
    ],
)
def test_what_cannot_run_in_order_is_refused_where_it_is_declared(options: dict[str, Any], told: str) -> None:
    with pytest.raises(OptionError) as refused:

        @APP.task(name="refused", **options)
        def refused_task(n: int) -> None:
            return None

    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("publish", "told"),
    [
        (lambda: ship.apply_async((1,), countdown=5), "a message that waits would delay all messages behind it"),
        (lambda: ship.apply_async((1,), tenant="north"), "tenant: on a FIFO queue the key uses the field that other queues use"),
        (lambda: ship.apply_async((1,), queue="default"), "'default' keeps no order; leave the queue out"),
        (lambda: send.apply_async((1,), queue="orders.fifo"), "send is declared without serial_key="),
        (lambda: send.apply_async((1,), serial_key="7"), "serial_key: the queue 'default' keeps no order"),
        (lambda: ship.apply_async((1,), serial_key=7), "serial_key: expected a string, got int"),
        (lambda: APP.send_task("strange", queue="orders.fifo"), "this app does not know strange; give serial_key="),
        ((ship.s(1) | ship.s(2)).delay, "but a canvas publishes its tasks without an order"),
        (lambda: ship.s(1).election(), "but the worker that wins publishes it without an order"),
        (lambda: Bought.subscribe(ship), "events have no order"),  # type: ignore[attr-defined]
        (lambda: APP.periodic(every(hours=1), args=(1,))(ship), "but a schedule publishes the periodic task without an order"),
        (lambda: APP.control.rate_limit("ship", "1/s"), "keeps order and cannot be requeued"),
        (lambda: Sedano("first", queues=("orders.fifo", "default")), "put one that keeps none before it"),
    ],
)
def test_what_cannot_be_published_in_order_says_what_to_do(publish: Any, told: str) -> None:
    with testing.world(APP), pytest.raises(OptionError) as refused:
        publish()
    assert told in str(refused.value)


def test_a_call_without_a_key_is_an_error_of_its_arguments() -> None:
    own = Sedano("keyed", queues=("default", "orders.fifo"))
    keyed = own.task(name="keyed", queue="orders.fifo", serial_key=lambda order: order["customer"])(lambda order: order)
    with testing.world(own) as world:
        with pytest.raises(ArgumentError, match="serial_key: KeyError: 'customer'"):
            keyed.delay({})
        with pytest.raises(ArgumentError, match="serial_key: is empty"):
            keyed.delay({"customer": ""})
        keyed.delay({"customer": "Frau Müller"})
        assert [one.serial_key for one in world.queues.peek("commands:orders.fifo")] == [group_of("Frau Müller")]


def test_a_call_may_name_another_queue_and_key() -> None:
    with testing.world(APP) as world:
        ship.apply_async((1,), queue="second.fifo", serial_key="x")
        assert [one.serial_key for one in world.queues.peek("commands:second.fifo")] == ["x"]


@pytest.mark.parametrize(
    ("keys", "again", "expected"),
    [
        ("", "", []),
        ("a", "0", [[0]]),
        ("ab", "00", [[0, 1]]),
        ("aabab", "00000", [[0, 2], [1, 4], [3]]),
        ("abab", "0001", [[0], [2], [1], [3]]),
        ("abcabc", "100000", [[1, 2], [4, 5], [0], [3]]),
        ("baab", "0110", [[0], [3], [1], [2]]),
        ("baab", "1100", [[0], [3], [1], [2]]),
    ],
)
def test_new_keys_take_turns_together_and_the_others_follow_one_by_one(keys: str, again: str, expected: list[list[int]]) -> None:
    assert turns(keys, [one == "1" for one in again]) == expected


@pytest.mark.parametrize("key", ["a", "!~" * 64])
def test_a_key_that_sqs_accepts_is_its_group(key: str) -> None:
    assert group_of(key) == key


@pytest.mark.parametrize("key", ["", "a b", "é", "a" * 129, "\udcff"])
def test_any_other_key_is_digested(key: str) -> None:
    assert group_of(key) == f"sha256:{sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}"


def test_the_figures_of_a_queue_in_order_are_those_that_are_described() -> None:
    assert (MAX_RECEIVES, KEPT_S) == (1_000, 13 * 86_400.0)
