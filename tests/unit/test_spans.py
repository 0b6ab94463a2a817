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
