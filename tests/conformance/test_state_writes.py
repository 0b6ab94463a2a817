"""Every state × every write to a task's record: what becomes of it is what `states.ROWS` says, on every store."""

from collections.abc import Callable

import pytest

from sedano.model import states
from sedano.model.ledger.records import TERMINATE, Claim, Extension, Outcome, TaskRecord
from sedano.model.states import TaskState
from sedano.ports import Ledger
from tests.conformance.tasks import CLAIM, NOW, claimed, retry, rival, success
from tests.conformance.worlds import World

LATER = NOW + 1_000
Write = Callable[[Ledger, TaskRecord, Claim], object]
ENDS = sorted(states.TERMINAL)


def _holder(record: TaskRecord, claim: Claim, state: TaskState) -> Outcome:
    """The outcome *state* as the holder of *record* writes it."""
    outcome = success(claim, state=state, result=None) if state != states.RETRY else retry(claim)
    return outcome._replace(nonce=record.nonce, fence=record.fence, attempt=record.attempt, next_attempt=record.attempt + 1)


WRITES: dict[str, Write] = {
    "claim": lambda ledger, record, claim: ledger.claim([rival(claim, attempt=record.attempt)]),
    "claim of another attempt": lambda ledger, record, claim: ledger.claim([rival(claim, attempt=record.attempt + 5)]),
    "steal": lambda ledger, record, claim: ledger.steal(rival(claim, attempt=record.attempt, expires=LATER + 60), record),
    "extend": lambda ledger, record, claim: ledger.extend([Extension(claim.task_id, record.nonce, record.fence, LATER)]),
    "reserve": lambda ledger, _, claim: ledger.reserve(claim.task_id, "another", LATER, LATER + 60),
    "revoke": lambda ledger, _, claim: ledger.revoke(claim.task_id, claim.clock + 9, LATER),
    "ask": lambda ledger, _, claim: ledger.ask(claim.task_id, TERMINATE),
    "forget": lambda ledger, _, claim: ledger.forget([claim.task_id]),
    **{f"record {end}": lambda ledger, record, claim, end=end: ledger.record([_holder(record, claim, end)])
       for end in (*ENDS, states.RETRY)},
    **{f"keep {end}": lambda ledger, record, claim, end=end: ledger.keep([
        success(claim, state=end, nonce="c" * 32, attempt=record.attempt)]) for end in ENDS},
}  # fmt: skip


def bring(ledger: Ledger, claim: Claim, state: TaskState) -> TaskRecord:
    """Bring the task of *claim* into *state*, and return its record."""
    if state == states.PENDING:
        ledger.reserve(claim.task_id, claim.message_id, NOW, NOW + 60)
    else:
        record = claimed(ledger, claim)
        if state != states.RUNNING:
            ledger.record([_holder(record, claim, state)])
    found = ledger.read([claim.task_id])[claim.task_id]
    assert found.state == state
    return found


def becomes(world: World, state: TaskState, write: str) -> TaskState:
    """Return the state after *write* on a task of its own in *state*."""
    claim = CLAIM._replace(task_id=f"{state} and {write}")
    before = bring(world.ledger, claim, state)
    WRITES[write](world.ledger, before, claim)
    return world.ledger.read([claim.task_id])[claim.task_id].state


@pytest.mark.parametrize("state", list(TaskState))
def test_no_write_makes_of_a_state_what_its_row_does_not_name(world: World, state: TaskState) -> None:
    after = {write: becomes(world, state, write) for write in WRITES}
    allowed = {state, *states.ROWS[state].follows}
    assert {write: end for write, end in after.items() if end not in allowed} == {}


def test_some_write_makes_each_change_that_a_row_names(world: World) -> None:
    by_claim = {states.RUNNING: "claim", states.RETRY: "record RETRY"}
    named = {(before, after) for before, row in states.ROWS.items() for after in row.follows}
    made = set()
    for before, after in named:
        write = by_claim.get(after) or (f"record {after}" if before == states.RUNNING else f"keep {after}")
        made.add((before, becomes(world, before, "steal" if (before, after) == (states.RUNNING, states.RUNNING) else write)))
    assert made == named
