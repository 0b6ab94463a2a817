"""The conditional writes of an agenda of periodic tasks, by name.

An agenda changes by compare-and-swap on the nonce of its last change. When two controllers decide at once, the second write is refused and
returns the current agenda, in which its controller finds the moments decided and claimed. The mark of the own-write rule is the nonce.

The write that decides the moments of an agenda also claims it, so that one controller publishes them. `CHANGE` also takes an agenda over: a
controller that finds pending moments, and a `held` that has passed by its bounded clock, writes a later `held`. The conjunct `nc = :seen`
implies that `held` did not change, that no controller crossed the moments off meanwhile, and that only one of two concurrent takeovers
succeeds. `held` only saves messages: a moment that two controllers publish becomes one task, because its id is the same.

Attributes: `pk` key · `nc` nonce · `body` the periodic tasks by name as JSON text · `held` until when (epoch s) the writer of `nc`
publishes alone (0 or absent: no writer). It has no TTL.
"""

from __future__ import annotations

from sedano.aws.expressions.write import Write

_ALL = "SET nc = :nc, body = :body, held = :held"

CHANGE = Write(condition="nc = :seen", update=_ALL)
"""Replace exactly the agenda that was seen."""

CHANGE_ABSENT = Write(condition="attribute_not_exists(pk)", update=_ALL)
"""Write the first agenda of its number."""
