"""Order within a key, on queues that keep it: which calls run together, which wait, and how a key travels. Pure.

Order is kept by one rule: of a key, nothing begins before what was published earlier has ended. So a batch is walked in turns, of each key
one message at a time, and where one does not end, those behind it go back to the queue with it. Tries of one message do not make room for
the next: it keeps its place at the head, hidden, until it has ended for good.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

from sedano.errors import OptionError

MAX_RECEIVES = 1_000
"""How often a FIFO queue hands a message out before it is a dead letter, the most that SQS allows: a message that waits for its turn, its
next attempt or the end of a pause is received repeatedly, and must not lose its place."""
KEPT_S = 13 * 86_400.0
"""How old a message may become that waits in a FIFO queue, which forgets it after 14 days and where it cannot be sent anew."""

APART: Mapping[str, str] = {
    "tenant": "on a FIFO queue the key takes the field that holds the tenant on others",
    "priority": "there is no order between two bands",
    "rate": "a call that waits for its slot would have to step out of the line; give concurrency=, or deploy with a queue_concurrency",
    "debounce": "the calls that are left out are part of the order",
    "batch": "calls of many keys would run as one",
}
"""Options that contradict order within a key, and why."""
_BORNE = re.compile(r"[!-~]{1,128}")


def group_of(key: str) -> str:
    """Return *key* as a message group: itself where SQS accepts it (1 to 128 visible ASCII characters), else its SHA-256.

    Two keys with one group would only be kept in more order than required.
    """
    return key if _BORNE.fullmatch(key) else f"sha256:{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}"


def unordered(who: str, queue: str) -> OptionError:
    """Return the error of *who* would publish to *queue*, which keeps order, in none."""
    return OptionError(
        f"queue: {queue!r} keeps order within a key, and {who} in none; let a task of another queue call delay() in the order that is meant"
    )


def turns(keys: Sequence[str], again: Sequence[bool]) -> list[list[int]]:
    """Return which positions go together, turn after turn; *keys* in their order, *again*: which of them were received before.

    Of each key one goes at a time. Keys whose messages are all new run side by side. The others follow, one message after another: a
    message that was received before may have killed its worker, and alone it kills no other.
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
