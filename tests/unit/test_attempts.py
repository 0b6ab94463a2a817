"""The attempts of a task, read off its events: the same in any order and with copies, with waiting apart from running."""

import random
from typing import Any

from sedano.model.history.attempts import Attempt, attempts


def event(kind: str, at: float, host: str = "a", **fields: Any) -> dict[str, Any]:
    """One event of the task t, whose clock follows its time."""
    return {"type": f"task-{kind}", "uuid": "t", "hostname": host, "pid": 1, "clock": int(at * 1_000_000), "timestamp": at, **fields}


RETRIED = [
    event("sent", 100.0, "client"), event("received", 103.0, retries=0), event("started", 104.0),
    event("retried", 106.0, exception="OSError('away')"), event("sent", 106.5), event("received", 110.0, "b", retries=1),
    event("started", 111.0, "b"), event("succeeded", 115.0, "b", runtime=4.0),
]  # fmt: skip


def test_each_attempt_has_its_worker_its_waiting_its_running_and_its_end() -> None:
    first, second = attempts(RETRIED, "t")
    assert first == Attempt(0, "a", "RETRY", sent=100.0, received=103.0, started=104.0, ended=106.0, error="OSError('away')")
    assert (first.waited, first.ran) == (4.0, 2.0)
    assert second == Attempt(1, "b", "SUCCESS", sent=106.5, received=110.0, started=111.0, ended=115.0)
    assert (second.waited, second.ran) == (4.5, 4.0)


def test_order_and_copies_do_not_matter_and_other_tasks_are_left_out() -> None:
    expected = attempts(RETRIED, "t")
    for seed in range(50):
        mixed = [*RETRIED, *RETRIED, event("started", 105.0) | {"uuid": "other"}, event("received", 1.0) | {"type": "worker-online"}]
        random.Random(seed).shuffle(mixed)
        assert attempts(mixed, "t") == expected


def test_a_second_receipt_without_an_end_between_is_an_attempt_of_its_own() -> None:
    lost, second = attempts([*RETRIED[:3], event("received", 150.0, "b", retries=0)], "t")
    assert (lost.state, lost.ended, lost.ran, second.state, second.worker) == ("STARTED", None, None, "RECEIVED", "b")


COPIED = [
    *RETRIED[:3], event("succeeded", 106.0), event("succeeded", 106.0, "b"), event("received", 150.0, "b", retries=0),
    event("", 151.0, "b", absorbed="follow again") | {"type": "message-duplicate"},
]  # fmt: skip


def test_a_copy_is_no_attempt_and_its_report_of_the_end_no_second_end() -> None:
    (only,) = attempts(COPIED, "t")
    assert only == Attempt(0, "a", "SUCCESS", sent=100.0, received=103.0, started=104.0, ended=106.0)


def test_a_copy_that_waits_while_the_task_runs_is_no_attempt() -> None:
    waits = event("", 105.5, "b", absorbed="wait") | {"type": "message-duplicate"}
    (only,) = attempts([*RETRIED[:3], event("received", 105.0, "b", retries=0), waits, event("succeeded", 106.0)], "t")
    assert (only.worker, only.state, only.ended) == ("a", "SUCCESS", 106.0)


def test_what_a_worker_reports_belongs_to_its_own_receipt() -> None:
    receipts = [event("received", 1.0), event("received", 2.0, "b")]
    first, second = attempts([*receipts, event("started", 3.0), event("started", 4.0, "b"), event("failed", 5.0, "b")], "t")
    assert (first.worker, first.started, first.state) == ("a", 3.0, "STARTED")
    assert (second.worker, second.started, second.state, second.ended) == ("b", 4.0, "FAILURE", 5.0)


def test_a_copy_whose_receipt_is_not_reported_takes_no_other_one_away() -> None:
    window = event("", 103.5, absorbed="window") | {"type": "message-duplicate"}
    assert attempts([*RETRIED, window, event("", 103.6) | {"type": "message-duplicate"}], "t") == attempts(RETRIED, "t")


def test_an_end_without_a_receipt_is_still_shown_and_clocks_that_disagree_give_no_time() -> None:
    (only,) = attempts([event("revoked", 9.0)], "t")
    assert (only.state, only.ended, only.waited, only.ran) == ("REVOKED", 9.0, None, None)
    backwards = [event("received", 5.0, retries=0), event("started", 6.0), event("succeeded", 4.0) | {"clock": 7_000_000}]
    assert attempts(backwards, "t")[0].ran is None
    assert attempts([], "t") == ()


def test_an_attempt_whose_publication_is_unknown_waited_from_its_receipt() -> None:
    (only,) = attempts([event("received", 3.0, retries=4), event("started", 5.0), event("succeeded", 5.0)], "t")
    assert only == Attempt(4, "a", "SUCCESS", received=3.0, started=5.0, ended=5.0)
    assert (only.waited, only.ran) == (2.0, 0.0)


def test_a_receipt_that_does_not_say_its_number_has_that_of_its_place() -> None:
    some = [event("received", 1.0, retries=3), event("failed", 2.0), event("received", 3.0), event("failed", 4.0), event("received", 5.0)]
    assert [one.number for one in attempts(some, "t")] == [3, 1, 2]


def test_only_events_of_a_task_and_reports_of_copies_tell_of_attempts() -> None:
    others = [event("held", 104.5), event("progress", 105.0), event("received", 112.0) | {"type": "received"}, {"uuid": "t", "type": "x"}]
    assert attempts([*RETRIED, *others], "t") == attempts(RETRIED, "t")


def test_two_receipts_with_one_clock_are_two_attempts() -> None:
    found = attempts([event("received", 1.0, retries=0), event("received", 1.0, "b", retries=0)], "t")
    assert [one.worker for one in found] == ["a", "b"]


def test_a_report_of_a_copy_without_a_receipt_of_its_worker_takes_none_of_another_away() -> None:
    waits = event("", 104.5, "b", absorbed="wait") | {"type": "message-duplicate"}
    assert attempts([*RETRIED[:2], waits], "t") == attempts(RETRIED[:2], "t")


def test_a_start_after_the_end_of_an_attempt_begins_another_one() -> None:
    some = [event("received", 1.0, retries=0), event("failed", 2.0), event("started", 3.0)]
    assert attempts(some, "t")[1:] == (Attempt(1, "a", "STARTED", started=3.0),)


def test_an_end_from_a_worker_without_a_receipt_ends_the_last_attempt_if_that_is_open() -> None:
    begun = [
        moment for number in range(3)
        for moment in (event("received", 10.0 * number, retries=number), event("failed", 10.0 * number + 1))
    ]  # fmt: skip
    ended = attempts([*begun[:-1], event("succeeded", 30.0, "b")], "t")
    assert [(one.worker, one.ended) for one in ended] == [("a", 1.0), ("a", 11.0), ("a", 30.0)]
    late = attempts([*begun, event("succeeded", 30.0, "b")], "t")
    assert late[3:] == (Attempt(3, "b", "SUCCESS", ended=30.0),)
