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
    LIFETIME_S,
    MOST_BUCKET,
    MOST_NAME,
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


def line(kind: str, timestamp: Any = NOW, uuid: Any = "a", **said: Any) -> dict[str, Any]:
    """One event, as a worker or another program may write it."""
    return {"type": kind, "uuid": uuid, "timestamp": timestamp, "clock": 1, **said}


def test_the_bounds_of_a_roll_up_are_those_that_are_described() -> None:
    assert (MOST_ROWS, MOST_BUCKET, MOST_NAME, LIFETIME_S) == (64, 64, 200, 45 * 86_400)


def test_a_step_of_a_histogram_is_half_a_doubling_of_a_millisecond() -> None:
    assert [bucket(seconds) for seconds in (0, 0.000_999_5, 0.001, 0.001_5, 0.002, 1.0, 1e9)] == [0, 0, 1, 2, 3, 20, 64]
    assert [bound(step) for step in (0, 2, 20)] == [0.001, 0.002, 1.024]
    assert quantile({0: 1, 2: 1}, 1.0) == 0.002
    assert quantile({0: 1, 2: 1}, 0.5) == 0.001


def test_sums_of_objects_are_added_up() -> None:
    one = Sums({RunPlace("add", "q", 1): RunSums({"SUCCESS": 2}, 5, {3: 1}, {4: 2})}, {("worker", 1): 30}, 1)
    other = Sums({RunPlace("add", "q", 1): RunSums({"FAILURE": 1}, 7, {3: 1}, {5: 1})}, {("worker", 1): 12, ("recorder", 2): 1}, 2)
    both = RunSums({"SUCCESS": 2, "FAILURE": 1}, 12, {3: 2}, {4: 2, 5: 1})
    assert merged([one, other]) == Sums({RunPlace("add", "q", 1): both}, {("worker", 1): 42, ("recorder", 2): 1}, 3)


def test_a_window_contains_its_first_minute_and_not_the_one_after_its_last() -> None:
    place, share = RunPlace("add", "q", 0), Share(1, 1)
    every = Sums(
        {place._replace(minute=minute): RunSums({"SUCCESS": 1}) for minute in range(5)}, {("worker", minute): 1 for minute in range(5)}, 0,
        {SharePlace("add", "", minute): share for minute in range(5)},
    )  # fmt: skip
    found = within(every, 1, 3)
    assert [one.minute for one in found.runs] == [minute for _, minute in found.spent] == [one.minute for one in found.shares] == [1, 2]


def test_a_roll_up_is_of_its_latest_minute() -> None:
    made = rollup("o", Sums({RunPlace("add", "q", 7): RunSums({"SUCCESS": 1})}, {("worker", 5): 1, ("worker", 9): 1}))
    assert made is not None
    assert made.minute == 9


def test_a_text_of_a_later_version_is_not_read() -> None:
    text = written(Sums({}, {("worker", 1): 5}))
    assert read(text) == Sums({}, {("worker", 1): 5})
    assert read(text.replace('"v":1', '"v":2')) is None


@pytest.mark.parametrize(
    ("before", "end", "place"),
    [
        ([("task-sent", "s", "q1"), ("task-received", "r", "q2")], "e", ("r", "q2")),
        ([("task-sent", "s", "q1")], "e", ("s", "q1")),
        ([], "e", ("e", "")),
        ([("task-received", None, None)], "e", ("e", "")),
        ([("task-received", None, None)], None, (OTHERS, "")),
    ],
)
def test_a_run_has_the_name_and_the_queue_of_its_receipt_or_publication(before: list[Any], end: str | None, place: tuple[str, str]) -> None:
    some = [line(kind, name=name, queue=queue) for kind, name, queue in before]
    others = [line(one["type"], uuid="other", name="x", queue="y") for one in some]
    (found,) = summed([*others, *some, line("task-succeeded", name=end)]).runs
    assert (found.task, found.queue) == place


