"""The spans of a canvas, read off its events: one tree in any order and with copies, with each wait apart from each run."""

import random
from typing import Any

from sedano.model.history.spans import TaskSpan, root_of, spans
from sedano.model.messages.lineage import derived_id, result_document_id
from sedano.views.trace import axis


def event(kind: str, at: float, uuid: str = "root", **fields: Any) -> dict[str, Any]:
    """One event of a task, whose clock follows its time."""
    who = {"hostname": "a", "pid": 1, "clock": int(at * 1_000_000), "timestamp": at}
    return {"type": f"task-{kind}", "uuid": uuid, **who, **fields}


def ran(uuid: str, parent: str | None, sent: float, *, root: str = "root", seconds: float = 1.0) -> list[dict[str, Any]]:
    """The events of a task that waited one second and then ran."""
    who = {"uuid": uuid, "name": f"shop.{uuid}", "root_id": root, "parent_id": parent}
    return [
        event("sent", sent, **who), event("received", sent + 1.0, retries=0, **who), event("started", sent + 1.0, uuid),
        event("succeeded", sent + 1.0 + seconds, uuid),
    ]  # fmt: skip


CANVAS = [*ran("root", None, 100.0, seconds=4.0), *ran("inner", "root", 103.0), *ran("next", "root", 105.5), *ran("leaf", "inner", 104.5)]
RETRIED = [
    event("sent", 10.0, name="n", root_id="root"), event("received", 11.0, retries=0), event("started", 11.0),
    event("retried", 12.0, exception="OSError('away')"), event("received", 20.0, retries=1), event("started", 21.0),
    event("succeeded", 22.0),
]  # fmt: skip


def drawn(some: list[TaskSpan]) -> list[str]:
    """The tree as indented labels."""
    return ["." * one.depth + one.label for one in some]


def test_a_task_hangs_below_the_attempt_that_published_it_and_the_next_of_a_chain_below_its_parent() -> None:
    assert drawn(spans(CANVAS, "root")) == [
        "shop.root", ".queue", ".attempt 0", "..body",
        "..shop.inner", "...queue", "...attempt 0", "....body", "....shop.leaf", ".....queue", ".....attempt 0", "......body",
        ".shop.next", "..queue", "..attempt 0", "...body",
    ]  # fmt: skip


def test_what_an_event_or_a_document_calls_hangs_below_the_task_that_published_it() -> None:
    event_id, later, document = derived_id("root", 1), derived_id("root", "1/2"), result_document_id("root")
    called = [*ran("hears", event_id, 106.0), *ran("sink", document, 107.0), *ran("stranger", "nobody", 108.0), *ran("late", later, 109.0)]
    tried = [event("retried", 102.0), event("received", 103.0, retries=1), event("started", 103.0)]
    found = [one for one in spans([*CANVAS[:3], *tried, *CANVAS[3:4], *called], "root") if one.kind == "task"]
    assert [(one.label, one.depth) for one in found] == [
        ("shop.root", 0), ("shop.hears", 1), ("shop.sink", 1), ("shop.stranger", 1), ("shop.late", 1),
    ]  # fmt: skip
    below = [*ran("event", None, 1.0, root="out"), *ran("inner", derived_id("event", 1), 4.0, root="out")]
    below = [one | {"root_id": "out", "parent_id": one.get("parent_id") or "out"} for one in below]
    assert [(one.label, one.depth) for one in spans(below, "out") if one.kind == "task"] == [("shop.event", 0), ("shop.inner", 1)]


def test_a_copy_adds_nothing_to_the_tree() -> None:
    copied = [
        event("received", 150.0, retries=0) | {"hostname": "b"},
        event("", 151.0, absorbed="follow again") | {"type": "message-duplicate", "hostname": "b"},
    ]  # fmt: skip
    assert spans([*CANVAS, *copied], "root") == spans(CANVAS, "root")


def test_any_order_and_copies_give_the_same_tree() -> None:
    expected = spans(CANVAS, "root")
    for seed in range(50):
        mixed = [*CANVAS, *CANVAS, *ran("stranger", None, 101.0, root="other"), {"type": "worker-online", "hostname": "a"}]
        random.Random(seed).shuffle(mixed)
        assert spans(mixed, "root") == expected
        assert root_of(mixed, "leaf") == "root"
    assert root_of(CANVAS, "unknown") == "unknown"
    assert spans(CANVAS, "unknown") == []


