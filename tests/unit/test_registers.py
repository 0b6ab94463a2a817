"""The event registers against Celery's own `State`, and the laws that let them be folded anywhere in any order."""

import random
from functools import reduce

import pytest
from celery.events.state import State
from hypothesis import given, settings
from hypothesis import strategies as st
from kombu.clocks import timetuple

from sedano.model.history.event_order import Stamp, is_counter, stamp
from sedano.model.history.registers import Timeline, finalise, fold, join, lift
from sedano.model.messages.lamport import adjust
from sedano.model.states import STATE_OF_CLASS, SUBJECTS
from tests.pipeline.oracle import as_celery_says, recording, replayed

CLASSES = [*STATE_OF_CLASS, "progress", "stage"]
DESCRIBING = {"sent", "received"}

texts = st.sampled_from(["a", "b", "c"])
numbers = st.integers(0, 3)
NOW = 1_795_167_537.0
"""A moment of our days: beside it, a counter is no hybrid clock."""


@st.composite
def events(draw, tasks=("t1", "t2", "t3"), clocks=6):
    """Draw an event as Celery emits it, with few distinct clocks and times so that ties are common."""
    event_class = draw(st.sampled_from(CLASSES))
    event = {
        "type": f"task-{event_class}",
        "uuid": draw(st.sampled_from(tasks)),
        "clock": draw(st.integers(0, clocks)),
        "timestamp": float(draw(numbers)),
        "hostname": draw(texts),
        "pid": draw(st.integers(1, 2)),
        "utcoffset": 0,
    }
    if event_class in DESCRIBING:
        described = {field: draw(texts) for field in SUBJECTS["described"] if field not in {"retries", "eta"}}
        event |= described | {"retries": draw(numbers), "eta": draw(st.none() | texts)}
    if event_class == "sent":
        event |= {field: draw(texts) for field in SUBJECTS["routed"]}
    if event_class == "succeeded":
        event |= {"runtime": draw(st.floats(0, 9)), "result": draw(texts)}
    if event_class in {"failed", "retried"}:
        event |= {"exception": draw(texts), "traceback": draw(texts)}
    return event


streams = st.lists(events(), min_size=1, max_size=24, unique_by=stamp)
tasks_of = st.lists(events(tasks=("t",)), min_size=1, max_size=8, unique_by=stamp)


def as_sedano_says(timeline: Timeline):
    return {
        "state": timeline.state,
        "worker": timeline.worker,
        "client": timeline.client,
        **{event_class: timeline.times.get(event_class) for event_class in STATE_OF_CLASS},
        **timeline.fields,
    }


def told(stream):
    known, _ = fold(stream)
    return {uuid: finalise(registers) for uuid, registers in known.items()}


def differing(stream, order):
    """Return the tasks of *stream* that the registers, fed in *order*, and Celery's State tell differently."""
    celery, sedano = replayed(stream), told(order)
    assert celery.keys() == sedano.keys()
    return [uuid for uuid in celery if as_celery_says(celery[uuid]) != as_sedano_says(sedano[uuid])]


