"""The conditional writes about members of the cluster.

M1: a heartbeat never runs backwards. The member's own logical clock orders its heartbeats, so one that was delayed in the
network changes nothing; and LOSE, written by the worker that took over one of its claims, changes nothing if it has spoken since that claim
ran out.

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
"""Write down that a member died: a claim of its own ran out at `:lapsed`, and it has said nothing since."""
