"""What the ports in memory can do beyond the promises of every world: dead letters, duplicates, time, forgetting."""

import asyncio
import doctest

import pytest

from sedano import memory
from sedano.errors import ConfigurationError
from sedano.model.leases import LeaseRecord, term
from sedano.model.ledger.records import RECORD_LIFETIME_S, Claim, Claimed, Outcome
from sedano.model.order import MAX_RECEIVES
from sedano.model.queues import HOLD_MOST_S, MAX_HOLD_S
from sedano.model.states import PENDING, RUNNING
from sedano.model.store_clock import Interval, Moment
from sedano.ports import EVENTS, PARKED, Delivery, Outgoing

CLAIM = Claim("task-1", 0, "message-1", "n" * 32, memory.START + 60, 1, "shop.add")


@pytest.fixture
def clock() -> memory.VirtualClock:
    """A clock that the test moves."""
    return memory.VirtualClock(memory.START)


@pytest.fixture
def queues(clock: memory.VirtualClock) -> memory.MemoryQueues:
    """Queues whose messages come back after 30 s, at most twice."""
    return memory.MemoryQueues(clock, memory.queue_keys(("default",)), visibility=30.0, max_receives=2)


def received(queues: memory.MemoryQueues, key: str = EVENTS) -> Delivery:
    """The one message that must be there."""
    (delivery,) = queues.receive(key)
    return delivery


def test_a_message_can_be_held_for_what_is_left_of_twelve_hours_since_its_receipt() -> None:
    clock = memory.VirtualClock(0.0)
    queues = memory.MemoryQueues(clock, ["q"])
    queues.send("q", [Outgoing("{}")])
    (delivery,) = queues.receive("q")
    queues.hold(delivery, 86_400)
    assert queues.next_visible("q") == HOLD_MOST_S
    clock.advance(30_000)
    queues.hold(delivery, 86_400)
    shown = queues.next_visible("q")
    assert shown is not None
    assert 30_000 + 10_000 < shown <= MAX_HOLD_S, "SQS refuses more, so the hold is halved until it fits"
    clock.advance(13_200)
    queues.hold(delivery, 1)
    assert queues.next_visible("q") == MAX_HOLD_S


def test_what_nobody_acknowledges_comes_back_after_the_visibility_timeout(clock: memory.VirtualClock, queues: memory.MemoryQueues) -> None:
    queues.send(EVENTS, [Outgoing("{}")])
    received(queues)
    clock.advance(29.9)
    assert queues.receive(EVENTS) == []
    clock.advance(0.1)
    assert received(queues).receives == 2


def test_a_receipt_that_is_out_of_date_acknowledges_nothing(clock: memory.VirtualClock, queues: memory.MemoryQueues) -> None:
    queues.send(EVENTS, [Outgoing("{}")])
    old = received(queues)
    clock.advance(30)
    received(queues)
    queues.delete([old])
    queues.hold(old, 0)
    assert queues.depth(EVENTS) == 1
    assert queues.receive(EVENTS) == []


def test_a_message_received_too_often_lies_among_the_dead_letters(clock: memory.VirtualClock, queues: memory.MemoryQueues) -> None:
    queues.send(EVENTS, [Outgoing("{}", attributes={"a": "1"})])
    for _ in range(2):
        received(queues)
        clock.advance(30)
    assert queues.receive(EVENTS) == []
    assert [letter.body for letter in queues.dead(EVENTS)] == ["{}"]
    assert queues.depth(EVENTS) == 0


def test_what_is_parked_stays_however_often_it_is_looked_at(clock: memory.VirtualClock, queues: memory.MemoryQueues) -> None:
    queues.send(PARKED, [Outgoing("{}")])
    for number in range(1, 9):
        assert received(queues, PARKED).receives == number
        clock.advance(30)
    assert queues.dead(PARKED) == []


