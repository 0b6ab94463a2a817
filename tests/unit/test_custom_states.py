"""Custom states: which names and values a body may show, and whose they are."""

from typing import Any

import pytest

from sedano.errors import OptionError, TooLarge
from sedano.model import states
from sedano.model.ledger.custom_states import MOST_BYTES, CustomState, custom_state_of, custom_state_text
from sedano.model.ledger.records import TaskRecord


def running(custom: str, fence: int = 3, state: states.TaskState = states.RUNNING) -> TaskRecord:
    """The record of a task that runs."""
    return TaskRecord("t", state, fence=fence, custom=custom)


def test_the_text_names_the_claim_the_state_and_its_meta() -> None:
    assert custom_state_text(3, "PROGRESS", {"done": 1, "of": [2, None]}) == '[3,"PROGRESS",{"done":1,"of":[2,null]}]'
    assert custom_state_text(0, "A", None) == custom_state_text(0, "A", {}) == '[0,"A",{}]'
    assert custom_state_of(running('[3,"PROGRESS",{"done":1}]')) == CustomState("PROGRESS", {"done": 1})


@pytest.mark.parametrize("state", ["progress", "", "A B", "1A", "_A", "A" * 41, "PROGR\u00c9SS", None, 7])
def test_what_is_no_name_of_a_state_is_refused(state: Any) -> None:
    words = "is not the name of a state; give a name of your own in capitals, such as 'PROGRESS'"
    with pytest.raises(OptionError, match=f"^state: .* {words}$"):
        custom_state_text(1, state, None)


def test_the_longest_name_and_one_with_digits_are_taken() -> None:
    for state in ("A" * 40, "STEP_2"):
        assert custom_state_text(1, state, None) == f'[1,"{state}",{{}}]'


@pytest.mark.parametrize("state", [*states.ROWS, "RECEIVED", "STARTED", "REJECTED", "IGNORED"])
def test_a_state_of_the_tasks_life_is_refused(state: str) -> None:
    with pytest.raises(OptionError, match=f"^state: '{state}' is a state of the task's life, which its worker records; give a name"):
        custom_state_text(1, str(state), None)


@pytest.mark.parametrize("meta", [[1], "x", 7, {1: 2}])
def test_what_is_no_mapping_from_names_is_refused(meta: Any) -> None:
    with pytest.raises(OptionError, match=r"^meta: .* is not a mapping from names to values$"):
        custom_state_text(1, "PROGRESS", meta)


@pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}])
def test_what_json_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(OptionError, match=r"^meta: a value cannot be written as JSON: "):
        custom_state_text(1, "PROGRESS", {"value": value})


def test_a_meta_that_holds_itself_is_refused() -> None:
    meta: dict[str, Any] = {}
    meta["meta"] = meta
    with pytest.raises(OptionError, match=r"^meta: a value cannot be written as JSON: "):
        custom_state_text(1, "PROGRESS", meta)


def test_the_text_has_at_most_its_bytes() -> None:
    spare = MOST_BYTES - len(custom_state_text(1, "PROGRESS", {"a": ""}))
    assert len(custom_state_text(1, "PROGRESS", {"a": "x" * spare})) == MOST_BYTES == 1_000
    with pytest.raises(TooLarge, match=r"^meta: 1001 bytes as JSON; a state and its meta may have 1000 together$"):
        custom_state_text(1, "PROGRESS", {"a": "x" * (spare + 1)})


@pytest.mark.parametrize(
    "record",
    [
        running(""), running('[2,"PROGRESS",{}]'), running('[3,"PROGRESS",{}]', state=states.RETRY),
        running('[3,"PROGRESS",{}]', state=states.SUCCESS), running("{"), running("[3]"), running("[3,4,{}]"), running('[3,"A",[]]'),
        running("7"), running("null"), running('[3,"A",{},1]'), running("[" * 100_000),
    ],
)  # fmt: skip
def test_what_another_claim_showed_or_cannot_be_read_is_not_shown(record: TaskRecord) -> None:
    assert custom_state_of(record) is None