class TestAgainstCelery:
    @given(streams, st.randoms(use_true_random=False))
    @settings(max_examples=150)
    def test_shuffled_and_duplicated_events_tell_what_celery_tells_in_order(self, stream, luck):
        arrival = stream + luck.choices(stream, k=len(stream) // 2)
        luck.shuffle(arrival)
        assert differing(sorted(stream, key=stamp), arrival) == []

    @given(streams, st.lists(st.floats(-300, 300), min_size=3, max_size=3), st.randoms(use_true_random=False))
    @settings(max_examples=100)
    def test_celery_workers_whose_clocks_differ_by_minutes_keep_the_order_in_which_a_monitor_saw_them(self, stream, skews, luck):
        skewed = [
            event | {"timestamp": NOW + n + skews["abc".index(event["hostname"])], "local_received": NOW + n}
            for n, event in enumerate(stream)
        ]
        assert differing(skewed, luck.sample(skewed, len(skewed))) == []

    @given(st.lists(st.floats(-140, 140), min_size=2, max_size=4), st.lists(st.integers(0, 3), min_size=3, max_size=12))
    def test_sedano_workers_whose_clocks_differ_by_minutes_keep_what_caused_what(self, skews, steps):
        life, clock = [], 0
        for n, step in enumerate([*steps, 0]):
            here, last = step % len(skews), n == len(steps)
            at = NOW + n + skews[here]
            clock = adjust(clock, clock, int(at * 1_000_000))
            event_class = "succeeded" if last else ("started" if n % 2 else "retried")
            life.append({"type": f"task-{event_class}", "uuid": "t", "clock": clock, "timestamp": at, "hostname": str(here), "pid": 1})
        assert {told(random.Random(seed).sample(life, len(life)))["t"].state for seed in range(5)} == {"SUCCESS"}

    @given(streams, st.randoms(use_true_random=False))
    @settings(max_examples=100)
    def test_parts_folded_apart_and_joined_in_any_tree_tell_the_same(self, stream, luck):
        parts = [[] for _ in range(luck.randint(1, 5))]
        for event in stream + luck.choices(stream, k=3):
            luck.choice(parts).append(event)
        known = {}
        for part in parts:
            for uuid, registers in fold(part)[0].items():
                known.setdefault(uuid, []).append(registers)
        for piled in known.values():
            while len(piled) > 1:
                luck.shuffle(piled)
                piled.append(join(piled.pop(), piled.pop()))
        assert {uuid: finalise(piled[0]) for uuid, piled in known.items()} == told(stream)

    def test_the_recorded_stream_of_a_real_cluster_is_told_as_celery_tells_it(self):
        stream = recording()
        arrival = stream + stream[::3]
        random.Random(7).shuffle(arrival)
        assert len(told(stream)) > 1_000
        assert differing(stream, arrival) == []

    def test_the_recorded_stream_is_told_alike_in_five_orders_of_arrival(self):
        stream = recording()
        tellings = []
        for seed in range(5):
            random.Random(seed).shuffle(stream)
            tellings.append(told(stream))
        assert all(telling == tellings[0] for telling in tellings)


class TestLaws:
    @given(tasks_of, tasks_of)
    def test_join_is_commutative(self, left, right):
        a, b = (reduce(join, map(lift, part)) for part in (left, right))
        assert join(a, b) == join(b, a)

    @given(tasks_of, tasks_of, tasks_of)
    def test_join_is_associative(self, left, middle, right):
        a, b, c = (reduce(join, map(lift, part)) for part in (left, middle, right))
        assert join(join(a, b), c) == join(a, join(b, c))

    @given(tasks_of)
    def test_join_is_idempotent(self, stream):
        registers = reduce(join, map(lift, stream))
        assert join(registers, registers) == registers

    @given(tasks_of)
    def test_what_is_known_is_absorbed(self, stream):
        registers = reduce(join, map(lift, stream))
        assert all(join(registers, lift(event)) == registers for event in stream)

    @given(events(tasks=("t",)), texts)
    def test_two_forgeries_of_one_stamp_still_commute(self, event, name):
        a, b = lift(event | {"name": name}), lift(event | {"name": None, "queue": name})
        assert join(a, b) == join(b, a)
        c = lift(event | {"name": name, "retries": None})
        assert join(a, c) == join(c, a)

    def test_registers_of_two_tasks_are_not_joined(self):
        event = {"type": "task-sent", "uuid": "a", "clock": 1, "timestamp": 1.0, "hostname": "h", "pid": 1}
        with pytest.raises(ValueError, match="a and b"):
            join(lift(event), lift(event | {"uuid": "b"}))


class TestOrder:
    @given(st.lists(events(), min_size=3, max_size=3))
    def test_later_is_transitive(self, three):
        a, b, c = map(stamp, three)
        assert not (a < b < c) or a < c

    @given(streams, st.randoms(use_true_random=False))
    def test_sorting_does_not_depend_on_arrival(self, stream, luck):
        shuffled = luck.sample(stream, len(stream))
        assert sorted(stream, key=stamp) == sorted(shuffled, key=stamp)

    def test_kombus_timetuple_goes_in_a_circle_which_is_why_it_is_not_used(self):
        a, b, c = timetuple(2, 1.0, "a"), timetuple(0, 2.0, "b"), timetuple(1, 3.0, "c")
        assert a < b < c < a

    def test_a_counter_is_replaced_by_the_moment_of_receipt_else_by_the_timestamp(self):
        event = {"type": "task-sent", "uuid": "u", "clock": 41, "timestamp": NOW, "hostname": "h", "pid": 1}
        assert stamp(event).clock == int(NOW * 1_000_000)
        assert stamp(event | {"local_received": NOW + 0.25}).clock == int((NOW + 0.25) * 1_000_000)
        assert stamp(event | {"local_received": None}) == stamp(event)

    @given(st.floats(1, 4e9), st.integers(0, 2**31))
    def test_a_hybrid_clock_is_never_taken_for_a_counter(self, timestamp, ahead):
        assert not is_counter(int(timestamp * 1_000_000) + ahead, timestamp)
        assert not is_counter(int((timestamp - 600) * 1_000_000), timestamp)

    @given(st.floats(1_262_304_000, 4e9), st.integers(0, 2**40))
    def test_a_counter_is_never_taken_for_a_hybrid_clock_since_2010(self, timestamp, count):
        assert is_counter(count, timestamp)

    @pytest.mark.parametrize("value", [[], float("nan"), float("inf"), True, "1"])
    def test_a_moment_of_receipt_that_is_no_number_is_refused(self, value):
        event = {"type": "task-sent", "uuid": "u", "clock": 1, "timestamp": NOW, "hostname": "h", "pid": 1, "local_received": value}
        with pytest.raises(ValueError, match="event's local_received cannot be"):
            stamp(event)

    @pytest.mark.parametrize("field", Stamp._fields)
    @pytest.mark.parametrize("value", [None, [], float("nan"), float("inf"), True])
    def test_an_event_without_a_place_in_the_order_is_refused_by_the_name_of_the_field(self, field, value):
        event = {"type": "task-sent", "uuid": "u", "clock": 1, "timestamp": 1.0, "hostname": "h", "pid": 1}
        with pytest.raises(ValueError, match=f"event's {field} cannot be"):
            stamp(event | {field: value})


def event(event_class, clock, timestamp=None, **fields):
    """Return a task's event that happened at second *timestamp* (default: the clock's value)."""
    at = float(clock if timestamp is None else timestamp)
    return {
        "type": f"task-{event_class}", "uuid": "t", "clock": clock, "timestamp": at, "hostname": "h", "pid": 1, **fields
    }  # fmt: skip


def timeline_of(*stream):
    return told(stream)["t"]


class TestTimeline:
    def test_events_that_are_not_about_tasks_are_returned_apart(self):
        heartbeat, duplicate = {"type": "worker-heartbeat"}, {"type": "message-duplicate", "uuid": "t"}
        known, others = fold([heartbeat, event("sent", 1), duplicate])
        assert (list(known), others) == (["t"], [heartbeat, duplicate])
        assert lift(heartbeat) is None

    def test_a_retry_divides_the_attempts(self):
        first = [event("sent", 1), event("started", 2), event("retried", 3)]
        assert timeline_of(*first).state == "RETRY"
        assert timeline_of(*first, event("started", 4)).state == "STARTED"
        assert timeline_of(*first, event("started", 4), event("succeeded", 5)).state == "SUCCESS"

    def test_a_success_is_not_undone_by_what_comes_late(self):
        assert timeline_of(event("succeeded", 3), event("received", 4), event("started", 5)).state == "SUCCESS"

    def test_of_two_custom_states_the_later_holds(self):
        assert timeline_of(event("progress", 2), event("stage", 1)).state == "PROGRESS"

    def test_a_task_that_was_held_is_held_until_it_starts_or_is_revoked_and_again_in_a_later_attempt(self):
        held = event("held", 3)
        assert timeline_of(event("sent", 1), event("received", 2), held).state == "HELD"
        assert timeline_of(event("sent", 1), held, event("started", 2)).state == "STARTED"
        assert timeline_of(held, event("revoked", 4)).state == "REVOKED"
        assert timeline_of(event("started", 1), event("retried", 2), held).state == "HELD"
        assert timeline_of(event("progress", 1), event("started", 2)).state == "PROGRESS", "any other custom state stands"

    def test_a_task_set_aside_as_poison_is_finished(self):
        poisoned = timeline_of(event("sent", 1), event("started", 2), event("poison", 4))
        assert (poisoned.state, poisoned.finished, poisoned.total_seconds) == ("POISON", 4.0, 3.0)

    def test_a_null_says_nothing(self):
        told_twice = timeline_of(event("sent", 1, name="proj.add", queue="q"), event("received", 2, name=None))
        assert (told_twice.fields["name"], told_twice.fields["queue"]) == ("proj.add", "q")

    def test_latencies_run_from_the_last_publication_and_end_to_end_from_the_first(self):
        tried_twice = timeline_of(
            event("sent", 1), event("started", 2), event("retried", 3), event("sent", 4), event("started", 6),
            event("succeeded", 9),
        )  # fmt: skip
        assert tried_twice.wait_seconds == 2.0
        assert tried_twice.run_seconds == 3.0
        assert tried_twice.total_seconds == 8.0

    def test_a_run_that_was_measured_is_believed(self):
        assert timeline_of(event("started", 1), event("succeeded", 9, runtime=0.5)).run_seconds == 0.5

    def test_latencies_are_unknown_until_both_ends_are_seen(self):
        waiting = timeline_of(event("started", 1), event("sent", 2))
        assert (waiting.wait_seconds, waiting.run_seconds, waiting.total_seconds) == (None, None, None)

    def test_a_task_that_was_published_again_has_no_wait_until_it_starts(self):
        again = timeline_of(event("sent", 1), event("started", 2), event("retried", 3), event("sent", 4))
        assert again.wait_seconds is None

    def test_a_latency_that_would_be_negative_is_unknown(self):
        assert timeline_of(event("sent", 1, 10.0), event("started", 2, 9.5)).wait_seconds is None


def test_celerys_state_itself_depends_on_the_order_of_arrival():
    stream = [event("sent", 1), event("started", 2), event("retried", 3), event("started", 4), event("succeeded", 5)]
    luck, wrong = random.Random(11), 0
    for _ in range(100):
        state = State()
        for arrived in luck.sample(stream, len(stream)):
            state.event(arrived | {"local_received": arrived["timestamp"]})
        wrong += state.tasks["t"].state != "SUCCESS"
    assert wrong > 0
    assert {told(luck.sample(stream, len(stream)))["t"].state for _ in range(100)} == {"SUCCESS"}


def said(kind, clock, hostname="w", **fields):
    return {"type": f"task-{kind}", "uuid": "t", "clock": clock, "timestamp": float(clock), "hostname": hostname, "pid": 1, **fields}


def test_a_task_has_the_host_of_its_publication_and_that_of_the_last_event_of_a_worker():
    task = finalise(fold([said("sent", 9, "client"), said("received", 1, "old"), said("started", 2)])[0]["t"])
    assert (task.client, task.worker) == ("client", "w")
    only = finalise(fold([said("sent", 9, "client")])[0]["t"])
    assert (only.client, only.worker, only.state) == ("client", None, "PENDING")
    assert finalise(fold([said("started", 2)])[0]["t"]).client is None


def test_a_task_that_was_published_again_after_its_retry_waits_as_it_did_at_first():
    retried = [said("sent", 1, "client"), said("started", 2), said("retried", 3)]
    assert finalise(fold(retried)[0]["t"]).state == "RETRY"
    assert finalise(fold([*retried, said("sent", 4, "w")])[0]["t"]).state == "PENDING"


def test_a_task_that_started_in_the_moment_of_its_publication_waited_no_time():
    task = finalise(fold([said("sent", 1, "client"), said("started", 2) | {"timestamp": 1.0}])[0]["t"])
    assert (task.wait_seconds, task.run_seconds) == (0.0, None)