def test_a_message_can_be_delivered_twice_on_purpose(queues: memory.MemoryQueues) -> None:
    queues.send(EVENTS, [Outgoing("{}", attributes={"a": "1"})])
    first = received(queues)
    queues.duplicate(first)
    second = received(queues)
    assert (second.body, second.attributes) == (first.body, first.attributes)
    assert second.message_id != first.message_id


def test_the_oldest_visible_message_comes_first(clock: memory.VirtualClock, queues: memory.MemoryQueues) -> None:
    queues.send(EVENTS, [Outgoing("late", delay=5), Outgoing("a"), Outgoing("b")])
    clock.advance(6)
    assert [delivery.body for delivery in queues.receive(EVENTS)] == ["a", "b", "late"]


def test_waiting_lets_the_clock_run_until_the_message_is_there(clock: memory.VirtualClock, queues: memory.MemoryQueues) -> None:
    queues.send(EVENTS, [Outgoing("{}", delay=3)])
    assert queues.next_visible(EVENTS) == memory.START + 3
    assert len(queues.receive(EVENTS, wait=10)) == 1
    assert 3 <= clock.monotonic() < 3.2
    assert queues.next_visible("commands:default") is None


def test_looking_into_a_queue_receives_nothing(queues: memory.MemoryQueues) -> None:
    queues.send(EVENTS, [Outgoing("a"), Outgoing("b")])
    assert [message.body for message in queues.peek(EVENTS)] == ["a", "b"]
    assert [delivery.receives for delivery in queues.receive(EVENTS)] == [1, 1]


def test_records_are_forgotten_when_their_lifetime_has_passed_and_not_before(clock: memory.VirtualClock) -> None:
    ledger = memory.MemoryLedger(clock)
    ledger.claim([CLAIM, CLAIM._replace(task_id="task-2", expires=CLAIM.expires + 10)])
    clock.advance(RECORD_LIFETIME_S + 59)
    assert ledger.age_out() == []
    clock.advance(1)
    assert ledger.age_out() == ["task-1"]
    assert set(ledger.read(["task-1", "task-2"])) == {"task-2"}


def test_the_oracle_refuses_a_state_that_no_write_makes() -> None:
    ledger = memory.MemoryLedger(memory.VirtualClock(memory.START))
    ledger.claim([CLAIM])
    ended = Outcome("task-1", PENDING, CLAIM.nonce, 1, CLAIM.message_id, 0, 2, CLAIM.name, memory.START)
    with pytest.raises(AssertionError, match=r"no write changes RUNNING to PENDING; see states.ROWS"):
        ledger.record([ended])


def taken(leases: memory.MemoryLeases, name: str = "a", seen: LeaseRecord | None = None) -> LeaseRecord:
    """Take the lease, in the place of the one that was *seen*."""
    version = seen.version + 1 if seen else 1
    record = leases.take(LeaseRecord(name, version, "n" * 32, "host", version, True, 30_000, 30_000), seen).record
    assert record is not None
    return record


def test_a_released_lease_is_forgotten_after_eight_days_and_a_held_one_never() -> None:
    clock = memory.VirtualClock(0.0)
    leases, mine = memory.MemoryLeases(clock), Moment(0, 0.0)
    freed = leases.release(term(taken(leases), mine), 5_000).record
    leases.release(term(taken(leases, "b"), mine), 5_000)
    taken(leases, "a", freed)
    clock.advance(8 * 86_400 + 4.999)
    assert leases.age_out() == []
    clock.advance(0.001)
    assert leases.age_out() == ["b"]
    assert set(leases.read(["a", "b"])) == {"a"}
    assert leases.age_out() == []


def test_leases_in_memory_show_the_time_of_their_clock_and_can_be_carried_over() -> None:
    clock = memory.VirtualClock(1.5)
    leases, other = memory.MemoryLeases(clock), memory.MemoryLeases(clock)
    assert leases.time() == Interval(1_500, 1_500)
    held = {name: taken(leases, name) for name in ("b", "a")}
    assert leases.records() == [held["a"], held["b"]]
    other.restore(leases.records())
    assert other.read(["a", "b"]) == held


