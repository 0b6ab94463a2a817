"""How long a message waits that cannot be worked on now, and what it remembers of earlier waits. Pure.

A message that has to wait is sent anew with a delay and the received one is acknowledged, so it is not in flight while it waits: a queue
hands out nothing more once 120 000 of its messages are in flight. The new message counts its receipts from one again. So the count of
waits, and of receipts that ended in neither a wait nor an end, travels in the attribute `WAITED`.

Receipts are evidence only where a task runs without a claim: each one that ended in no wait may have killed its worker. Every wait of such
a task is sent anew, so its receipts beyond the first are never waits, and a service that is away for a year adds nothing to them.

The attribute is not secret and not sealed: a sender can make its own message wait (at most `LONGEST_S` at a time) or end it early as
poison, and a lower count is what any new message has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

WAITED = "sedano-waited"
"""The attribute of a message that carries its earlier waits."""
KEPT = "sedano-"
"""How the names of the attributes begin that a message keeps when it is sent anew."""
SHORT_S = 30.0
"""The longest wait that a claimed task may spend in flight: beyond that it is sent anew."""
LONGEST_S = 900.0
"""The longest wait; a queue with a shorter longest delay delivers the message earlier."""
FIRST_S = 5.0
"""The first wait for a service that did not answer; each later one is twice as long."""
HIDDEN_S, HIDDEN_MOST_S, SOON, LONGER = 60.0, 43_200.0, 2, 5.0
"""Where nothing can be sent anew, a message is hidden: for a minute at its first receipts, then for five times its age. So the five
receipts that a task without a claim has outlast most of a day, and a wait ends in proportion to the outage."""
_WRITTEN = re.compile(r"(\d{1,6}) (\d{1,6})", re.ASCII)


class Waited(NamedTuple):
    """How often a message waited (*times*), and how many earlier receipts ended in neither a wait nor an end (*runs*)."""

    times: int = 0
    runs: int = 0


def waited(attributes: Mapping[str, str]) -> Waited:
    """Return what the message with these *attributes* remembers; an attribute in another form counts as none."""
    text = attributes.get(WAITED)
    found = _WRITTEN.fullmatch(text) if text is not None else None
    return Waited(int(found[1]), int(found[2])) if found is not None else Waited()


def written(one: Waited) -> str:
    """Return *one* as the attribute holds it."""
    return f"{min(one.times, 999_999)} {min(one.runs, 999_999)}"


def patience(times: int, first: float = FIRST_S, most: float = LONGEST_S) -> float:
    """Return the seconds to wait after so many waits: *first*, then twice as long each time, at most *most*."""
    return min(first * 2.0 ** min(times, 20), most)


def hidden(receives: int, age: float) -> float:
    """Return for how many seconds a message of this *age* (s) that was received so often is hidden where it cannot be sent anew."""
    return HIDDEN_S if receives <= SOON else min(max(HIDDEN_S, LONGER * age), HIDDEN_MOST_S)
