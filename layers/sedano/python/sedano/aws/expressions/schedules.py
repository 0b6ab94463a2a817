"""The conditional writes of an agenda of periodic tasks, by name.

An agenda changes by compare-and-swap on the nonce of its last change: of two controllers that decide at once the second is refused, gets
the agenda that is in the way, and finds its moments decided. The mark of the own-write rule is the nonce.

Attributes: `pk` key · `nc` nonce · `body` the periodic tasks by name as JSON text. It has no TTL.
"""

from __future__ import annotations

from sedano.aws.expressions.write import Write

_ALL = "SET nc = :nc, body = :body"

CHANGE = Write(condition="nc = :seen", update=_ALL)
"""Replace exactly the agenda that was seen."""

CHANGE_ABSENT = Write(condition="attribute_not_exists(pk)", update=_ALL)
"""Write the first agenda of its number."""
