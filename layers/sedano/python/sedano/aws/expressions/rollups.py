"""The conditional write of a roll-up: the sums of one object of the history.

R1: a roll-up is written once and never changes, like its object. A second write for the same object is refused and counts as made: the
object's name is a digest of its lines, so both roll-ups are of the same events.

Attributes: `pk` key · `rod` the day of its minute, the key of the index of roll-ups, which no other item has · `rom` minute since the
epoch · `obj` name of the object · `sums` the text · `ttl` epoch s.
"""

from __future__ import annotations

from sedano.aws.expressions.write import Write

PUT = Write(condition="attribute_not_exists(pk)")
"""Write a roll-up if its object has none."""

SINCE = {"KeyConditionExpression": "rod = :day AND rom BETWEEN :since AND :until"}
"""The roll-ups of one day, from one minute to another, for a query of their index."""
