"""The progress of a bulk change, in which a task of the stage changes many other tasks, page by page. Pure.

The progress is the text of a memo. A stage keeps `SLOTS` of them, so their number is bounded: a change uses the slot for its id, and a
later change may use the same slot. If the earlier change is then delivered again, it starts at its first page, which does not change a task
twice.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

from sedano.model.memos import parts

RETRY, REVOKE = "retry", "revoke"
PAGE = 100
"""The number of tasks that are changed between two checks for a revocation: as many as one read of the ledger returns."""
SLOTS = 64
MOST_REASONS, MOST_REASON = 3, 300


class BulkProgress(NamedTuple):
    """The progress of the bulk change *id*: *done* of *total* tasks, with the numbers of *changed* ones and of unchanged ones (*left*).

    *reasons*: the reasons for the first unchanged ones. *reported*: whether the end of the change is in the history.
    """

    id: str
    total: int
    done: int = 0
    changed: int = 0
    left: int = 0
    reasons: tuple[str, ...] = ()
    reported: bool = False

    @property
    def sentence(self) -> str:
        """The progress in words."""
        return f"{self.done:,} of {self.total:,} tasks are done: {self.changed:,} changed, {self.left:,} unchanged."

    def after(self, page: int, changed: int, reasons: Sequence[str]) -> BulkProgress:
        """Return the progress after *page* more tasks: *changed* of them were changed, and *reasons* has one entry for each other task."""
        kept = (*self.reasons, *(one[:MOST_REASON] for one in reasons))[:MOST_REASONS]
        return self._replace(
            done=self.done + page, changed=self.changed + changed, left=self.left + len(reasons), reasons=kept
        )  # fmt: skip


def slot(change_id: str) -> str:
    """Return the number of the memo of a bulk change, the same on every machine."""
    return str(int.from_bytes(blake2b(change_id.encode("utf-8", "surrogatepass"), digest_size=2).digest(), "big") % SLOTS)


def text_of(progress: BulkProgress) -> str:
    """Return *progress* as the text of its memo."""
    return json.dumps(progress, separators=(",", ":"))


def progress_of(text: str, change_id: str) -> BulkProgress | None:
    """Return the progress in *text* of the bulk change *change_id*; None if *text* belongs to another change, or is not valid."""
    try:
        found, total, done, changed, left, reasons, reported = parts(text)
        numbers = (total, done, changed, left)
        whole = all(type(one) is int and one >= 0 for one in numbers) and done == changed + left <= total
        if found != change_id or not whole or not all(isinstance(one, str) for one in reasons):
            return None
        return BulkProgress(found, *numbers, tuple(reasons), reported is True)
    except (ValueError, TypeError):
        return None
