"""Every state × every write to a task's record: what becomes of it is what `states.ROWS` says, on every store."""

from collections.abc import Callable

import pytest

from sedano.model import states
from sedano.model.ledger.records import TERMINATE, Extension, TaskRecord
from sedano.model.states import TaskState
from sedano.ports import Ledger
from tests.conformance.tasks import CLAIM, NOW, claimed, retry, rival, success
from tests.conformance.worlds import World

LATER = NOW + 1_000
Write = Callable[[Ledger, TaskRecord], object]
ENDS = sorted(states.TERMINAL)


def _holder(record: TaskRecord, state: TaskState) -> object:
    """The outcome *state* as the holder of *record* writes it."""
    outcome = success(state=state, result=None) if state != states.RETRY else retry()
    return outcome._replace(nonce=record.nonce, fence=record.fence, attempt=record.attempt, next_attempt=record.attempt + 1)


WRITES: dict[str, Write] = {
    "claim": lambda ledger, record: ledger.claim([rival(attempt=record.attempt)]),
    "claim of another attempt": lambda ledger, record: ledger.claim([rival(attempt=record.attempt + 5)]),
    "steal": lambda ledger, record: ledger.steal(rival(attempt=record.attempt, expires=LATER + 60), record),
    "extend": lambda ledger, record: ledger.extend([Extension(record.task_id, record.nonce, record.fence, LATER)]),
    "reserve": lambda ledger, record: ledger.reserve(record.task_id, "another", LATER, LATER + 60),
    "revoke": lambda ledger, record: ledger.revoke(record.task_id, CLAIM.clock + 9, LATER),
    "ask": lambda ledger, record: ledger.ask(record.task_id, TERMINATE),
    "forget": lambda ledger, record: ledger.forget([record.task_id]),
    **{f"record {end}": lambda ledger, record, end=end: ledger.record([_holder(record, end)]) for end in (*ENDS, states.RETRY)},
    **{f"keep {end}": lambda ledger, record, end=end: ledger.keep([success(state=end, nonce="c" * 32, attempt=record.attempt)])
       for end in ENDS},
}  # fmt: skip


def bring(ledger: Ledger, state: TaskState) -> TaskRecord:
    """Bring the task into *state*, and return its record."""
    if state == states.PENDING:
        ledger.reserve(CLAIM.task_id, CLAIM.message_id, NOW, NOW + 60)
    else:
        record = claimed(ledger)
        if state != states.RUNNING:
            ledger.record([_holder(record, state)])
    found = ledger.read([CLAIM.task_id])[CLAIM.task_id]
    assert found.state == state
    return found


def becomes(world: World, state: TaskState, write: str) -> TaskState:
    """Return the state after *write* on a task in *state*."""
    before = bring(world.ledger, state)
    WRITES[write](world.ledger, before)
    return world.ledger.read([CLAIM.task_id])[CLAIM.task_id].state


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("state", list(TaskState))
def test_no_write_makes_of_a_state_what_its_row_does_not_name(world: World, state: TaskState, write: str) -> None:
    after = becomes(world, state, write)
    assert after == state or after in states.ROWS[state].follows


@pytest.mark.parametrize(("before", "after"), [(before, after) for before, row in states.ROWS.items() for after in sorted(row.follows)])
def test_some_write_makes_each_change_that_a_row_names(world: World, before: TaskState, after: TaskState) -> None:
    writes = {
        states.RUNNING: "steal" if before == states.RUNNING else "claim",
        states.RETRY: "record RETRY",
    }
    write = writes.get(after) or (f"record {after}" if before == states.RUNNING else f"keep {after}")
    assert becomes(world, before, write) == after
