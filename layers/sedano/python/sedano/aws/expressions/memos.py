"""The conditional write of a memo: a circuit, a check's health, a budget's level.

A compare-and-swap on the nonce of the last change. When two callers change a memo at once, no change is lost: the second write is refused
and returns the current memo, and its caller decides again. The mark of the own-write rule is the nonce.

Attributes: `pk` key · `nc` nonce · `memo` the text. It has no TTL: there are as many as circuits, checks and queues.
"""

from __future__ import annotations

from sedano.aws.expressions.write import Write

_ALL = "SET nc = :nc, memo = :memo"

CHANGE = Write(condition="nc = :seen", update=_ALL)
"""Replace exactly the memo that was seen."""

CHANGE_ABSENT = Write(condition="attribute_not_exists(pk)", update=_ALL)
"""Write the first memo of its name."""
