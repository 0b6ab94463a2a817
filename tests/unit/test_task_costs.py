"""The cost of tasks from their events: shares of what functions report, whatever the order, and no number that hurts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.model.history.event_order import Stamp, stamp
from sedano.model.history.invocation_prices import CALLS, GB_SECONDS, INVOCATIONS, price
from sedano.model.history.task_costs import Costs, TaskCost, WorkerCost, task_costs
from sedano.model.states import SUBJECTS

ALONE = round((0.5 * GB_SECONDS + INVOCATIONS) * 1_000)
"""The nanodollars of an attempt that ran for one second, estimated: 512 MB and an invocation of its own."""


def event(kind: str, clock: int, **said: Any) -> dict[str, Any]:
    return {"type": kind, "clock": clock, "timestamp": float(clock), "hostname": "worker-1", "pid": 1, "uuid": "t", **said}


def life(task: str, began: int, *, worker: str = "worker-1", **said: Any) -> list[dict[str, Any]]:
    """The events of a task that ran for one second on *worker*."""
    described = {"name": "shop.add", "root_id": task, "queue": "mail", **said}
    start = event("task-started", began, uuid=task, hostname=worker)
    end = event("task-succeeded", began + 1, uuid=task, hostname=worker, runtime=1.0, result="1")
    return [event("task-sent", began - 1, uuid=task, hostname="client", **described), start, end]


def report(clock: int, kind: str = "worker", worker: str = "worker-1", **said: Any) -> dict[str, Any]:
    return event(f"{kind}-invocation", clock, hostname=worker, uuid="", **said)


def told(*events: dict[str, Any]) -> Costs:
    return task_costs({stamp(one): one for one in events})


def only(costs: Costs) -> TaskCost:
    (row,) = costs.tasks
    return row


def test_a_worker_that_reports_nothing_is_charged_as_if_each_attempt_had_run_alone() -> None:
    row = only(told(*life("a", 10), *life("b", 20)))
    assert row == TaskCost("shop.add", "mail", "", "estimated", tasks=2, attempts=2, run_micros=2_000_000, nanodollars=2 * ALONE)
    assert row.dollars_a_million == pytest.approx(ALONE / 1_000)


def test_reports_are_shared_among_the_attempts_of_their_worker_by_run_time() -> None:
    long = [*life("b", 20)[:2], event("task-succeeded", 23, uuid="b", runtime=3.0, result="1")]
    said = report(30, duration_ms=4_000.0, memory_mb=1_024, invocations=1, messages=2, calls={"sqs.SendMessage": 2, "odd.Call": 9})
    found = told(*life("a", 10, stamps="tenant=blue,team=core"), *long, said)
    spent = price(said)
    assert spent == round((4 * GB_SECONDS + INVOCATIONS + 2 * CALLS["sqs.SendMessage"]) * 1_000)
    assert {(row.tenant, row.basis, row.nanodollars) for row in found.tasks} == {
        ("blue", "measured", round(spent / 4)), ("", "measured", round(spent * 3 / 4)),
    }  # fmt: skip


def test_each_attempt_between_two_retries_is_one_and_an_unstarted_one_costs_nothing() -> None:
    first = [*life("a", 10)[:2], event("task-retried", 12, uuid="a", exception="OSError()")]
    second = life("a", 20, worker="worker-2")[1]
    ended = event("task-failed", 24, uuid="a", hostname="worker-2", exception="E()")
    row = only(told(*first, second, ended, life("b", 30)[0]))
    assert (row.tasks, row.attempts, row.run_micros) == (1, 2, 2_000_000 + 4_000_000)


def test_router_and_recorder_are_rows_of_their_own_without_tasks() -> None:
    found = told(report(1, "router", calls={"sqs.SendMessage": 1}), report(2, "recorder", duration_ms=1_000.0), report(3, "watcher"))
    assert [(row.name, row.queue, row.tasks, row.dollars_a_million) for row in found.tasks] == [
        ("sedano.recorder", "records", 0, None), ("sedano.router", "events", 0, None),
    ]  # fmt: skip
    assert found.workers == WorkerCost(0, 0, 0, 0)


def test_a_canvas_is_the_sum_of_its_tasks_and_one_task_alone_is_none() -> None:
    found = told(*life("a", 10), *life("b", 20, root_id="a"), *life("c", 30))
    assert [(one.root, one.name, one.tasks, one.nanodollars) for one in found.canvases] == [("a", "shop.add", 2, 2 * ALONE)]


@pytest.mark.parametrize(("invocations", "messages", "avoidable"), [(10, 25, 7), (3, 30, 0), (1, 1, 0), (2, 0, 2)])
def test_full_batches_would_save_the_invocations_beyond_one_for_ten_messages(invocations: int, messages: int, avoidable: int) -> None:
    workers = told(report(1, invocations=invocations, messages=messages)).workers
    assert (workers.invocations, workers.messages) == (invocations, messages)
    assert workers.avoidable == round(avoidable * INVOCATIONS * 1_000)


HOSTILE = st.one_of(
    st.none(), st.booleans(), st.text(max_size=4), st.integers(-(10**30), 10**400), st.floats(), st.lists(st.integers(), max_size=2),
    st.dictionaries(st.sampled_from(["sqs.SendMessage", "tenant"]), st.one_of(st.floats(), st.integers(), st.text(max_size=3)), max_size=2),
)  # fmt: skip
FIELDS = [*(field for fields in SUBJECTS.values() for field in fields), "invocations", "messages", "duration_ms", "memory_mb", "calls"]
TYPES = ["task-sent", "task-started", "task-retried", "task-succeeded", "task-odd", "worker-invocation", "router-invocation", "x"]


@st.composite
def hostile_events(draw: st.DrawFn) -> dict[str, Any]:
    said = draw(st.dictionaries(st.sampled_from(FIELDS), HOSTILE, max_size=4))
    named = {"uuid": draw(st.sampled_from(["", "a", "b"])), "hostname": draw(st.sampled_from(["worker-1", "worker-2"]))}
    return event(draw(st.sampled_from(TYPES)), draw(st.integers(0, 20)), **{**said, **named})


@given(st.lists(hostile_events(), max_size=12), st.randoms(use_true_random=False))
def test_whatever_events_say_the_order_and_copies_change_nothing_and_no_cost_is_negative(events: list[dict[str, Any]], random: Any) -> None:
    once: dict[Stamp, dict[str, Any]] = {stamp(one): one for one in events}
    shuffled = list(once.items())
    random.shuffle(shuffled)
    found = task_costs(once)
    assert found == task_costs(dict(shuffled))
    assert all(row.nanodollars >= 0 and row.run_micros >= 0 for row in found.tasks)
    assert all(row.tasks <= row.attempts for row in found.tasks)


def retried(*later: dict[str, Any]) -> Costs:
    """The costs of a task that ran for two seconds on worker-1 before its retry, and what came later."""
    return told(*life("a", 10)[:2], event("task-retried", 12, uuid="a", exception="OSError()"), *later)


def second(kind: str, clock: int, worker: str = "worker-2", **said: Any) -> dict[str, Any]:
    return event(f"task-{kind}", clock, uuid="a", hostname=worker, **said)


@pytest.mark.parametrize(
    ("later", "attempts", "micros"),
    [
        ([], 1, 2_000_000),
        ([second("received", 20)], 1, 2_000_000),
        ([second("revoked", 20)], 1, 2_000_000),
        ([second("started", 20)], 2, 2_000_000),
        ([second("started", 20), second("failed", 24)], 2, 6_000_000),
        ([second("started", 20), second("started", 30), second("failed", 34)], 2, 6_000_000),
        ([second("started", 20), second("succeeded", 24, runtime=1.0)], 2, 3_000_000),
        ([second("started", 20), second("succeeded", 24, runtime=1.0), second("received", 30)], 2, 3_000_000),
        ([second("started", 20), second("revoked", 22), second("failed", 24), second("received", 30)], 2, 6_000_000),
        ([second("started", 20), second("failed", 24) | {"timestamp": 19.5}], 2, 2_000_000),
        ([second("started", 20), second("succeeded", 24, runtime="long")], 2, 6_000_000),
    ],
)
def test_an_attempt_after_a_retry_ran_from_its_last_start_to_its_last_end(later: list[Any], attempts: int, micros: int) -> None:
    row = only(retried(*later))
    assert (row.attempts, row.run_micros) == (attempts, micros)


def test_an_attempt_after_a_retry_is_charged_to_the_worker_that_told_of_it_last_and_not_to_the_client() -> None:
    some = [second("received", 19, "lost"), second("started", 20, "lost"), second("progress", 21, "odd"), second("failed", 24, "worker-2")]
    found = retried(*some, second("sent", 26, "client"), report(30, worker="worker-2", duration_ms=9.0))
    assert {row.basis: row.run_micros for row in found.tasks} == {"estimated": 2_000_000, "measured": 4_000_000}


def test_a_task_without_a_retry_ran_until_the_end_that_its_state_tells() -> None:
    late = event("task-failed", 24, uuid="a", hostname="worker-2", exception="E()")
    assert only(told(*life("a", 10), late)).run_micros == 1_000_000
    assert only(told(*life("a", 10)[:2], late)).run_micros == 14_000_000


def test_a_task_that_has_not_ended_has_run_for_no_time_yet_and_one_without_a_name_has_none() -> None:
    row = only(told(event("task-started", 10)))
    assert row == TaskCost("", "", "", "estimated", tasks=1, attempts=1, run_micros=0, nanodollars=round(INVOCATIONS * 1_000))


def test_reports_of_one_function_are_added_up_and_only_events_of_invocations_are_reports() -> None:
    some = [report(1, "router", duration_ms=1.5), report(2, "router", duration_ms=2.0, calls={"sqs.SendMessage": 1}), report(3, "router")]
    row = only(told(*some, event("router", 4, duration_ms=9.0)))
    assert row == TaskCost("sedano.router", "events", "", "measured", 0, 0, 3_500, sum(price(one) for one in some))


def test_a_report_of_another_function_pays_for_no_task() -> None:
    found = told(*life("a", 10), report(20, "router", duration_ms=1.0))
    assert [(row.name, row.basis) for row in found.tasks] == [("shop.add", "estimated"), ("sedano.router", "measured")]


def test_canvases_are_named_by_their_root_if_it_is_known_and_the_most_expensive_is_first() -> None:
    small = [*life("a", 10), *life("b", 20, root_id="a")]
    large = [event for number in range(3) for event in life(f"m{number}", 30 + 3 * number, root_id="lost")]
    found = told(*small, *large, *life("x", 50, root_id=None), *life("y", 60, root_id=None)).canvases
    assert [(one.root, one.name, one.tasks) for one in found] == [("lost", "", 3), ("a", "shop.add", 2)]


@pytest.mark.parametrize(
    ("said", "workers"),
    [({}, (1, 0, 1)), ({"invocations": 5, "messages": 20}, (5, 20, 3)), ({"invocations": 5, "messages": 21}, (5, 21, 2)),
     ({"invocations": 3, "messages": 40}, (3, 40, 0))],
)  # fmt: skip
def test_a_report_counts_one_invocation_without_messages_unless_it_says_more(said: dict[str, Any], workers: tuple[int, int, int]) -> None:
    found = told(report(1, **said)).workers
    assert (found.invocations, found.messages, found.avoidable) == (*workers[:2], round(workers[2] * INVOCATIONS * 1_000))
