"""The event of a change: what a person did survives the way into the history, bounded and inert, and no other reader counts it."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.model.history.live_state import LiveState
from sedano.model.history.run_rows import Chronicle, Host, unpack
from sedano.model.history.stage_changes import MOST_TEXT, MOST_WHAT, STAGE_CHANGED, StageChange, fields, stage_change, stage_changes

FIRST = 4_000_000_000_000_000
"""A clock that is later than each moment of these tests."""
texts = st.text(max_size=1_200)
numbers = st.none() | st.integers(0, 10**9)
found = st.builds(StageChange, st.floats(0, 4e9), texts, texts, texts, texts, numbers, numbers, texts)


def event(change: StageChange, clock: int = 1) -> dict[str, Any]:
    """The event of *change* as the recorder writes it."""
    chronicle = Chronicle(Host("operator@desk", 1))
    chronicle.line(STAGE_CHANGED, FIRST + clock, change.at, **fields(change))
    (line,) = unpack(chronicle.pack() or "")
    read: dict[str, Any] = json.loads(json.dumps(line))
    return read


@given(found)
def test_a_change_is_read_as_it_was_written_up_to_the_length_that_is_kept(change: StageChange) -> None:
    read = stage_change(event(change))
    assert read is not None
    assert (read.at, read.changed, read.left) == (change.at, change.changed, change.left)
    kept = change.what.encode("utf-8", "replace").decode()
    assert read.what == kept if len(kept) <= MOST_WHAT else read.what == f"{kept[: MOST_WHAT - 1]}…"
    assert max(len(read.reason), len(read.error)) <= MOST_TEXT
    assert stage_change(event(read)) == read


@given(st.lists(found, max_size=9), st.integers())
def test_the_latest_change_is_first_in_whatever_order_they_are_read(changes: list[StageChange], seed: int) -> None:
    events = [event(change, clock) for clock, change in enumerate(changes)]
    mixed = [*events, {**event(StageChange(1.0, "", "", "", "")), "type": "worker-online"}]
    random.Random(seed).shuffle(mixed)
    assert stage_changes(mixed) == [stage_change(one) for one in reversed(events)]


@pytest.mark.parametrize("wrong", [{"type": "task-sent"}, {"by": 7}, {"what": None}, {"changed": "3"}, {"left": True}, {"reason": []}])
def test_an_event_that_is_not_one_of_a_change_is_passed_over(wrong: dict[str, Any]) -> None:
    whole = event(StageChange(1.0, "ana", "pause", "queue=mail", "bad deploy", 1, 0))
    assert stage_change(whole) is not None
    assert stage_change({**whole, **wrong}) is None


def test_a_change_is_neither_a_task_nor_a_worker() -> None:
    state = LiveState()
    state.event(event(StageChange(1.0, "ana", "pause", "queue=mail", "bad deploy", 1, 0)))
    assert (state.tasks, state.workers) == ({}, {})


def test_a_change_that_counts_nothing_is_read_and_the_latest_of_two_is_first() -> None:
    first = StageChange(1.0, "ana", "pause", "queue=mail", "bad deploy")
    later = StageChange(2.0, "bob", "resume", "queue=mail", "mended", 1, 0)
    assert stage_changes([event(first, 1), event(later, 2)]) == [later, first]


def test_a_text_is_cut_with_a_mark_when_it_is_longer_than_what_is_kept() -> None:
    said = fields(StageChange(1.0, "b" * 100, "v" * 101, "w" * 1_000, "r" * 501, error="e" * 500))
    assert (said["by"], said["verb"]) == ("b" * 100, "v" * 99 + "…")
    assert (said["what"], said["reason"], said["error"]) == ("w" * 1_000, "r" * 499 + "…", "e" * 500)
