"""Memos, in memory."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from sedano.model.memos import Memo, MemoChanged


class MemoryMemos:
    """The memos of one deployment, in a dict by name."""

    def __init__(self) -> None:
        """Start with none."""
        self._kept: dict[str, Memo] = {}
        self._lock = threading.Lock()

    def read(self, names: Sequence[str]) -> dict[str, Memo]:
        """Return the memos that exist, by name."""
        with self._lock:
            return {name: self._kept[name] for name in names if name in self._kept}

    def change(self, memo: Memo, seen: Memo) -> MemoChanged:
        """Write *memo* if the memo of its name is still *seen*."""
        with self._lock:
            found = self._kept.get(memo.name, Memo(memo.name))
            if found.nonce != seen.nonce:
                return MemoChanged(found.nonce == memo.nonce, found)
            self._kept[memo.name] = memo
            return MemoChanged(True, memo)
