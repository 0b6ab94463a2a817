"""The conditional writes of an agenda of periodic tasks, by name.

An agenda changes by compare-and-swap on the nonce of its last change: of two controllers that decide at once the second is refused, gets
the agenda that is in the way, and finds its moments decided and claimed. The mark of the own-write rule is the nonce.

An agenda is claimed with the same write that decides its moments, so that one controller publishes them. It is taken over by `CHANGE` too:
a controller that finds pending moments and `held` passed by its bound clock writes a later `held`. The conjunct `nc = :seen` implies that
`held` did not change, that no controller crossed the moments off meanwhile, and that of two that take over at once one does. `held` only
saves messages: a moment that two controllers publish becomes one task by its id.

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
