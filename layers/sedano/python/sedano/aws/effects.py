"""Effects in DynamoDB: the record and the user's own writes in one TransactWriteItems, the record first.

The cancellation reasons, by their places, determine the answer. A refusal of the record takes precedence over all others, and its marks
show whether an earlier try of the same write succeeded. Otherwise the first refused effect becomes `EffectRefused`. A conflict with another
transaction and throttling are tried again under the same token; after the last try they become `Unavailable`, which never ends a task.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from botocore.exceptions import ClientError

from sedano.aws import failures
from sedano.aws import ledger_items as items
from sedano.aws.client import keys
from sedano.aws.client.error_codes import LATER
from sedano.aws.client.faults import AWS_ERRORS, fault, meaning_of, reasons_of
from sedano.aws.client.table import PATIENCE_S, tries
from sedano.aws.expressions import tasks
from sedano.aws.expressions.effects import attributes, part, row_of
from sedano.aws.ledger import is_own
from sedano.errors import ConfigurationError, EffectRefused, SedanoError, TooLarge, Unavailable
from sedano.model.canonical_json import canonical_json
from sedano.model.effects import Row, TableWrite
from sedano.model.ledger import outcome_text as tail
from sedano.model.ledger.records import Outcome, RecordAnswer, Recorded

_REFUSED = "ConditionalCheckFailed"
_IMPOSSIBLE = "ValidationError"
_CALL = "dynamodb.TransactWriteItems"


class DynamoEffects:
    """The user's own tables, written together with the ledger.

    Args:
        client: a botocore DynamoDB client.
        ledger: the ledger table's name.
        tables: the name or the ARN of each declared table, by the name that the app declares.
        pauses: seconds between the tries of a transaction that conflicts with another one.
    """

    def __init__(self, client: Any, ledger: str, tables: Mapping[str, str], pauses: Iterable[float] = PATIENCE_S) -> None:
        """Use these tables; no call is made yet."""
        self._client, self._ledger, self._tables, self._pauses = client, ledger, tables, tuple(pauses)

    def record(self, outcome: Outcome, effects: Sequence[TableWrite], *, claimed: bool) -> RecordAnswer | EffectRefused:
        """Record *outcome* and make all *effects* in one transaction."""
        text = tail.write(outcome)
        too_large = tail.too_large(outcome, text)
        if too_large is not None:
            return too_large
        plain, mark = (tasks.RECORD, {":att": {"N": str(outcome.fence)}}) if claimed else (tasks.KEEP, {":mid": {"S": outcome.message_id}})
        write, entry = failures.indexed(plain, outcome)
        values = {**write.values, **items.outcome_values(outcome, text), **mark, **entry}
        key = {"pk": {"S": keys.task(outcome.task_id)}}
        own = {"Update": {"TableName": self._ledger, "Key": key, "ExpressionAttributeValues": values, **write.parameters}}
        parts = [own, *(part(effect, self._name(effect.table)) for effect in effects)]
        try:
            error = self._transact(parts)
        except (Unavailable, TooLarge) as found:
            return found.as_answer()
        return Recorded(True) if error is None else self._refused(error, outcome, effects, claimed)

    def read(self, table: str, key: Row) -> Row | None:
        """Return the item at *key*, strongly consistent."""
        try:
            answer = self._client.get_item(TableName=self._name(table), Key=attributes(key), ConsistentRead=True)
        except AWS_ERRORS as error:
            raise fault(error, "dynamodb.GetItem") from error
        return row_of(answer["Item"]) if "Item" in answer else None

    def _name(self, table: str) -> str:
        if table not in self._tables:
            raise ConfigurationError(f"the table {table} is not in SEDANO_TABLES; give its name or ARN there: {{{json.dumps(table)}: …}}")
        return self._tables[table]

    def _transact(self, parts: list[dict[str, Any]]) -> ClientError | None:
        """Make all of *parts* or none; return None on success, else the error whose reasons contain a refusal."""
        token = sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]
        failed: SedanoError = Unavailable(f"{_CALL}: it was not called")
        for _ in tries(self._pauses):
            try:
                self._client.transact_write_items(TransactItems=parts, ClientRequestToken=token)
            except AWS_ERRORS as error:
                if isinstance(error, ClientError) and not {_REFUSED, _IMPOSSIBLE}.isdisjoint(reasons_of(error)):
                    return error
                failed = fault(error, _CALL)
                failed.__cause__ = error
                if meaning_of(error) != LATER:
                    break
            else:
                return None
        raise failed

    @staticmethod
    def _refused(error: ClientError, outcome: Outcome, effects: Sequence[TableWrite], claimed: bool) -> RecordAnswer | EffectRefused:
        reasons: Any = error.response.get("CancellationReasons", ())  # missing in the type stubs
        if reasons[0].get("Code") == _REFUSED:
            if "Item" not in reasons[0]:
                return Recorded(False)
            record = items.record(outcome.task_id, reasons[0]["Item"])
            return Recorded(True) if is_own(outcome, record, claimed=claimed) else Recorded(False, record)
        for number, effect in enumerate(effects):
            code = reasons[number + 1].get("Code")
            if code in (_REFUSED, _IMPOSSIBLE):
                why = "its condition does not hold" if code == _REFUSED else str(reasons[number + 1].get("Message", code))
                return EffectRefused(number, effect.table, canonical_json(effect.key), why)
        raise fault(error, _CALL) from error
