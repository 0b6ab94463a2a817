"""Memos in the table `memo`, by compare-and-swap (`sedano.sqlite.compare_and_swap`)."""

from __future__ import annotations

from collections.abc import Sequence

from sedano.model.memos import Memo, MemoChanged
from sedano.sqlite.compare_and_swap import Swap, swapped
from sedano.sqlite.store import Store

MEMO = Swap(
    create="INSERT INTO memo (body, nonce, name) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
    change="UPDATE memo SET body = ?, nonce = ? WHERE name = ? AND nonce = ?",
    read="SELECT name, body, nonce FROM memo WHERE name = ?",
)


class SqliteMemos:
    """The memos of one deployment over one SQLite file."""

    def __init__(self, store: Store) -> None:
        """Use *store*; nothing is opened yet."""
        self._store = store

    def read(self, names: Sequence[str]) -> dict[str, Memo]:
        """Return the memos that exist, by name."""
        return {name: Memo(*row) for name in dict.fromkeys(names) for row in self._store.rows(MEMO.read, name)}

    def change(self, memo: Memo, seen: Memo) -> MemoChanged:
        """Write *memo* if the memo of its name is still *seen*."""
        row = swapped(self._store, MEMO, memo.name, (memo.text, memo.nonce), seen.nonce or None)
        if row is None:
            return MemoChanged(True, memo)
        found = Memo(*row) if row else Memo(memo.name)
        return MemoChanged(found.nonce == memo.nonce, found)
