"""Roll-ups: sums that add up in any order, agree with the timelines of the same events, have a bounded size, and refuse no line."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sedano.model.history.cost_shares import Share, SharePlace
from sedano.model.history.invocation_prices import price
from sedano.model.history.registers import finalise, fold
from sedano.model.history.rollups import (
    EMPTY,
    MOST_BUCKET,
    MOST_ROWS,
    OTHERS,
    Rollup,
    RunPlace,
    RunSums,
    Sums,
    bound,
    bucket,
    merged,
    quantile,
    read,
    rollup,
    summed,
    total,
    within,
    written,
)
from sedano.model.history.run_rows import MICRO, Chronicle, Host, unpack

NOW = 1_767_225_600
MINUTE = NOW // 60
COUNTS = st.dictionaries(st.integers(0, MOST_BUCKET), st.integers(1, 9), max_size=4)
ENDED = st.dictionaries(st.sampled_from(["SUCCESS", "FAILURE", "RETRY"]), st.integers(1, 9))
RUNS = st.builds(RunSums, ENDED, st.integers(0, 10**9), COUNTS, COUNTS)
PLACES = st.builds(RunPlace, st.text(max_size=3), st.sampled_from(["default", "bulk"]), st.integers(MINUTE, MINUTE + 3))
SPENT = st.dictionaries(st.tuples(st.text(max_size=2), st.integers(0, 3)), st.integers(0, 10**12))
SPOTS = st.builds(SharePlace, st.text(max_size=3), st.sampled_from(["", "acme"]), st.integers(MINUTE, MINUTE + 3))
SHARES = st.dictionaries(SPOTS, st.builds(Share, st.integers(1, 9), st.integers(0, 10**12)), max_size=5)
SUMS = st.builds(Sums, st.dictionaries(PLACES, RUNS, max_size=5), SPENT, st.integers(0, 5), SHARES)
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
JSON = st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
KINDS = st.sampled_from(["task-sent", "task-received", "task-started", "task-failed", "task-succeeded", "worker-invocation", "-invocation"])
LINES = st.lists(st.builds(
    lambda kind, at, said: {**said, "type": kind, "timestamp": at}, KINDS | JSON, st.integers(0, 10**11) | st.floats(0, 1e11),
    st.dictionaries(st.sampled_from(["uuid", "name", "queue", "clock", "runtime", "exception", "hostname", "calls", "memory_mb"]), JSON),
), max_size=12)  # fmt: skip
"""Lines as a forged record may have them: a record's lines are objects with a number as their timestamp, and nothing more is known."""


def events(*runs: tuple[str, str, float, float, str | None]) -> list[dict[str, Any]]:
    """The events of runs, each an id, a task, the seconds that it waited and ran, and an exception."""
    chronicle = Chronicle(Host("h", 1))
    for number, (uuid, name, waited, ran, wrong) in enumerate(runs):
        sent, started = NOW * MICRO, int((NOW + waited) * MICRO)
        times = (sent, number, sent, number, started, number + 1, started + int(ran * MICRO), number + 2)
        end = "task-succeeded" if wrong is None else "task-failed"
        chronicle.rows.append((uuid, name, "commands:default", uuid, None, 0, "client", *times, end, wrong))
    return unpack(chronicle.pack() or '{"v":1,"host":"h","pid":1,"rows":[],"lines":[]}')


def test_runs_are_counted_by_task_queue_minute_and_end_with_their_times() -> None:
    failed = ("b", "shop.add", 65.0, 0.5, "ValueError('x')")
    found = summed(events(("a", "shop.add", 1.0, 0.25, None), failed, ("c", "shop.add", 2, 3, None)))
    two = RunSums({"SUCCESS": 2}, 3_250_000, {bucket(0.25): 1, bucket(3): 1}, {bucket(1): 1, bucket(2): 1})
    assert found.runs == {
        RunPlace("shop.add", "default", MINUTE): two,
        RunPlace("shop.add", "default", MINUTE + 1): RunSums({"FAILURE": 1}, 500_000, {bucket(0.5): 1}, {bucket(65): 1}),
    }
    assert total(found.runs.values()).number == 3


def test_a_task_that_was_given_up_is_poison_as_in_every_view() -> None:
    (one,) = summed(events(("a", "add", 0, 0, "POISON('5 receipts')"))).runs.values()
    assert one.ended == {"POISON": 1}


def test_an_event_of_a_batch_counts_once_and_records_received_before_are_said() -> None:
    some = events(("a", "add", 0, 1, None), ("b", "add", 0, 1, None))
    found = summed([*some, *some], again=some)
    assert (total(found.runs.values()).number, found.again) == (2, 2)


def test_reports_are_priced_by_function_and_minute() -> None:
    report = {"type": "worker-invocation", "hostname": "h", "clock": 1, "timestamp": NOW, "duration_ms": 1.5, "calls": {"s3.PutObject": 2}}
    assert summed([report, report, {**report, "clock": 2}]).spent == {("worker", MINUTE): 2 * price(report)}


