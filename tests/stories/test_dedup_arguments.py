"""A deduplication key binds its arguments: the second call with others is told so, and never answered with the first one's result."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sedano import Retry, Sedano, current, testing
from sedano.errors import DuplicateTask, KeyReused
from sedano.model import refusals, states
from sedano.model.ledger import dedup_keys as keyed
from sedano.model.ledger.records import Claim
from sedano.model.messages.lineage import dedup_id
from sedano.ports import Outgoing, command_queue

COMMANDS = command_queue("default")
app = Sedano("dedup")
ran: list[Any] = []


@app.task(name="pay", retry=Retry(max_retries=3, interval_start=1, jitter=False))
def pay(amount: Any, to: str = "shop") -> Any:
    """Pay once for each key; the amount -1 fails once."""
    ran.append(amount)
    if amount == -1 and not current().attempt:
        raise ValueError("not yet")
    return amount


@app.task(name="moving", retry=Retry(max_retries=4, interval_start=1, jitter=False))
def moving(amount: int, steps: str) -> int:
    """Do one of *steps* in each attempt: ``a`` asks for a higher amount, ``e`` raises an error."""
    ran.append(amount)
    step = steps[current().attempt : current().attempt + 1]
    if step == "a":
        current().retry(args=[amount + 100, steps])
    if step == "e":
        raise ValueError("not yet")
    return amount


@app.task(name="twice")
def twice(amounts: list[int]) -> None:
    """Publish each amount under one key."""
    for amount in amounts:
        pay.apply_async(args=(amount,), dedup_key="inside")


@pytest.fixture
def world() -> Iterator[testing.World]:
    """The app in memory."""
    ran.clear()
    with testing.world(app) as built:
        yield built


def by_key(amount: Any, key: str = "order-4711", **options: Any) -> Any:
    """Pay under a key."""
    return pay.apply_async(args=(amount,), dedup_key=key, **options)


def stranger(world: testing.World, amount: Any, key: str = "order-4711", message_id: str = "stranger") -> None:
    """A command under a guessed key, as whoever may send to the queue writes it."""
    moment = datetime.fromtimestamp(world.clock.now(), UTC).isoformat().replace("+00:00", "Z")
    body = {
        "specversion": "1.0", "type": "sedano.command.v1", "source": "stranger", "subject": "pay", "id": message_id, "time": moment,
        "clock": str(int(world.clock.now() * 1e6)), "taskid": dedup_id("pay", key), "data": {"args": [amount]},
    }  # fmt: skip
    world.queues.send(COMMANDS, [Outgoing(json.dumps(body))])


def test_a_pre_empted_key_is_told_to_the_honest_caller_and_its_message_is_parked(world: testing.World) -> None:
    stranger(world, 1)
    world.drain()
    honest = by_key(100)
    world.drain()
    with pytest.raises(KeyReused, match="this dedup_key was used before with other arguments, for the task"):
        honest.get()
    assert isinstance(honest.get(propagate=False), KeyReused)
    assert ran == [1]
    (parked,) = world.parked()
    assert (parked.attributes["reason"], "other arguments have run" in parked.attributes["detail"]) == (refusals.TAKEN, True)
    assert json.loads(parked.body)["data"] == {"args": [100]}


@pytest.mark.parametrize("on_duplicate", [None, "drop", "raise"])
def test_the_second_call_with_other_arguments_is_told(world: testing.World, on_duplicate: Any) -> None:
    first = by_key(1, on_duplicate=on_duplicate)
    world.drain()
    assert first.get() == 1
    with pytest.raises(KeyReused):
        by_key(2, on_duplicate=on_duplicate).get()
    assert ran == [1]


@pytest.mark.parametrize("on_duplicate", ["drop", "raise"])
def test_a_reserved_key_is_told_before_anything_ran(world: testing.World, on_duplicate: Any) -> None:
    by_key(1, on_duplicate=on_duplicate)
    with pytest.raises(KeyReused):
        by_key(2, on_duplicate=on_duplicate)
    world.drain()
    assert ran == [1]


def test_equal_calls_are_what_on_duplicate_says(world: testing.World) -> None:
    results = [by_key({"b": 1, "a": [2.5, "ü"]}) for _ in range(3)] + [by_key({"a": [2.5, "ü"], "b": 1}, on_duplicate="drop")]
    world.drain()
    assert [result.get() for result in results] == [{"a": [2.5, "ü"], "b": 1}] * 4
    assert (len(ran), world.parked()) == (1, [])
    with pytest.raises(DuplicateTask) as known:
        by_key({"a": [2.5, "ü"], "b": 1}, on_duplicate="raise")
    assert not isinstance(known.value, KeyReused)


def test_long_arguments_are_compared_by_their_claim_check(world: testing.World) -> None:
    long = "x" * 100_000
    first, same, other = by_key(long), by_key(long), by_key(long + "y")
    world.drain()
    assert first.get() == same.get() == long
    with pytest.raises(KeyReused):
        other.get()
    assert len(world.parked()) == 1


def test_a_retried_task_still_knows_its_own(world: testing.World) -> None:
    first, same = by_key(-1), by_key(-1)
    world.drain()
    assert first.get() == same.get() == -1
    assert ran == [-1, -1]
    with pytest.raises(KeyReused):
        by_key(5).get()
    assert first.retries == 1


@pytest.mark.parametrize("steps", ["a", "aa", "ae", "aea", "ea", "eae", "aeee"])
@pytest.mark.parametrize("waits", [False, True])
def test_a_task_that_asked_for_other_arguments_still_knows_its_own(world: testing.World, steps: str, waits: bool) -> None:
    def call(amount: int, countdown: float = 0) -> Any:
        return moving.apply_async(args=(amount, steps), dedup_key="k", countdown=countdown)

    first = call(1)
    if waits:
        call(2, countdown=100)
    world.drain()
    answer = 1 + 100 * steps.count("a")
    assert (first.get(), len(world.parked())) == (answer, int(waits))
    with pytest.raises(KeyReused):
        call(2).get()
    assert call(1).get() == answer
    assert len(ran) == len(steps) + 1


def test_calls_that_a_task_publishes_are_compared_as_well(world: testing.World) -> None:
    twice.delay([1, 1, 2])
    world.drain()
    assert ran == [1]
    assert [parked.attributes["reason"] for parked in world.parked()] == [refusals.TAKEN]
    assert by_key(1, "inside").get() == 1


def test_another_payload_does_not_take_over_an_expired_claim_and_the_same_one_does(world: testing.World) -> None:
    """The first call's worker died."""
    task_id, now = dedup_id("pay", "k"), world.clock.now()
    first = keyed.message_id(keyed.payload(task_id, (1,), {}), "first")
    world.ports.ledger.claim([Claim(task_id, 0, first, "nonce", now + 1, 1, "pay")])
    world.clock.advance(100)
    by_key(2, "k")
    world.step()
    assert (ran, [parked.attributes["reason"] for parked in world.parked()]) == ([], [refusals.TAKEN])
    same = by_key(1, "k")
    world.drain()
    assert (same.get(), ran) == (1, [1])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3), max_leaves=6,
)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(JSON, JSON)
def test_a_call_is_answered_with_a_result_of_its_own_arguments_or_an_error(one: Any, other: Any) -> None:
    ran.clear()
    with testing.world(app) as world:
        by_key(one)
        second = by_key(other)
        world.drain()
        same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
        assert len(ran) == 1
        if same:
            assert second.state == states.SUCCESS
            assert json.dumps(second.get(), sort_keys=True) == json.dumps(other, sort_keys=True)
        else:
            with pytest.raises(KeyReused):
                second.get()
            assert len(world.parked()) == 1
