"""The writes of a backlog in DynamoDB: its messages, and the lease of the sender that empties it.

All items of one app and deployment have one partition key, *pk*. The sort key *sk* of a message orders it: how often it was given back,
when it was stored, and its place in its batch. The lease is an item of its own: while a sender (*holder*) has it (`until`), others take
nothing, and only its holder deletes it.

The clock of a sender that holds the lease may be wrong. A lease that ends more than twice its length in the future is therefore free, and
two senders that take the same messages send copies, which their claims absorb.
"""

from __future__ import annotations

from sedano.aws.expressions.write import Write

MESSAGES = {"KeyConditionExpression": "pk = :pk AND begins_with(sk, :m)"}
"""The messages of a backlog, in order."""

LEASE = Write(
    condition="attribute_not_exists(pk) OR #u <= :now OR #u > :most", update="SET #u = :until, #h = :me",
    names={"#u": "until", "#h": "holder"},
)  # fmt: skip
"""Hold the lease until a moment, if no other sender holds it."""
RELEASE = Write(condition="#h = :me", names={"#h": "holder"})
"""Delete the lease, if this sender still holds it."""
IS_THERE = Write(condition="attribute_exists(pk)")
"""Move a message, if no other sender has sent or moved it."""
