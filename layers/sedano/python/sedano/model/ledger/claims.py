"""The decision when a claim was refused: the rule of PROTOCOLS §3.3 as one pure function.

Every branch is there because a schedule without it loses or doubles an effect (the exhaustive search of the claim and of the follow-ups):

- A terminal record with this message's id: this message claimed it and answers for the follow-ups; publish them again, acknowledge.
  Another id is a copy: acknowledge without more, so one duplicate never walks a finished chain again.
- A terminal record without a message's id: no message ended it, a revocation did; so every message of the task publishes the follow-ups.
- Marked as revoked while an earlier attempt ran, and without a holder now: end it, under the claim that was seen where there is one.
- RETRY beyond this attempt: likewise, publish the retry again when the claim was mine.
- RUNNING at a later attempt: mine is over. Never steal across retries: the message that would answer for the follow-ups is gone.
- RUNNING, this attempt, my nonce: my write arrived and its answer was lost. It is mine.
- RUNNING, this attempt, not expired: someone works on it. Never acknowledge; retry when the claim ends.
- RUNNING, this attempt, expired: the holder is dead or will be refused. Steal, under the exact claim that was seen.
- No record although one must exist: older than what the ledger remembers. Quarantine, never run.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from sedano.model import states
from sedano.model.ledger import dedup_keys as keyed
from sedano.model.ledger.records import Claim, TaskRecord
from sedano.model.messages.lineage import began, begun_id, tried_id
from sedano.model.messages.message import Command


class Action(Enum):
    """The worker's action on a message whose claim was answered."""

    RUN = "run"
    STEAL = "steal"
    FOLLOW_AGAIN = "follow again"
    RETRY_AGAIN = "retry again"
    ACKNOWLEDGE = "acknowledge"
    WAIT = "wait"
    QUARANTINE = "quarantine"
    POISON = "poison"
    REVOKE = "revoke"


class ClaimDecision(NamedTuple):
    """An action, why, and for WAIT the seconds until the claim in the way ends."""

    action: Action
    reason: str
    seconds: float = 0.0


CUT_OFF = "the body takes longer than its function's time limit, or it ends its process"
"""The origins of an attempt that leaves no record."""
RUN = ClaimDecision(Action.RUN, "granted")


def decide(claim: Claim, record: TaskRecord | None, now: float, most_claims: int) -> ClaimDecision:
    """Return what follows when *claim* was refused by *record* at *now* (epoch seconds).

    *most_claims* is the number of claims of one attempt beyond which a task counts as poison: it keeps killing its worker.
    """
    if record is None:
        return ClaimDecision(Action.QUARANTINE, "no record")
    if record.state in states.TERMINAL:
        mine = record.message_id in ("", claim.message_id)
        return ClaimDecision(Action.FOLLOW_AGAIN, "done") if mine else ClaimDecision(Action.ACKNOWLEDGE, "copy of a finished task")
    if record.attempt > claim.attempt:
        mine = record.state == states.RETRY and record.message_id == claim.message_id
        return ClaimDecision(Action.RETRY_AGAIN, "retried") if mine else ClaimDecision(Action.ACKNOWLEDGE, "a later attempt has begun")
    if record.attempt < claim.attempt:
        return ClaimDecision(Action.WAIT, "an earlier attempt is not recorded yet", 1.0)
    if record.state != states.RUNNING and record.asked:
        return ClaimDecision(Action.REVOKE, "revoked while it ran")
    if record.state != states.RUNNING:
        return ClaimDecision(Action.WAIT, "its next try is not due, or the record changed meanwhile", max(0.0, record.not_before - now))
    return _running(claim, record, now, most_claims)


def begun_by(command: Command) -> str:
    """Return the id of the message that began a canvas with the task of *command*, which is that message or tries it again; else ""."""
    if command.place is None:
        return ""
    begun = begun_id(command.task_id, command.place.node, command.place.plan)
    return begun if command.id == (tried_id(begun, command.attempt) if command.attempt else begun) else ""


def is_another(command: Command, record: TaskRecord) -> bool:
    """Return whether *record* is not a run of the task that *command* asks for: it is of another task, or of another canvas under the same
    id.

    A message that begins a canvas has an id of that canvas, and so have those that try its first task again. For a later attempt nothing
    more is certain: the replacement of a task has its id by right, and any name. A keyed call is distinguished by its arguments
    (`model.ledger.dedup_keys`).
    """
    if record.attempt == command.attempt and record.name not in ("", command.task):
        return True
    if keyed.is_of_another(keyed.keyed_by(command), record):
        return True
    if command.attempt or not begun_by(command) or not record.message_id:
        return False
    last = record.attempt - (record.state == states.RETRY)
    begun = began(record.message_id, last) if last else record.message_id
    return begun not in ("", command.id)


def _running(claim: Claim, record: TaskRecord, now: float, most_claims: int) -> ClaimDecision:
    if record.nonce == claim.nonce:
        return RUN
    if now <= record.expires:
        return ClaimDecision(Action.WAIT, "running elsewhere", record.expires - now)
    if record.asked:
        return ClaimDecision(Action.REVOKE, "revoked while it ran, and the claim expired")
    if record.claims >= most_claims:
        return ClaimDecision(Action.POISON, f"{record.claims} claims of one attempt ended without a record; {CUT_OFF}")
    return ClaimDecision(Action.STEAL, "the claim expired")
