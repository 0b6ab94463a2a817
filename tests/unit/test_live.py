"""The live view: any order, any repetition, any mixture of the same events gives one state, which is what the registers say."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.model.cluster.members import HEARTBEAT, OFFLINE, ONLINE, WORKER_LOST
from sedano.model.history.live_state import SAID_OF_WORKERS, LiveState
from sedano.model.history.registers import finalise, fold

KINDS = ("task-sent", "task-received", "task-started", "task-succeeded", "task-failed", "task-retried", *SAID_OF_WORKERS)

events = st.builds(
    lambda kind, uuid, clock, host: {
        "type": kind, "uuid": uuid, "clock": clock, "timestamp": clock / 10, "hostname": host, "pid": 1, "name": f"task of {uuid}",
    },
    st.sampled_from(KINDS), st.sampled_from("tuv"), st.integers(0, 9), st.sampled_from(["a", "b"]),
)  # fmt: skip
streams = st.lists(events, max_size=30)


def told(state: LiveState) -> tuple[object, object]:
    """Everything that a state tells."""
    return state.tasks_by_time(), state.workers


@given(streams, st.integers())
def test_order_and_repetition_change_nothing(stream: list[dict[str, object]], seed: int) -> None:
    shuffled = stream + stream[::2]
    random.Random(seed).shuffle(shuffled)
    assert told(LiveState().events(shuffled)) == told(LiveState().events(stream))


@given(streams, streams)
def test_two_states_merged_are_the_state_of_both_streams(left: list[dict[str, object]], right: list[dict[str, object]]) -> None:
    merged = LiveState().events(left)
    merged.merge(LiveState().events(right))
    assert told(merged) == told(LiveState().events(left + right))


@given(streams)
def test_the_live_view_says_what_the_registers_say(stream: list[dict[str, object]]) -> None:
    state, folded = LiveState().events(stream), fold(stream)[0]
    assert {task.uuid: task for task in state.tasks_by_time()} == {uuid: finalise(registers) for uuid, registers in folded.items()}
    assert sum(state.states().values()) == len(folded)


def test_tasks_are_told_by_time_by_worker_and_by_type() -> None:
    def event(kind: str, uuid: str, clock: int, **fields: object) -> dict[str, object]:
        return {"type": kind, "uuid": uuid, "clock": clock, "timestamp": 1.0, "hostname": "w1", "pid": 1, **fields}

    state = LiveState().events([
        event("task-received", "t1", 1, name="add"), event("task-received", "t2", 2, name="mul"),
        event("task-succeeded", "t1", 3, hostname="w2", runtime=0.5, result=None),
    ])  # fmt: skip
    assert [task.uuid for task in state.tasks_by_time()] == ["t1", "t2"]
    assert [task.uuid for task in state.tasks_by_time(1)] == ["t1"]
    assert [task.uuid for task in state.tasks_by_worker("w2")] == ["t1"]
    assert [task.uuid for task in state.tasks_by_type("mul")] == ["t2"]
    assert state.task_types() == ["add", "mul"]
    assert state.states() == {"SUCCESS": 1, "RECEIVED": 1}


@pytest.mark.parametrize(("last", "alive"), [(ONLINE, ["a"]), (HEARTBEAT, ["a"]), (OFFLINE, []), (WORKER_LOST, [])])
def test_a_worker_is_alive_until_it_is_said_to_be_gone(last: str, alive: list[str]) -> None:
    said = [{"type": kind, "clock": n, "timestamp": 1.0, "hostname": "a", "pid": 1} for n, kind in enumerate([OFFLINE, ONLINE, last])]
    assert LiveState().events(said).alive_workers() == LiveState().events(reversed(said)).alive_workers() == alive


def test_an_event_without_a_place_in_the_order_is_refused() -> None:
    with pytest.raises(ValueError, match="clock"):
        LiveState().event({"type": ONLINE, "hostname": "a", "pid": 1, "timestamp": 1.0})


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^an event is an object, not list$"):
        LiveState().event(["task-sent"])