def test_each_wait_has_its_name_and_its_seconds() -> None:
    found = spans(RETRIED, "root")
    assert [(one.kind, one.took) for one in found] == [
        ("task", 12.0), ("queue", 1.0), ("attempt", 1.0), ("body", 1.0), ("retry", 8.0), ("attempt", 2.0), ("body", 1.0),
    ]  # fmt: skip
    assert [(one.state, one.error) for one in found if one.kind == "attempt"] == [("RETRY", "OSError('away')"), ("SUCCESS", "")]


def test_a_receipt_after_a_receipt_without_an_end_is_a_redelivery() -> None:
    found = spans([*RETRIED[:3], event("received", 70.0, retries=0), event("started", 70.0), event("succeeded", 71.0)], "root")
    assert [(one.kind, one.took) for one in found] == [
        ("task", 61.0), ("queue", 1.0), ("attempt", None), ("body", None), ("redelivery", 59.0), ("attempt", 1.0), ("body", 1.0),
    ]  # fmt: skip


def test_a_hold_has_its_reason_and_ends_with_the_next_receipt_or_lasts_until_it_was_to_end() -> None:
    held = event("held", 10.5, reason="paused", until=40.0)
    (one,) = (one for one in spans([*RETRIED, held], "root") if one.kind == "held")
    assert (one.label, one.begin, one.end) == ("paused", 10.5, 11.0)
    (one,) = (one for one in spans([RETRIED[0], held], "root") if one.kind == "held")
    assert (one.label, one.begin, one.end) == ("paused", 10.5, 40.0)
    (one,) = (one for one in spans([RETRIED[0], event("held", 10.5)], "root") if one.kind == "held")
    assert (one.label, one.took) == ("held", 0.0)


def test_a_circle_of_forged_parents_ends_and_a_parent_that_is_unknown_is_the_root() -> None:
    circle = [*ran("a", "b", 1.0), *ran("b", "a", 1.0), *ran("root", None, 0.0), *ran("lost", "nowhere", 0.5)]
    assert [one.label for one in spans(circle, "root") if one.kind == "task"] == ["shop.root", "shop.lost"]
    headless = [*ran("one", "nowhere", 1.0), *ran("two", "one", 2.5)]
    assert [(one.depth, one.label) for one in spans(headless, "root") if one.kind == "task"] == [(0, "shop.one"), (2, "shop.two")]


def test_clocks_that_disagree_give_no_negative_seconds() -> None:
    late = event("started", 9.0) | {"clock": 12_000_000}
    found = spans([event("sent", 10.0, name="n"), event("received", 11.0, retries=0), late, event("failed", 13.0)], "root")
    assert [(one.kind, one.took) for one in found] == [("task", 3.0), ("queue", 1.0), ("attempt", 2.0), ("body", 4.0)]
    early = event("succeeded", 8.0) | {"clock": 14_000_000}
    assert [one.took for one in spans([*RETRIED[:3], early], "root")] == [None, 1.0, None, None]


def test_an_axis_shortens_what_is_idle_and_keeps_the_order() -> None:
    day = 86_400
    later = [one | {"timestamp": one["timestamp"] + day, "clock": one["clock"] + day * 1_000_000} for one in RETRIED[4:]]
    some = spans([*RETRIED[:4], *later], "root")
    place = axis(some)
    moments = sorted({at for one in some for at in (one.begin, one.end) if at is not None})
    places = [place(at) for at in moments]
    assert (places[0], places[-1]) == (0.0, 1.0)
    assert places == sorted(places)
    first, second = (place(one.end or 0) - place(one.begin or 0) for one in some if one.kind == "body")
    assert first == second > 0.2, "each body ran a second of two"
    assert axis([TaskSpan(depth=0, kind="task", task="t", label="t", begin=5.0, end=None)])(5.0) == 0.0


def depths(some: list[dict[str, Any]], root: str = "root") -> list[tuple[str, int]]:
    """The tasks of a tree with their depths."""
    return [(one.label, one.depth) for one in spans(some, root) if one.kind == "task"]


