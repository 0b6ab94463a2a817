"""The conditional writes of a flow run's item, by name.

A run changes by compare-and-swap on the nonce of its last write: when an operator cancels while a worker ends the run, no write is lost:
the second is refused, gets the run as it is now, and decides again. The mark of the own-write rule is the nonce.

Attributes: `pk` key · `nc` nonce · `flow` the workflow's name · `st` state · `body` the run as JSON text · `ttl` epoch s.
"""

from __future__ import annotations

from sedano.aws.expressions.write import TTL, Write

_ALL = "SET nc = :nc, flow = :flow, st = :st, body = :body, #ttl = :ttl"

BEGIN = Write(condition="attribute_not_exists(pk)", update=_ALL, names=TTL)
"""Create a run unless one of its id exists."""

CHANGE = Write(condition="nc = :seen", update=_ALL, names=TTL)
"""Replace exactly the run that was seen."""
