"""The conditional writes of a lease, by name. The rule that they carry out is `sedano.model.leases`.

Two values make beliefs checkable: `tok`, the fencing token, which only TAKE_ABSENT and TAKE raise, and `nc`, the nonce of the grant. `rv`
rises with each write of a holder, so `tok = :seen AND rv = :version` is a compare-and-swap on exactly what was observed.

Invariants and the conjunct that each relies on:

* I1: only the two takes write `tok`, to a value above the one that they name.
* I5: RENEW needs `exp <= :exp`, so a late renewal never shortens a lease. It does not compare `rv`: an earlier renewal may have succeeded
  although its answer was lost, and this must not lose the lease.
* An old term cannot release a new one, nor renew it: both need `nc` and `tok`. RELEASE also needs `st = :held`, so that a late copy of it
  does not change `rv` under a process that is about to take the lease.
* I6: the marks of the own-write rule: a take, HELD under my nonce and token; a release, FREE under them.
* No write deletes a lease. `ttl` is only on released ones, and the next holder removes it.
* WANT, WAIT and CALL do not change `rv`: a process that watches a lease for its duration must not be set back by others that ask for it.

Attributes: `pk` key · `lease` name · `tok` fencing token · `nc` nonce · `own` display name · `rv` version · `st` H held, F free · `dur` ms
· `exp` epoch ms · `want` the asker · `queued` messages to wake, in order · `ttl` epoch s.
"""

from __future__ import annotations

from sedano.aws.expressions.write import TTL, Write

HELD, RELEASED = "H", "F"
_HELD = {":held": {"S": HELD}}
_FREE = {":free": {"S": RELEASED}}
_ONE = {":one": {"N": "1"}}
_GRANT = "lease = :name, tok = :tok, nc = :nc, own = :own, rv = :rv, st = :held, dur = :dur, exp = :exp"
_MINE = "nc = :nc AND tok = :tok AND st = :held"

TAKE_ABSENT = Write(condition="attribute_not_exists(pk)", update=f"SET {_GRANT}", values=_HELD)
"""Become the holder of a lease that was never held, or was deleted long after its release."""

TAKE = Write(
    condition="tok = :seen AND rv = :version",
    update=f"SET {_GRANT} REMOVE want, #ttl",
    names=TTL,
    values=_HELD,
)
"""Become the holder of exactly the released or expired lease that was seen."""

RENEW = Write(
    condition=f"{_MINE} AND exp <= :exp",
    update="SET exp = :exp, rv = rv + :one",
    values={**_HELD, **_ONE},
)
"""Extend the lease that I hold."""

RELEASE = Write(
    condition=_MINE,
    update="SET st = :free, exp = :exp, rv = rv + :one, #ttl = :ttl",
    names=TTL,
    values={**_HELD, **_FREE, **_ONE},
)
"""Release the lease that I hold."""

WANT = Write(
    condition="tok = :tok AND st = :held AND (attribute_not_exists(want) OR want IN (:who, :asker))",
    update="SET want = :who",
    values=_HELD,
)
"""Ask the holder for the lease, if no process asked before, or in place of the asker that was seen."""

WAIT = Write(
    condition="tok = :tok AND st = :held AND (attribute_not_exists(queued) OR size(queued) < :most)",
    update="SET queued = list_append(if_not_exists(queued, :none), :message)",
    values={**_HELD, ":none": {"L": []}, ":most": {"N": "10"}},
)
"""Leave a message to be woken when the lease is released, while there is room."""

CALL = Write(condition="queued[0] = :first", update="SET want = :who REMOVE queued[0]")
"""Remove the first of the waiting messages, in order to wake it; the lease is kept for it until its reservation ends."""

PROOF = Write(condition=_MINE)
"""Not a write: the condition that is added to a transaction of a user's own writes."""
