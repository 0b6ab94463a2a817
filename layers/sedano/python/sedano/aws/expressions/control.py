"""The conditional write of the control record, which every worker reads when it starts.

A compare-and-swap on the nonce of the last change. When two callers change the record at once, no change is lost: the second write is
refused and returns the current record, and its caller applies the change to that. The mark of the own-write rule is the nonce.

Attributes: `pk` key · `nc` nonce · `clk` clock · `revoked` map of pairs to epoch s · `paused` list of texts · `lims` map of
tasks to the texts of their changed limits · `asked` the announcement of the inbox ·
`config` the last announcement of a new configuration · `wished` map of queues to bodies at once. It has no TTL.
"""

from __future__ import annotations

from sedano.aws.expressions.write import Write

_ALL = (
    "SET nc = :nc, clk = :clk, revoked = :revoked, paused = :paused, lims = :lims, asked = :asked, config = :config, wished = :wished"
)

CHANGE = Write(condition="nc = :seen", update=_ALL)
"""Replace exactly the control record that was seen."""

CHANGE_ABSENT = Write(condition="attribute_not_exists(pk)", update=_ALL)
"""Write the first control record."""
