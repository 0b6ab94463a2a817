"""The report of a run alone: its row, its span, and the end of each call that it ran with others."""

from typing import Any

import pytest

from sedano.engine.batch import Held, Job, Judged, Ran, Stillborn
from sedano.engine.history.run_events import tell, tell_again, tell_exit
from sedano.engine.task_context import span_of
from sedano.model import refusals, states
from sedano.model.collection import RUNS, Fetched, written
from sedano.model.history.run_rows import MICRO
from sedano.model.ledger.outcome import Run, Verdict
from sedano.model.ledger.records import ErrorRecord, Outcome, TaskRecord
from sedano.model.limits.task_limits import TaskLimits
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.lineage import Lineage
from sedano.model.messages.trace import trace_of
from sedano.ports import Ports
from tests.unit.engine.gated import QUEUE, batch, job, world

LAMPORT = LamportClock(lambda: 100)
TRACE = "1" * 32
CALLS = {one: written(one, (1,), {}) for one in ("call-1", "call-2")}
ENDED = 3.0


def judged(
    one: Job, state: Any = states.SUCCESS, record: TaskRecord | None = None, stillborn: Stillborn | None = None, **run: Any
) -> Judged:
    """A run that began at 2 s and at the clock 20, and ended at 3 s."""
    ran = Ran(Held(one, record, stillborn), Run(**run), None, (), 2.0, 20, ENDED)
    outcome = Outcome(one.command.task_id, state, "n", 1, one.command.id, 0, 30, one.command.task, ENDED)
    return Judged(ran, Verdict(state), outcome, ())


def reported(one: Judged) -> tuple[list[Any], list[dict[str, Any]]]:
    """The rows and lines of the history of a run that ended."""
    found = batch(world())
    tell(one, found, LAMPORT)
    return found.chronicle.rows, found.chronicle.lines


def batched(args: Any, attempt: int = 0, name: str = f"mail{RUNS}") -> Job:
    """The job that runs the calls of a basket together."""
    return job("a", task=name, args=args, attempt=attempt, limits=TaskLimits(runs=True))


def test_a_run_says_when_it_began_and_one_that_never_began_does_not() -> None:
    ((*row,),), _ = reported(judged(job("a")))
    assert row[-6:-1] == [2 * MICRO, 20, 3 * MICRO, 30, "task-succeeded"]
    why = Stillborn(states.REVOKED, refusals.REVOKED, "taskid", "why")
    ((*row,),), _ = reported(judged(job("a"), states.REVOKED, stillborn=why))
    assert row[-6:-1] == [None, None, 3 * MICRO, 30, "task-revoked"]


def test_only_what_ended_as_revoked_is_counted_by_the_reason_why_it_did_not_run() -> None:
    busy = Stillborn(states.REVOKED, refusals.BUSY, "subject", "busy")
    for state, metric in ((states.REVOKED, "SingletonsDropped"), (states.FAILURE, "TasksFailed")):
        found = batch(world())
        tell(judged(job("a"), state, stillborn=busy), found, LAMPORT)
        assert found.counts == {(metric, "only"): 1}


def test_a_failure_counts_once_more_for_a_task_with_a_metric_of_its_own_and_a_retry_does_not() -> None:
    error = ErrorRecord("ValueError", "no")
    for state, own in ((states.FAILURE, 1), (states.POISON, 1), (states.RETRY, 0), (states.REVOKED, 0), (states.EXPIRED, 0)):
        for metric, expected in (("PollsFailed", own), ("", 0)):
            found = batch(world())
            tell(judged(job("a", failure_metric=metric), state, error=error), found, LAMPORT)
            assert found.counts.get((metric, "only"), 0) == expected, state
            assert len(found.counts) == expected + (state != states.POISON)


def test_a_row_says_everything_of_the_message_and_has_stamps_only_for_a_task_that_has_some() -> None:
    one = job("a")
    plain = ("a", "only", QUEUE, "a", None, 0, "host", MICRO, 1, 0, 7, 2 * MICRO, 20, 3 * MICRO, 30, "task-succeeded", None)
    assert reported(judged(one)) == ([plain], [])
    stamped = one.command._replace(tenant="acme", stamps="team=red", lineage=Lineage("root", "parent"))
    (row,), _ = reported(judged(one._replace(command=stamped)))
    assert row == (*plain[:3], "root", "parent", *plain[5:], "tenant=acme,team=red")


def test_a_run_without_a_record_has_the_next_clock_and_one_that_is_given_up_has_no_count() -> None:
    found = batch(world())
    tell(judged(job("a"), states.POISON)._replace(outcome=None), found, LamportClock(lambda: 100))
    ((*row,),) = found.chronicle.rows
    assert row[-4:] == [3 * MICRO, 100, "task-failed", None]
    assert found.counts == {}, "it was counted before"


@pytest.mark.parametrize(
    ("state", "end", "exception"),
    [(states.FAILURE, "task-failed", "Odd('why')"), (states.POISON, "task-failed", "POISON('why')"),
     (states.EXPIRED, "task-revoked", "EXPIRED('why')")],
)  # fmt: skip
def test_an_error_is_reported_under_its_own_name_or_that_of_a_state_without_an_event(state: Any, end: str, exception: str) -> None:
    error = ErrorRecord("Odd", "why")
    ((*row,),), _ = reported(judged(job("a"), state, error=error))
    assert row[-2:] == [end, exception]
    ((*row,),), _ = told_again(job("a"), TaskRecord("a", state, message_id="a", clock=5, error=error))
    assert row[-2:] == [end, exception]


