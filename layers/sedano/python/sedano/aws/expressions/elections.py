"""The conditional writes of an election, by name. The rule that they carry out is `sedano.model.elections`.

Invariants and the conjunct that each relies on:

* L1, one close: CLOSE needs `st = :open`, and goes out in one transaction with DISPATCH, the record of the task that the election is about.
* L2, the lowest registered wins: CLOSE needs `ver = :ver`, so no worker registered between the read that chose the winner and the write;
  REGISTER needs `st = :open`, so no worker registers afterwards.
* A second registration of one worker changes nothing: `NOT contains(voters, :name)`. It could only worsen its clock.
* L3, a closed election is dispatched: HOLDS, in the transaction of CLOSE, lets only the holder of a call close in its name.
* One successor a term: PASS names the winner, the term and the time that were seen.

The marks of the own-write rule: an opening, my nonce; a registration, my entry among the candidates; a close, my task's id in `closer`; a
pass, the winner, term and time that I wrote.

Attributes: `pk` key · `elect`, `topic` · `task` id and `draft` of what is dispatched · `nc` nonce of the opening · `st` OPEN, CLOSED ·
`need`, `voters` names · `cand` entries "clock name" · `ver` · `win` · `closer` · `term` · `until` epoch ms · `ttl` epoch s.
"""

from __future__ import annotations

from sedano.aws.expressions.write import TTL, Write
from sedano.model import states
from sedano.model.elections import CLOSED, OPEN

_OPEN = {":open": {"S": OPEN}}
_CLOSED = {":closed": {"S": CLOSED}}

OPENING = Write(condition="attribute_not_exists(elect)")
"""Create an election unless one exists."""

REGISTER = Write(
    condition="st = :open AND NOT contains(voters, :name)",
    update="SET ver = ver + :one ADD voters :names, cand :entry",
    values={**_OPEN, ":one": {"N": "1"}},
)
"""Acknowledge an open election, as a candidate."""

CLOSE = Write(
    condition="st = :open AND ver = :ver",
    update="SET st = :closed, win = :win, closer = :by, term = :term, #until = :until",
    names={"#until": "until"},
    values={**_OPEN, **_CLOSED},
)
"""Close an election; the winner is among exactly the workers that were seen."""

DISPATCH = Write(
    condition="attribute_not_exists(pk)",
    update="SET st = :pending, try = :zero, mid = :by, rsv = :zero, #ttl = :ttl",
    names=TTL,
    values={":pending": {"S": states.PENDING}, ":zero": {"N": "0"}},
)
"""Note in the ledger that the task of an election was dispatched, together with its close."""

HOLDS = Write(condition="st = :running AND att = :att", values={":running": {"S": states.RUNNING}})
"""Not a write: the condition that binds a close to the claim of the call that closes. The worker of that call publishes the elected task. A
worker that lost the call may not close: the worker that took the call over may have ended it already, and then no worker would publish."""

PASS = Write(
    condition="st = :closed AND win = :seen AND term = :before AND #until = :lapsed",
    update="SET win = :win, term = :term, #until = :until",
    names={"#until": "until"},
    values=_CLOSED,
)
"""Make a worker the winner of the next term, or extend the term of the current winner."""
