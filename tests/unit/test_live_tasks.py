"""The tasks of a live view: deferred ones are HELD until something later is known, and collected calls end with their batch."""

from typing import Any

import pytest

from sedano.model.history.live_tasks import Watched
from sedano.model.history.registers import Timeline


def event(kind: str, at: int, uuid: str = "t", **fields: Any) -> dict[str, Any]:
    """One event of a task."""
    return {"type": f"task-{kind}", "uuid": uuid, "hostname": "a", "pid": 1, "clock": at, "timestamp": float(at), **fields}


def watched(*events: dict[str, Any]) -> dict[str, Timeline]:
    """The tasks after these events, the latest first; the same whatever their order."""
    found, turned = Watched(), Watched()
    for one in events:
        found.event(one)
    for one in reversed(events):
        turned.event(one)
    assert found.tasks_by_time() == turned.tasks_by_time()
    return {task.uuid: task for task in found.tasks_by_time()}


RECEIVED = event("received", 1, name="add")


def test_a_deferred_task_is_held_until_a_later_event_and_keeps_the_time() -> None:
    held = watched(RECEIVED, event("held", 5))["t"]
    assert (held.state, held.times, held.fields["name"]) == ("HELD", {"received": 1.0, "held": 5.0}, "add")
    begun = watched(RECEIVED, event("held", 5), event("started", 9))["t"]
    assert (begun.state, begun.times) == ("STARTED", {"received": 1.0, "held": 5.0, "started": 9.0})


def test_a_task_of_which_only_the_deferral_is_known_is_held() -> None:
    only = watched(event("held", 5))["t"]
    assert (only.state, only.worker, only.times) == ("HELD", "a", {"held": 5.0})


def test_a_task_that_ended_is_not_held_again_by_a_late_deferral() -> None:
    ended = watched(RECEIVED, event("succeeded", 4), event("held", 5))["t"]
    assert (ended.state, ended.finished, ended.times["held"]) == ("SUCCESS", 4.0, 5.0)


def test_the_latest_of_several_deferrals_counts_and_a_copy_of_it_changes_nothing() -> None:
    batch = [event("received", 2, "b"), event("succeeded", 3, "b")]
    assert watched(*batch, RECEIVED, event("held", 5, batch="b"), event("held", 7))["t"].times["held"] == 7.0
    found = Watched()
    for one in [*batch, RECEIVED, event("held", 5, batch="b"), event("held", 5)]:
        found.event(one)
    assert {task.uuid: task.state for task in found.tasks_by_time()} == {"t": "SUCCESS", "b": "SUCCESS"}


def test_a_collected_call_ends_in_the_state_of_its_batch_and_is_held_before() -> None:
    call = [RECEIVED, event("held", 5, batch="b")]
    waits = watched(*call, event("started", 6, "b"))["t"]
    assert (waits.state, waits.finished) == ("HELD", None)
    ended = watched(*call, event("started", 6, "b"), event("failed", 8, "b", exception="ValueError('x')"))["t"]
    assert (ended.state, ended.finished, ended.times, ended.fields["name"]) == ("FAILURE", 8.0, {"received": 1.0, "held": 5.0}, "add")
    unknown = watched(event("held", 5, batch="b"), event("succeeded", 8, "b"))["t"]
    assert (unknown.state, unknown.finished) == ("SUCCESS", 8.0)


def test_the_task_with_the_latest_event_comes_first_and_a_deferral_is_an_event() -> None:
    some = [event("received", 1, "one"), event("received", 5, "two"), event("started", 9, "one")]
    assert list(watched(*some)) == ["one", "two"]
    assert list(watched(*some, event("held", 10, "two"))) == ["two", "one"]
    assert list(watched(*some, event("held", 2, "two"))) == ["one", "two"]


def test_a_task_that_was_given_up_is_poison_and_no_other_exception_makes_it_so() -> None:
    assert watched(event("failed", 2, exception="POISON(5 receipts)"))["t"].state == "POISON"
    assert watched(event("failed", 2, exception="Poisoned()"))["t"].state == "FAILURE"
    assert watched(event("retried", 2, exception="POISON(5 receipts)"))["t"].state == "RETRY"


def test_an_event_that_is_no_object_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^an event is an object, not list$"):
        Watched().event(["task-held"])
