"""The decision after a claim was refused: the rule of PROTOCOLS §3.3 as one pure function.

Each branch is necessary: without it, some schedule loses or doubles an effect (the exhaustive search of the claim and of the follow-ups
found one for each):

- A terminal record with this message's id: this message claimed the task and is responsible for the follow-ups; publish them again, then
  acknowledge. A message with another id is a copy: only acknowledge it, so that a duplicate never runs through a finished chain again.
- A record that was claimed inline, under the id that follows from the link of a chain (`sedano.model.inline_links`): no message claimed
  it, so every message of the link is responsible for what follows.
- A terminal record without a message's id: a revocation ended the task, not a message; so every message of the task publishes the
  follow-ups.
- Marked as revoked while an earlier attempt ran, and now without a holder: end it, under the claim that was seen, if there is one.
- RETRY beyond this attempt: the same; publish the retry again if the claim was this message's.
- RUNNING at a later attempt: this attempt is over. Never steal across retries: the message that is responsible for the follow-ups no longer
  exists.
- RUNNING, this attempt, this claim's nonce: the write succeeded and its response was lost. The claim is granted.
- RUNNING, this attempt, not expired: another worker runs it. Never acknowledge; retry when the claim ends.
- RUNNING, this attempt, expired: the holder is dead, or its next write will be refused. Steal, under the exact claim that was seen.
- No record although one must exist: the message is older than the ledger's retention. Quarantine it, never run it.
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
    """The worker's action on a message after the answer to its claim."""

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
    """An action and its reason; for WAIT also the seconds until the other claim ends."""

    action: Action
    reason: str
    seconds: float = 0.0


CUT_OFF = "the body takes longer than its function's time limit, or it ends its process"
"""The possible causes of an attempt that leaves no record."""
RUN = ClaimDecision(Action.RUN, "granted")


def decide(claim: Claim, record: TaskRecord | None, now: float, most_claims: int, inline: str = "") -> ClaimDecision:
    """Return the action if *record* refused *claim* at *now* (epoch seconds).

    *most_claims*: a task with more claims of one attempt counts as poison, because it repeatedly ends its worker. *inline*: the id under
    which the link is claimed inline (`sedano.model.inline_links.inline_id`); "" if it cannot be.
    """
    if record is None:
        return ClaimDecision(Action.QUARANTINE, "no record")
    if record.state in states.TERMINAL:
        if record.followed:
            return ClaimDecision(Action.ACKNOWLEDGE, "done, and its follow-ups were sent")
        mine = record.message_id in ("", claim.message_id, inline)
        return ClaimDecision(Action.FOLLOW_AGAIN, "done") if mine else ClaimDecision(Action.ACKNOWLEDGE, "copy of a finished task")
    if record.attempt > claim.attempt:
        mine = record.state == states.RETRY and record.message_id in (claim.message_id, inline or claim.message_id)
        return ClaimDecision(Action.RETRY_AGAIN, "retried") if mine else ClaimDecision(Action.ACKNOWLEDGE, "a later attempt has begun")
    if record.attempt < claim.attempt:
        return ClaimDecision(Action.WAIT, "an earlier attempt is not recorded yet", 1.0)
    if record.state != states.RUNNING and record.asked:
        return ClaimDecision(Action.REVOKE, "revoked while it ran")
    if record.state != states.RUNNING:
        return ClaimDecision(Action.WAIT, "its next try is not due, or the record changed meanwhile", max(0.0, record.not_before - now))
    return _running(claim, record, now, most_claims)


def begun_by(command: Command) -> str:
    """Return the id of the message that began a canvas with the task of *command*; "" if *command* is neither that message nor a retry of
    it.
    """
    if command.place is None:
        return ""
    begun = begun_id(command.task_id, command.place.node, command.place.plan)
    return begun if command.id == (tried_id(begun, command.attempt) if command.attempt else begun) else ""


def is_another(command: Command, record: TaskRecord) -> bool:
    """Return whether *record* belongs to another task than *command* requests, or to another canvas under the same id.

    The id of a message that begins a canvas is derived from that canvas, and so are the ids of the retries of its first task. A later
    attempt cannot be checked further: the replacement of a task has the same id and may have any name. A keyed call is distinguished by its
    arguments (`model.ledger.dedup_keys`).
    """
    if record.attempt == command.attempt and record.name not in ("", command.task):
        return True
    if keyed.is_of_another(keyed.keyed_by(command), record):
        return True
    if command.attempt or not begun_by(command):
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