def test_the_first_eight_publications_of_each_attempt_are_known_by_their_ids() -> None:
    inner = [one | {"retries": 2} if one["type"] == "task-received" else one for one in ran("inner", "root", 101.0)]
    for position in (1, "8", "2/1", "2/8"):
        called = ran("called", derived_id("inner", position), 103.0)
        assert depths([*CANVAS[:4], *inner, *called])[-1] == ("shop.called", 4), position
    for position in (0, 9, "1/1", "2/9"):
        called = ran("called", derived_id("inner", position), 103.0)
        assert depths([*CANVAS[:4], *inner, *called])[-1] == ("shop.called", 2), position


def test_a_task_with_a_derived_id_is_itself_the_parent_of_what_it_published() -> None:
    first = derived_id("root", 1)
    some = [*CANVAS[:4], *ran(first, "root", 101.0), *ran("child", first, 102.5), *ran("hears", derived_id("root", 2), 103.0)]
    assert depths(some) == [("shop.root", 0), (f"shop.{first}", 2), ("shop.child", 4), ("shop.hears", 2)]


def test_a_task_that_names_itself_as_its_parent_is_below_the_root() -> None:
    assert depths([*CANVAS[:4], *ran("own", "own", 110.0)]) == [("shop.root", 0), ("shop.own", 1)]


def test_events_without_a_task_or_of_another_kind_are_left_out() -> None:
    others = [{"type": "task-sent", "root_id": "root"}, {"type": "worker-busy", "uuid": "root"}]
    assert spans([*CANVAS, *others], "root") == spans(CANVAS, "root")


def test_a_task_has_the_worker_and_the_error_of_its_last_attempt_or_none() -> None:
    (whole, *_) = spans([*RETRIED[:3], event("failed", 12.0, exception="E()")], "root")
    assert (whole.state, whole.worker, whole.error, whole.end) == ("FAILURE", "a", "E()", 12.0)
    (alone,) = spans([event("sent", 1.0)], "root")
    assert (alone.label, alone.state, alone.worker, alone.error, alone.end) == ("?", "PENDING", "", "", None)


def test_what_is_published_at_the_first_and_the_last_moment_of_a_body_or_in_one_that_runs_is_below_its_attempt() -> None:
    for moment, depth in ((101.0, 2), (105.0, 2), (100.5, 1), (105.5, 1)):
        assert depths([*CANVAS[:4], *ran("child", "root", moment)])[-1] == ("shop.child", depth), moment
    assert depths([*CANVAS[:3], *ran("child", "root", 500.0)])[-1] == ("shop.child", 2)


def test_a_wait_is_shown_when_both_of_its_ends_are_known_and_a_body_when_it_began() -> None:
    received, started = event("received", 11.0, retries=0), event("started", 12.0)
    assert [one.kind for one in spans([received, started], "root")] == ["task", "attempt", "body"]
    assert [one.kind for one in spans([received], "root")] == ["task", "attempt"]
    found = spans([event("sent", 10.0), started], "root")
    assert [(one.kind, one.begin) for one in found] == [("task", 10.0), ("attempt", 12.0), ("body", 12.0)]


def test_a_hold_belongs_to_the_wait_in_which_it_began() -> None:
    again = event("received", 70.0, retries=1)
    at_receipt = [*RETRIED[:4], event("held", 11.0, until=15.0), again]
    assert [one.kind for one in spans(at_receipt, "root")] == ["task", "queue", "attempt", "body", "retry", "held", "attempt"]
    at_second = [*RETRIED[:4], again, event("held", 70.0, until=75.0)]
    assert [(one.kind, one.depth) for one in spans(at_second, "root")[-2:]] == [("attempt", 1), ("held", 1)]
    unreceived = [event("sent", 0.0), event("started", 0.25), event("held", 0.5), event("failed", 0.75), event("received", 2.0, retries=1)]
    assert [one.kind for one in spans(unreceived, "root")] == ["task", "attempt", "body", "retry", "held", "attempt"]
    unstarted = [event("sent", 0.0), event("held", 0.5), event("started", 0.75)]
    assert [one.kind for one in spans(unstarted, "root")] == ["task", "attempt", "body", "held"]