@pytest.mark.parametrize(
    ("runtime", "ran", "running"),
    [(0.0, 0, {0: 1}), (0.5, 500_000, {bucket(0.5): 1}), (1e15, 10**21, {64: 1}), (-0.5, 0, {}), (1.1e15, 0, {}), (1, 0, {}), ("1", 0, {}),
     (None, 0, {}), (True, 0, {})],
)  # fmt: skip
def test_a_run_took_the_seconds_that_a_worker_can_report(runtime: object, ran: int, running: dict[int, int]) -> None:
    (found,) = summed([line("task-succeeded", name="add", runtime=runtime)]).runs.values()
    assert (found.ran, found.running, found.ended) == (ran, running, {"SUCCESS": 1})


@pytest.mark.parametrize(
    ("sent", "started", "waiting"),
    [(("a", 5), ("a", 5), {0: 1}), (("a", 5), ("a", 6), {bucket(1): 1}), (("a", 6), ("a", 5), {}), (("b", 5), ("a", 6), {}),
     (("a", 5), ("b", 6), {})],
)  # fmt: skip
def test_a_run_waited_from_its_own_publication_to_its_own_start(sent: tuple[str, int], started: tuple[str, int], waiting: Any) -> None:
    some = [line("task-sent", NOW + sent[1], sent[0]), line("task-started", NOW + started[1], started[0])]
    (found,) = summed([*some, line("task-succeeded", NOW + 9)]).runs.values()
    assert found.waiting == waiting


def test_a_line_of_another_writer_is_left_out_and_the_next_one_counts() -> None:
    strange: list[dict[str, Any]] = [line("worker-online"), {"type": 5}, {"type": ["task-sent"]}, {"timestamp": 1}]
    found = summed([*strange, line("task-sent", name=5), line("task-failed", uuid=["a"]), line("task-failed", name="add", uuid="b")])
    assert (found.spent, [place.task for place in found.runs]) == ({}, ["add"])


def test_a_run_whose_times_cannot_be_read_counts_once_however_often_it_is_read() -> None:
    times = [line("task-sent", timestamp="noon"), line("task-started", timestamp="two")]
    (found,) = summed([*times, line("task-failed"), line("task-failed")]).runs.values()
    assert (found.number, found.waiting) == (1, {})


def test_of_too_many_rows_the_smallest_are_one_row_of_the_latest_minute() -> None:
    ended = [(n, copy) for n in range(MOST_ROWS + 1) for copy in ("ab" if n else "a")]
    many = [line("task-failed", NOW + 60 * n, f"{n}{copy}", name=f"task {n}") for n, copy in ended]
    found = summed([*many, line("worker-invocation", hostname="h")])
    assert len(found.runs) == MOST_ROWS
    assert found.runs[RunPlace(OTHERS, "", MINUTE + MOST_ROWS)].number == 3, "the one that ran once, and one of those that ran twice"
    assert found.spent == {("worker", MINUTE): 200}


def test_of_too_many_costs_the_smallest_are_one_of_the_latest_minute() -> None:
    reports = [line(f"f{n}-invocation", NOW + 60 * n, hostname="h", invocations=min(n + 1, 9)) for n in range(MOST_ROWS + 1)]
    found = summed([*reports, line("task-failed", name="add")])
    assert len(found.spent) == MOST_ROWS
    assert found.spent[OTHERS, MINUTE + MOST_ROWS] == 200 + 400
    assert [place.task for place in found.runs] == ["add"]


def test_as_many_rows_as_there_may_be_keep_their_names() -> None:
    runs = [line("task-failed", uuid=str(n), name=f"task {n}") for n in range(MOST_ROWS)]
    found = summed([*runs, *(line(f"f{n}-invocation", hostname="h") for n in range(MOST_ROWS))])
    assert {place.task for place in found.runs} == {f"task {n}" for n in range(MOST_ROWS)}
    assert {function for function, _ in found.spent} == {f"f{n}" for n in range(MOST_ROWS)}
