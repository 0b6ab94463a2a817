"""Claims and outcomes to begin a test with; `replace` changes what the test is about."""

from typing import Any

from sedano.model import states
from sedano.model.ledger.records import Claim, ClaimAnswer, Claimed, Outcome, RecordAnswer, Recorded, TaskRecord
from sedano.ports import Ledger

NOW = 1_767_225_600.0
CLAIM = Claim("task-1", 0, "message-1", "a" * 32, NOW + 60.1239, 1_767_225_600_000_001, "shop.add")


def rival(claim: Claim = CLAIM, **changes: Any) -> Claim:
    """Another message's claim of the same task."""
    return claim._replace(**{"message_id": "message-2", "nonce": "b" * 32, **changes})


def success(claim: Claim = CLAIM, fence: int = 1, **changes: Any) -> Outcome:
    """The outcome SUCCESS of *claim*, held under *fence*."""
    outcome = Outcome(
        claim.task_id,
        states.SUCCESS,
        claim.nonce,
        fence,
        claim.message_id,
        claim.attempt,
        claim.clock + 7,
        claim.name,
        NOW + 1,
        result="5",
    )
    return outcome._replace(**changes)


def retry(claim: Claim = CLAIM, fence: int = 1, **changes: Any) -> Outcome:
    """The outcome RETRY of *claim* with its next attempt."""
    return success(
        claim,
        fence,
        **{"state": states.RETRY, "result": None, "next_attempt": claim.attempt + 1, "not_before": NOW + 8.5, **changes},
    )


def claimed(ledger: Ledger, claim: Claim = CLAIM) -> TaskRecord:
    """Claim, and return the record that was granted."""
    return granted(ledger.claim([claim])[0])


def holding(ledger: Ledger, task_id: str) -> int:
    """Hold the task, claiming it unless it is held already, and return the fence."""
    found = ledger.read([task_id]).get(task_id)
    return (found or claimed(ledger, CLAIM._replace(task_id=task_id, nonce="d" * 32))).fence


def granted(answer: ClaimAnswer) -> TaskRecord:
    """The record of a claim that must have been granted."""
    assert isinstance(answer, Claimed)
    assert answer.granted
    assert answer.record is not None
    return answer.record


def in_the_way(answer: ClaimAnswer | RecordAnswer) -> TaskRecord | None:
    """The record that stood in the way of a write that must have been refused."""
    assert isinstance(answer, Claimed | Recorded)
    assert not (answer.granted if isinstance(answer, Claimed) else answer.accepted)
    return answer.record


def accepted(answer: RecordAnswer) -> bool:
    """Whether an outcome was accepted."""
    assert isinstance(answer, Recorded)
    return answer.accepted


def stored(ledger: Ledger, task_id: str = CLAIM.task_id) -> TaskRecord:
    """The record as it is."""
    return ledger.read([task_id])[task_id]
