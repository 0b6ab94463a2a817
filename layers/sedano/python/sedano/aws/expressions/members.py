"""The conditional writes about members of the cluster.

M1: a heartbeat never runs backwards. The member's own logical clock orders its heartbeats, so a delayed heartbeat changes nothing. LOSE,
written by the worker that took over one of the member's claims, changes nothing if the member has sent a heartbeat since that claim
expired.

Attributes: `pk` key · `knd` the key of the index of members, which no other item has · `nm` name · `clk` clock · `st` state ·
`inflight` messages · `took` ids of the claimed tasks among them · `answ` answers to the inbox · `rep` report · `seen` epoch ms ·
`ttl` epoch s.
"""

from __future__ import annotations

from sedano.aws.expressions.write import TTL, Write

KIND = {"S": "MEMBER"}
"""The one value of `knd`. An index partition takes 1 000 heartbeats a second: 60 000 workers at one a minute."""

OF_KIND = {"KeyConditionExpression": "knd = :kind", "ExpressionAttributeValues": {":kind": KIND}}
"""All members, for a query of their index."""

BEAT = Write(
    condition="attribute_not_exists(pk) OR clk < :clk",
    update=(
        "SET knd = :kind, nm = :name, clk = :clk, st = :st, inflight = :inflight, seen = :seen, took = :took, answ = :answers, "
        "rep = :report, #ttl = :ttl"
    ),
    names=TTL,
    values={":kind": KIND},
)
"""A member's heartbeat; an older one never replaces a newer one."""

LOSE = Write(condition="clk < :clk AND st = :active AND seen < :lapsed", update="SET st = :lost, clk = :clk")
"""Mark a member as lost: one of its claims expired at `:lapsed`, and it has sent no heartbeat since."""