def test_a_whole_deployment_is_made_at_once_and_repeats_for_the_same_seed() -> None:
    first, second = memory.ports(("default", "bulk"), seed=3), memory.ports(("default", "bulk"), seed=3)
    assert first.entropy.uuid() == second.entropy.uuid()
    assert first.queues.send("commands:bulk", [Outgoing("{}")]) == [None]
    (answer,) = first.ledger.claim([CLAIM])
    assert isinstance(answer, Claimed)
    assert answer.record is not None
    assert answer.record.state == RUNNING


def test_the_example_in_its_docstring_runs() -> None:
    found = doctest.testmod(memory)
    assert found.attempted == 3
    assert found.failed == 0


def test_a_test_can_ask_what_was_logged_and_counted() -> None:
    telemetry = memory.MemoryTelemetry()
    telemetry.log("info", "one", task="a")
    telemetry.log("error", "two")
    telemetry.flush()
    assert telemetry.messages() == ["one", "two"]
    assert telemetry.messages("error") == ["two"]
    assert telemetry.flushes == 1


def test_what_was_counted_since_the_last_flush_can_be_lost() -> None:
    telemetry = memory.MemoryTelemetry()
    telemetry.count("Done", task="a")
    telemetry.flush()
    telemetry.count("Done", 2, task="a")
    telemetry.count("Done", 4, task="b")
    assert telemetry.counted("Done") == 7
    telemetry.lose()
    assert (telemetry.counted("Done"), telemetry.counted("Done", task="b")) == (1, 0)


def test_a_message_in_order_that_was_received_too_often_leaves_its_key_to_the_next(clock: memory.VirtualClock) -> None:
    queues = memory.MemoryQueues(clock, ["q.fifo"], visibility=30.0)
    queues.send("q.fifo", [Outgoing(body, serial_key="k", once=body) for body in ("poison", "next")])
    for _ in range(MAX_RECEIVES):
        assert [one.body for one in queues.receive("q.fifo", 1)] == ["poison"]
        clock.advance(30)
    assert [one.body for one in queues.receive("q.fifo", 1)] == ["next"]
    assert [one.body for one in queues.dead("q.fifo")] == ["poison"]


def test_time_is_not_moved_backwards(clock: memory.VirtualClock) -> None:
    before = clock.now()
    with pytest.raises(ValueError, match=r"^seconds: -1 would move time backwards$"):
        clock.advance(-1)
    assert clock.now() == before


def test_sleeping_moves_the_clock_in_a_thread_and_in_a_coroutine(clock: memory.VirtualClock) -> None:
    clock.sleep(1.5)
    asyncio.run(clock.sleep_async(2.0))
    assert (clock.now(), clock.monotonic()) == (memory.START + 3.5, 3.5)


def test_the_first_random_numbers_of_a_seed_are_always_the_same() -> None:
    entropy = memory.SeededEntropy()
    assert entropy.uuid() == "e3e70682-c209-4cac-a29f-6fbed82c07cd"
    assert entropy.nonce() == "f728b4fa42485e3a0a5d2f346baa9455"
    assert entropy.unit() == pytest.approx(0.5112747213686085)


def test_parameters_in_memory_are_those_of_the_dict_that_was_given() -> None:
    kept = {"/shop/pool": "5"}
    parameters = memory.MemoryParameters(kept)
    kept["/shop/size"] = "7"
    parameters.put("/other", "9")
    assert parameters.tree("/shop/") == {"pool": "5", "size": "7"}
    assert kept["/other"] == "9"


def test_a_webhook_without_a_secret_in_memory_is_named_with_what_to_do() -> None:
    kept = {"door": ""}
    secrets = memory.MemorySecretTexts(kept)
    with pytest.raises(ConfigurationError, match=r"^webhook door: no secret is set; set it with `world\.secrets\['door'\] = …`$"):
        secrets.read("door")
    kept["door"] = "old\nnew"
    assert secrets.read("door") == ("old", "new")
