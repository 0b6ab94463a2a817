"""The conditional writes about members of the cluster.

M1: a heartbeat never runs backwards. The member's own logical clock orders its heartbeats, so one that was delayed in the
network changes nothing.
"""

from __future__ import annotations

from sedano.aws.expressions.write import TTL, Write

BEAT = Write(
    condition="attribute_not_exists(pk) OR clk < :clk",
    update="SET nm = :name, clk = :clk, st = :st, inflight = :inflight, seen = :seen, #ttl = :ttl",
    names=TTL,
)
"""A member's heartbeat; an older one never replaces a newer one."""
