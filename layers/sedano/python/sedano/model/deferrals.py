"""The waits of a message that cannot be processed now: their length, and the record of earlier waits in the message. Pure.

A message that has to wait is sent again with a delay, and the received one is acknowledged, so it is not in flight while it waits: a queue
stops delivering when 120 000 of its messages are in flight. The new message counts its receipts from one again. So the number of waits, and
of receipts that ended in neither a wait nor an end, travels in the attribute `WAITED`.

The number of receipts is evidence only for a task without a claim: each receipt that did not end in a wait may have killed its worker. For
each wait, such a task is sent again, so its receipts beyond the first are never waits, and an outage of a service does not increase their
number.

The attribute is neither secret nor sealed: a sender can only make its own message wait (at most `LONGEST_S` at a time) or end it early as
poison; a lower count is the same as that of a new message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

WAITED = "sedano-waited"
"""The attribute of a message that carries its earlier waits."""
KEPT = "sedano-"
"""The prefix of the attributes that a message keeps when it is sent again."""
SHORT_S = 30.0
"""The longest wait (s) that a claimed task may spend in flight; for a longer one it is sent again."""
LONGEST_S = 900.0
"""The longest wait (s); a queue with a lower maximum delay delivers the message earlier."""
FIRST_S = 5.0
"""The first wait (s) for a service that did not respond; each later one is twice as long."""
HIDDEN_S, HIDDEN_MOST_S, SOON, LONGER = 60.0, 43_200.0, 2, 5.0
"""If a message cannot be sent again, it is hidden: for a minute at its first receipts, then for five times its age. So the five receipts of
a task without a claim last for most of a day, and the length of a wait is proportional to the outage.
"""
_WRITTEN = re.compile(r"(\d{1,6}) (\d{1,6})", re.ASCII)


class Waited(NamedTuple):
    """How often a message waited (*times*), and how many earlier receipts ended in neither a wait nor an end (*runs*)."""

    times: int = 0
    runs: int = 0


def waited(attributes: Mapping[str, str]) -> Waited:
    """Return the earlier waits of the message with these *attributes*; an invalid attribute counts as missing."""
    text = attributes.get(WAITED)
    found = _WRITTEN.fullmatch(text) if text is not None else None
    return Waited(int(found[1]), int(found[2])) if found is not None else Waited()


def written(one: Waited) -> str:
    """Return the value of the attribute for *one*."""
    return f"{min(one.times, 999_999)} {min(one.runs, 999_999)}"


def patience(times: int, first: float = FIRST_S, most: float = LONGEST_S) -> float:
    """Return the seconds to wait after this number of waits (*times*): *first*, then twice as long each time, at most *most*."""
    return min(first * 2.0 ** min(times, 20), most)


def hidden(receives: int, age: float) -> float:
    """Return how many seconds to hide a message of this *age* (s) and number of receipts if it cannot be sent again."""
    return HIDDEN_S if receives <= SOON else min(max(HIDDEN_S, LONGER * age), HIDDEN_MOST_S)