def test_an_end_without_a_name_is_one_of_the_others() -> None:
    end = {"type": "task-failed", "uuid": "a", "timestamp": NOW, "clock": 1}
    assert set(summed([end]).runs) == {RunPlace(OTHERS, "", MINUTE)}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y"]), st.floats(0, 200), st.floats(0, 99)), max_size=8))
def test_sums_agree_with_the_timelines_of_the_same_events(runs: list[tuple[str, str, float, float]]) -> None:
    some = events(*((f"{name}{number}", task, waited, ran, None) for number, (name, task, waited, ran) in enumerate(runs)))
    tasks = [finalise(one) for one in fold(some)[0].values()]
    found = summed(some)
    by_name = Counter({name: total(one for place, one in found.runs.items() if place.task == name).number for name in "xy"})
    assert +by_name == Counter(str(one.fields["name"]) for one in tasks)
    whole = total(found.runs.values())
    assert whole.ran == pytest.approx(sum((one.run_seconds or 0) * MICRO for one in tasks), abs=len(tasks))
    assert Counter(whole.waiting) == Counter(bucket(one.wait_seconds or 0) for one in tasks)


@given(st.lists(SUMS, max_size=4), st.randoms())
def test_sums_add_up_in_any_order_and_grouping(some: list[Sums], random: Any) -> None:
    mixed = random.sample(some, len(some))
    assert merged(mixed) == merged(some) == merged([merged(some[:2]), EMPTY, merged(some[2:])])


@given(SUMS)
def test_a_text_is_read_back_and_equal_sums_have_one(sums: Sums) -> None:
    assert read(written(sums)) == sums
    turned = Sums(dict(reversed(sums.runs.items())), dict(reversed(sums.spent.items())), sums.again, dict(reversed(sums.shares.items())))
    assert written(turned) == written(sums)


OTHER_HANDS = ["", "[]", "{}", '{"v":2}', '{"v":1,"again":0,"runs":[[1]],"spent":[]}', '{"v":1,"runs":1}', "[" * 100_000]


@pytest.mark.parametrize("text", OTHER_HANDS)
def test_a_text_of_another_hand_or_version_is_none(text: str) -> None:
    assert read(text) is None


@settings(deadline=None)
@given(LINES)
def test_no_line_is_refused_and_the_size_is_bounded(lines: list[Mapping[str, Any]]) -> None:
    assert read(written(summed(lines, lines))) == summed(lines, lines)


def test_the_rows_are_bounded_and_none_of_their_runs_is_lost() -> None:
    some = [("id" + str(n), f"task {n} " + "long " * 99, 61.0 * (n % 50), 1.0, None) for n in range(500)]
    found = summed([*events(*some), *({"type": f"f{n}-invocation", "clock": n, "timestamp": NOW + 60 * n} for n in range(99))])
    assert (len(found.runs), len(found.spent)) == (MOST_ROWS, MOST_ROWS)
    assert total(found.runs.values()).number == 500
    assert sum(found.spent.values()) == 99 * price({})
    assert len(written(found)) < 32_000


def test_a_window_has_the_minutes_from_its_first_up_to_its_last() -> None:
    every = merged(summed([event]) for event in (
        {"type": "task-failed", "uuid": str(n), "name": "add", "timestamp": NOW + 60 * n, "clock": n} for n in range(4)
    ))  # fmt: skip
    found = within(every._replace(again=9), MINUTE + 1, MINUTE + 3)
    assert [place.minute - MINUTE for place in found.runs] == [1, 2]
    assert found.again == 2, "no more can be counted twice than there are"


@given(st.floats(0, 1e9))
def test_a_time_is_below_the_bound_of_its_step_and_not_below_the_one_before(seconds: float) -> None:
    step = bucket(seconds)
    assert seconds < bound(step) * (1 + 1e-9) or step == MOST_BUCKET
    assert step == 0 or seconds >= bound(step - 1) * (1 - 1e-9)


def test_quantiles_are_bounds_of_steps() -> None:
    counts = {bucket(0.01): 95, bucket(2.0): 5}
    assert quantile(counts, 0.5) == quantile(counts, 0.95) == bound(bucket(0.01))
    assert quantile(counts, 0.99) == bound(bucket(2.0))
    assert quantile({}, 0.5) is None


def test_an_object_without_an_end_or_a_report_has_no_roll_up() -> None:
    assert rollup("o", summed([{"type": "task-sent", "uuid": "a", "timestamp": NOW}])) is None
    (end,) = [one for one in events(("a", "add", 0, 1, None)) if one["type"] == "task-succeeded"]
    made = rollup("o", summed([end]))
    assert isinstance(made, Rollup)
    assert (made.name, made.minute, json.loads(made.text)["v"]) == ("o", MINUTE, 1)
