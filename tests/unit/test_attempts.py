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
