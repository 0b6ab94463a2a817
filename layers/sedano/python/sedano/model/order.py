"""Order within a key, on queues that keep it: the calls that run together, those that wait, and the message group of a key. Pure.

One rule keeps the order: a message of a key begins only after all earlier messages of the key have ended. So a batch is processed in turns,
with one message of each key at a time. If a message does not end, it goes back to the queue with the later ones of its key. A message that
is retried keeps its place at the head, hidden, until it has finally ended.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

from sedano.errors import OptionError

MAX_RECEIVES = 1_000
"""The number of receipts after which a FIFO queue moves a message to the dead-letter queue, which is the most that SQS allows: a message
that waits for its turn, its next attempt or the end of a pause is received repeatedly, and must not lose its place.
"""
KEPT_S = 13 * 86_400.0
"""The highest age (s) of a message that waits in a FIFO queue, which deletes it after 14 days and in which it cannot be sent again."""

APART: Mapping[str, str] = {
    "tenant": "on a FIFO queue the key uses the field that other queues use for the tenant",
    "priority": "queues of different priorities have no common order",
    "rate": "a call that waits for its slot would lose its place; give concurrency=, or deploy with a queue_concurrency",
    "debounce": "the calls that are skipped are part of the order",
    "batch": "calls of several keys would run as one",
}
"""The options that cannot be combined with order within a key, with the reasons."""
_BORNE = re.compile(r"[!-~]{1,128}")


def group_of(key: str) -> str:
    """Return *key* as a message group: unchanged if SQS accepts it (1 to 128 visible ASCII characters), else its SHA-256.

    If two keys had the same group, they would only be ordered more strictly than required.
    """
    return key if _BORNE.fullmatch(key) else f"sha256:{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}"


def unordered(who: str, queue: str) -> OptionError:
    """Return the error for a publication without an order to *queue*, which keeps order; *who* is its subject and verb, such as "a schedule
    publishes".
    """
    return OptionError(
        f"queue: {queue!r} keeps order within a key, but {who} without an order; call delay() in that order in a task of another queue"
    )


def turns(keys: Sequence[str], again: Sequence[bool]) -> list[list[int]]:
    """Return the positions of each turn; *keys* are the keys of the messages in order, *again* whether each message was received before.

    A turn has at most one message of each key. Keys with only new messages run in parallel. The others follow, one message at a time: a
    message that was received before may have killed its worker, and if it runs alone, it does not affect other messages.
    """
    careful = {key for key, before in zip(keys, again, strict=True) if before}
    together: list[list[int]] = []
    seen: dict[str, int] = {}
    alone: dict[str, list[int]] = {}
    for position, key in enumerate(keys):
        if key in careful:
            alone.setdefault(key, []).append(position)
            continue
        turn = seen[key] = seen.get(key, -1) + 1
        if turn == len(together):
            together.append([])
        together[turn].append(position)
    return together + [[position] for positions in alone.values() for position in positions]