@pytest.mark.parametrize(
    ("error", "tenant", "says"),
    [
        (None, None, {}),
        (ErrorRecord("Odd", "w" * 201), None, {"exception": f"Odd({'w' * 200!r})"}),
        (None, "acme", {"stamps": "tenant=acme"}),
    ],
)
def test_a_task_that_never_ran_has_a_line_of_its_end(error: ErrorRecord | None, tenant: str | None, says: dict[str, str]) -> None:
    found = batch(world())
    tell_exit(Outcome("a", states.FAILURE, "n", 1, "a", 0, 30, "only", ENDED, error=error), tenant, found)
    assert found.chronicle.rows == []
    assert found.chronicle.lines == [{"type": "task-failed", "clock": 30, "timestamp": ENDED, "uuid": "a", "name": "only", **says}]


def test_a_run_in_a_trace_from_outside_reports_its_span_and_one_in_the_trace_of_its_own_tree_does_not() -> None:
    one = job("a")
    outside = one._replace(command=one.command._replace(traceparent=f"00-{TRACE}-{'2' * 16}-01"))
    within = one._replace(command=one.command._replace(traceparent=f"00-{trace_of('a')}-{'2' * 16}-01"))
    child = one.command._replace(traceparent=f"00-{trace_of('root')}-{'2' * 16}-01", lineage=Lineage("root", "parent"))
    assert [reported(judged(own))[1] for own in (one, within, one._replace(command=child))] == [[], [], []]
    record = TaskRecord("a", states.RUNNING, fence=4)
    for known, fence in ((None, 0), (record, 4)):
        (line,) = reported(judged(outside, record=known))[1]
        span = span_of(outside.command, fence, 20)
        assert line == {
            "type": "span", "clock": 30, "timestamp": ENDED, "uuid": "a", "name": "only", "trace_id": TRACE, "span_id": span.span_id,
            "parent_span_id": "2" * 16, "flags": "01", "started": 2.0,
        }  # fmt: skip
    why = Stillborn(states.REVOKED, refusals.REVOKED, "taskid", "why")
    assert reported(judged(outside, states.REVOKED, stillborn=why))[1] == []


def test_the_end_of_each_call_of_a_basket_is_reported_under_the_name_of_its_task() -> None:
    _, lines = reported(judged(batched([Fetched(CALLS)])))
    assert lines == [
        {"type": "task-succeeded", "clock": 30, "timestamp": ENDED, "uuid": one, "name": "mail"} for one in CALLS
    ]  # fmt: skip
    assert reported(judged(batched([Fetched(CALLS)]), states.RETRY))[1] == [], "a run that is tried again has ended no call"
    plain = batched([Fetched(CALLS)])
    assert reported(judged(plain._replace(task=plain.task._replace(limits=TaskLimits()))))[1] == []
    assert reported(judged(plain._replace(task=plain.task._replace(limits=None))))[1] == []


@pytest.mark.parametrize(
    ("args", "attempt", "ids"),
    [
        ([[*CALLS.values()]], 1, [*CALLS]),
        ([[*CALLS.values()]], 0, []),
        ([[CALLS["call-1"], '["no id"]']], 1, ["call-1"]),
        ([["{"]], 1, []),
        ([["7"]], 1, []),
        ([7], 1, []),
        ([{CALLS["call-1"]: 1}], 1, []),
        ([[CALLS["call-1"]], [CALLS["call-2"]]], 1, ["call-1"]),
        ([], 1, []),
    ],
)
def test_a_retry_carries_the_calls_itself_and_a_first_message_may_say_anything(args: Any, attempt: int, ids: list[str]) -> None:
    _, lines = reported(judged(batched(args, attempt)))
    assert [line["uuid"] for line in lines] == ids


def told_again(one: Job, record: TaskRecord) -> tuple[list[Any], list[dict[str, Any]]]:
    """The rows and lines of an end that an earlier process left."""
    ports: Ports = world()
    found = batch(ports)
    tell_again(one, record, found)
    return found.chronicle.rows, found.chronicle.lines


def test_an_end_that_an_earlier_process_left_is_reported_with_its_own_clock_and_so_are_its_calls() -> None:
    record = TaskRecord("a", states.FAILURE, message_id="a", clock=5 * MICRO)
    ((*row,),), _ = told_again(job("a"), record._replace(clock=5))
    assert row[-4:-1] == [5, 5, "task-failed"], "although the receipt has the clock 7"
    ((*row,),), lines = told_again(batched([Fetched(CALLS)]), record)
    assert row[-6:-1] == [None, None, 5 * MICRO, 5 * MICRO, "task-failed"]
    assert lines == [
        {"type": "task-failed", "clock": 5 * MICRO, "timestamp": 5.0, "uuid": one, "name": "mail"} for one in CALLS
    ]  # fmt: skip


def test_a_revocation_by_id_is_reported_as_later_than_the_receipt_that_met_it() -> None:
    ((*row,),), _ = told_again(job("a"), TaskRecord("a", states.REVOKED, clock=3))
    assert row[-3] == 8, "the receipt has the clock 7"
    ((*row,),), _ = told_again(job("a"), TaskRecord("a", states.REVOKED, clock=9))
    assert row[-3] == 9
