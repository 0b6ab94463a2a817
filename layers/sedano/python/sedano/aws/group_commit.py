"""Group commit: the ledger that makes one `BatchExecuteStatement` of the claims of a batch, and one of the records that it gets together.

Each statement has its own condition and its own answer, so no task depends on another. A statement is believed only if DynamoDB says that
it was carried out, or returns the item that shows it. Any other answer, and no answer, means "unknown": the task takes the way of
`DynamoLedger` under the same nonce, whose write recognises what the statement has written. So a refused, throttled or lost statement costs
a second write of that task and changes nothing else.

Alone, as in `DynamoLedger`: a single claim or record, a second one of the same task, a claim that needs a record (`must_exist`), the claim
of a task that left a pack (its first fence is the second one, and INSERT writes the first), packs (their records have marks), an outcome
with an entry in the index of failures, and one that is large.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from sedano.aws import ledger_items as items
from sedano.aws.client import keys
from sedano.aws.client.error_codes import CONFIG
from sedano.aws.client.faults import AWS_ERRORS, code_of, fault, verdict
from sedano.aws.expressions.statements import END, INSERT, MOST, Statement
from sedano.aws.ledger import LANES, DynamoLedger, is_own
from sedano.errors import ConfigurationError
from sedano.model import states
from sedano.model.ledger import outcome_text as tail
from sedano.model.ledger.failures import failed_task
from sedano.model.ledger.records import Claim, ClaimAnswer, Claimed, Outcome, RecordAnswer, Recorded, TaskRecord
from sedano.model.messages.message import PACK

Item = TypeVar("Item", Claim, Outcome)
Answer = TypeVar("Answer")
Reply = Mapping[str, Any]

CALL = "dynamodb.BatchExecuteStatement"
MOST_BYTES, ALONE_BYTES = 256 * 1024, 64 * 1024
"""The most characters of results, errors and outboxes in one call, and of an outcome in a call with others: small outcomes do not wait for
large ones."""
REFUSED = "ConditionalCheckFailed"
_FATAL = frozenset({"AccessDenied", "AccessDeniedException", "ResourceNotFound", "ResourceNotFoundException"})
_TAKEN = Recorded(True)


class Together(NamedTuple):
    """One statement of a call: the *number* of its task among the given ones, its *values* by name, and the *bytes* that it adds."""

    number: int
    values: items.Values
    bytes: int = 0


class GroupCommitLedger(DynamoLedger):
    """`DynamoLedger` with group commit.

    Raises:
        ConfigurationError: the table's name cannot be written in a statement, or the role lacks `dynamodb:PartiQLInsert` or
            `dynamodb:PartiQLUpdate`.
    """

    def __init__(self, client: Any, table: str, lanes: int = LANES, now: Callable[[], float] = time.time) -> None:
        """Use *table* through *client*; no call is made yet."""
        super().__init__(client, table, lanes, now)
        if '"' in table:
            raise ConfigurationError(f"SEDANO_LEDGER_TABLE: {table!r} is not the name of a table")
        self._client = client
        self._insertion, self._ending = _Prepared(INSERT.of(table)), _Prepared(END.of(table))

    def claim(self, claims: Sequence[Claim]) -> list[ClaimAnswer]:
        """Grant each claim as `DynamoLedger` does; those of tasks without a record by one call."""
        together = [Together(number, _inserted(claims[number])) for number in _first(claims) if _is_new(claims[number])]
        return self._answers(claims, self._insertion, together, _granted, super().claim)

    def record(self, outcomes: Sequence[Outcome]) -> list[RecordAnswer]:
        """Record each outcome as `DynamoLedger` does, those that need no entry in an index by one call."""
        together = [part for number in _first(outcomes) if (part := _part(number, outcomes[number])) is not None]
        return self._answers(outcomes, self._ending, together, _recorded, super().record)

    def _answers(
        self, given: Sequence[Item], prepared: _Prepared, together: Sequence[Together],
        read: Callable[[Item, Reply], Answer | None], singly: Callable[[Sequence[Item]], list[Answer]],
    ) -> list[Answer]:  # fmt: skip
        """Return the answers for *given*: of the parts that go *together*, as *read* from the replies, and of all others *singly*."""
        known: dict[int, Answer] = {}
        if len(together) > 1:
            calls = _calls(together)
            found = self._lanes.each(lambda call: self._executed(prepared, call), calls, [str(call[0].number) for call in calls])
            for call, replies in zip(calls, found, strict=True):
                for part, reply in zip(call, replies, strict=True):
                    answer = read(given[part.number], reply)
                    if answer is not None:
                        known[part.number] = answer
        left = [number for number in range(len(given)) if number not in known]
        if left:
            known.update(zip(left, singly([given[number] for number in left]), strict=True))
        return [known[number] for number in range(len(given))]

    def _executed(self, prepared: _Prepared, call: Sequence[Together]) -> Sequence[Reply]:
        """Return what DynamoDB replied to each part of *call*; without replies to all, that nothing is known of any.

        Raises:
            ConfigurationError: the role may not do it, or there is no such table.
        """
        unknown: Sequence[Reply] = [{"Error": {}}] * len(call)
        try:
            answer = self._client.batch_execute_statement(Statements=[prepared.statement(part.values) for part in call])
        except AWS_ERRORS as error:
            if _stops_all(error):
                raise fault(error, CALL) from error
            return unknown
        replies: Sequence[Reply] = answer.get("Responses", ())
        if len(replies) != len(call):
            return unknown  # replies are matched by position, so all must be there
        for reply in replies:
            if (code := str(reply.get("Error", {}).get("Code", ""))) in _FATAL:
                raise verdict(CALL, "AccessDeniedException" if "Denied" in code else code, reply["Error"].get("Message", ""), CONFIG)
        return replies


class _Prepared:
    """A statement whose parameters are picked from values by name."""

    __slots__ = ("_call", "_fixed", "_picked")

    def __init__(self, statement: Statement) -> None:
        """Prepare *statement*."""
        self._picked = itemgetter(*statement.parameters)
        returned = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"} if statement.returns else {}
        self._call: dict[str, Any] = {"Statement": statement.text, **returned}
        self._fixed: items.Values = {":running": {"S": str(states.RUNNING)}, ":one": {"N": "1"}}

    def statement(self, values: items.Values) -> dict[str, Any]:
        """Return the statement with *values*."""
        return {**self._call, "Parameters": list(self._picked({**values, **self._fixed}))}


def _first(given: Sequence[Item]) -> list[int]:
    """Return the numbers of those that are the first of their task: DynamoDB refuses a call with two writes of one item."""
    seen: dict[str, int] = {}
    for number, one in enumerate(given):
        seen.setdefault(one.task_id, number)
    return list(seen.values())


def _is_new(claim: Claim) -> bool:
    return claim.attempt == 0 and not claim.must_exist and not claim.left and claim.name != PACK


def _inserted(claim: Claim) -> items.Values:
    values = items.claim_values(claim)
    values[":pk"], values[":try"] = {"S": keys.task(claim.task_id)}, {"N": "0"}
    return values


def _part(number: int, outcome: Outcome) -> Together | None:
    """Return the statement of *outcome*; None if it goes alone."""
    if outcome.name == PACK or failed_task(outcome) is not None:
        return None
    text = tail.write(outcome)
    length = len(text) + len(outcome.result or "")
    if length > ALONE_BYTES or tail.too_large(outcome, text) is not None:
        return None
    values = items.outcome_values(outcome, text)
    values[":pk"], values[":att"] = {"S": keys.task(outcome.task_id)}, {"N": str(outcome.fence)}
    return Together(number, values, length)


def _calls(parts: Sequence[Together]) -> list[list[Together]]:
    """Return *parts* in as few calls as their number and their bytes allow."""
    calls: list[list[Together]] = [[]]
    length = 0
    for part in parts:
        if len(calls[-1]) == MOST or (calls[-1] and length + part.bytes > MOST_BYTES):
            calls.append([])
            length = 0
        calls[-1].append(part)
        length += part.bytes
    return calls


def _stops_all(error: Exception) -> bool:
    """Return whether no task of the call can be written singly either: a denied action, a missing table, unknown credentials."""
    return code_of(error) != "ValidationException" and isinstance(fault(error, CALL), ConfigurationError)


def _granted(claim: Claim, reply: Reply) -> ClaimAnswer | None:
    """Return the grant of *claim* if it was inserted: the record is what INSERT wrote. None: unknown."""
    if "Error" in reply:
        return None
    expires = round(claim.expires * 1000) / 1000
    return Claimed(True, TaskRecord(
        task_id=claim.task_id, state=states.RUNNING, fence=1, claims=1, nonce=claim.nonce, message_id=claim.message_id, expires=expires,
        clock=claim.clock, name=claim.name, owner=claim.owner,
    ))  # fmt: skip


def _recorded(outcome: Outcome, reply: Reply) -> RecordAnswer | None:
    """Return the answer for *outcome*, by the item of a refused one; None: unknown."""
    error = reply.get("Error")
    if error is None:
        return _TAKEN
    if error.get("Code") != REFUSED or not error.get("Item"):
        return None
    record = items.record(outcome.task_id, error["Item"])
    return _TAKEN if is_own(outcome, record, claimed=True) else Recorded(False, record)
