"""Memos in the control table: `sedano.ports.Memos` by the writes of `sedano.aws.expressions.memos`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sedano.aws.client import keys
from sedano.aws.client.table import Item, Table
from sedano.aws.expressions.memos import CHANGE, CHANGE_ABSENT
from sedano.model.memos import Memo, MemoChanged


class DynamoMemos:
    """The memos of one deployment.

    Args:
        client: a botocore DynamoDB client.
        table: the control table's name; its partition key is `pk` (a string).
    """

    def __init__(self, client: Any, table: str) -> None:
        """Use *table*; no call is made yet."""
        self._table = Table(client, table)

    def read(self, names: Sequence[str]) -> dict[str, Memo]:
        """Return the memos that exist, strongly consistent, by name, a hundred to a call."""
        by_key = {keys.memo(name): name for name in names}
        found = self._table.read([*by_key])
        return {by_key[key]: _memo(by_key[key], item) for key, item in found.items()}

    def change(self, memo: Memo, seen: Memo) -> MemoChanged:
        """Write *memo* if the memo of its name is still *seen*."""
        values: dict[str, Any] = {":nc": {"S": memo.nonce}, ":memo": {"S": memo.text}}
        if seen.nonce:
            values[":seen"] = {"S": seen.nonce}
        done, item = self._table.update(CHANGE if seen.nonce else CHANGE_ABSENT, keys.memo(memo.name), values)
        if done:
            return MemoChanged(True, memo)
        found = _memo(memo.name, item) if item else Memo(memo.name)
        return MemoChanged(found.nonce == memo.nonce, found)


def _memo(name: str, item: Item) -> Memo:
    return Memo(name, item["memo"]["S"], item["nc"]["S"])
