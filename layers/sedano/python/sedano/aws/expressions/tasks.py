"""Every conditional write to a task's record and to a join, by name.

Theory. A task's record is a register that changes only by compare-and-swap: each write names, in its condition, exactly
what its writer believes, so a writer whose belief is out of date changes nothing and gets the item that proves it. Two
values make beliefs checkable:

* `att`, the fencing token (Chubby's sequencer; Kleppmann 2016): it rises by one at every claim and never falls. A record has the token of
  its claim, so a zombie that wakes up after a steal is refused by the table itself, however late and however sure of itself.
* `nc`, a nonce drawn inside the handler for each call. It separates *my* write from another's, which a name cannot:
  SnapStart and frozen sandboxes clone names.

Invariants (PROTOCOLS §10), which the conformance suite and the random comparison with memory check:

* I1: `att` strictly rises. Only CLAIM, RECLAIM and STEAL write it, each by `+ 1`.
* I2, E1: at most one record is accepted for one token, and a terminal record is never replaced: RECORD and RETRY need
  `st = RUNNING`.
* E3: terminal is immutable. FORGET drops the result, but not the fact that the task ended, nor the token, nonce and message id.
* E9: a steal needs fence, nonce and expiry exactly as they were seen. A claim that was extended since is not stolen.
* I6: an own write is never misread (the own-write rule).
* J1: ARRIVE adds to sets. Adding twice changes nothing, so redelivery cannot fill a join early or late.
* X1: a record has the key of the index of failures (`tri`, `tat`) if and only if the task ended with a failure of its own, or failed in
  many executions and has not ended (`sedano.model.ledger.failures`). RECORD_FAILURE and KEEP_FAILURE are RECORD and KEEP that also set the
  entry, under the same conditions; no other write sets it. RECORD_RECOVERED, KEEP_RECOVERED and REVOKE remove the key as they end such a
  task without a failure. By E3 an entry stays correct: a failed task never changes its state. Only failures, and ends of tasks that
  recovered, write to the index, for one more write unit each.

The marks of the own-write rule (`sedano.aws.expressions`): claim and steal, RUNNING under my nonce; record, the state
I wrote under my nonce and token; keep, that state under my nonce; reserve, PENDING under my message id. Therefore
RECORD leaves `nc`, `att` and `mid` in place.

The rule for follow-ups (`sedano.model.ledger.claims`) also reads the attributes that RECORD leaves in place. A redelivered message finds
`mid` and so determines whether it is responsible for the follow-ups; RETRY keeps the outbox and the pause for the same reason.

Faults, and the conjunct that prevents each:

* Stealing across retries. The message of an older attempt could take over the claim of a newer one, be acknowledged and
  die, so that no worker was responsible for the follow-ups (found by exhaustive search). CLAIM and STEAL need
  `try = :try`, and `model.ledger.claims` never asks for such a steal.
* A reservation that outlives its publisher. RESERVE may be repeated when `rsv` has passed; CLAIM does not look at
  `rsv`, so a late message still runs.
* A record without a claim that replaces one with a claim. KEEP needs no record, or one without a holder: PENDING, or RETRY waiting for
  this very attempt. It never touches RUNNING, whose holder will record, nor a terminal state.
* A TTL that deletes a token. Every write sets `ttl` to `RECORD_LIFETIME_S` past the end of what it starts, which is longer than
  any message can live; so no message can refer to a deleted token.
* A revocation that a retry overtakes. ASK marks the item in the state RUNNING, and a claim needs the mark to be absent, so the next attempt
  meets both the holder's record and the mark, in either order.
* A burst of failures that throttles the table. An index partition takes 1 000 writes a second, and a table whose index cannot keep up
  refuses its own writes, claims included. `tri` has four shards a day.
* An entry that is too long, or that the store cannot keep. `ek` and `wh` are texts of the task: they are cut and made valid UTF-8.
* A member of a pack that ends twice. Until its pack has ended, only the pack's record decides: MARK goes there, and it is refused after
  the end. CLAIM_LEFT gives the member's own first claim a later fence than the body in the pack had.
* Numbers that lose precision. `exp`, `rsv` are whole milliseconds, so STEAL's equality survives the round trip.

Attributes: `pk` key · `st` state · `try` retry number · `att` fence · `cnt` claims of this attempt · `nc` nonce · `mid` message id · `own`
the worker that claimed · `rvk` the request of a revocation · `exp`, `rsv` epoch ms · `clk` clock · `nm` task name · `res` result (JSON
text, empty: none) · `fgt` whether its result was forgotten · `ust` custom state · `fol` whether its follow-ups were sent · `tail` the rest
(`sedano.model.ledger.outcome_text`) · `ttl` epoch s. Of a pack: `mks` its marked members. Of a failure: `tri` UTC day, `#`, shard of the
id · `tat` epoch ms · `tid` task id · `ek` type of the error · `wh` innermost frame of the application.

Source: PROTOCOLS §3 (claim; simulated in 40 000 schedules, exhausted in 603 928 states) and §4 (join).
"""

from __future__ import annotations

from sedano.aws.expressions.write import TTL, Write
from sedano.model import states

_PENDING = {":pending": {"S": states.PENDING}}
_RETRY = {":retry": {"S": states.RETRY}}
_RUNNING = {":running": {"S": states.RUNNING}}
_ENDED = {f":{state.lower()}": {"S": str(state)} for state in sorted(states.TERMINAL)}
_ONE = {":one": {"N": "1"}}
_ZERO = {":zero": {"N": "0"}}

_HOLD = "st = :running, nc = :nc, mid = :mid, exp = :exp, clk = :clk, nm = :nm, own = :own, #ttl = :ttl"
_END = "st = :st, try = :try, clk = :clk, nm = :nm, res = :res, tail = :tail, #ttl = :ttl"
_FAILED = "tri = :tri, tat = :tat, tid = :tid, ek = :ek, wh = :wh"
_RECOVERED = "REMOVE tri, tat"
_KNOWN = "st = if_not_exists(st, :pending), try = if_not_exists(try, :zero), mid = if_not_exists(mid, :none)"
_WAITING = "st IN (:pending, :retry) AND try = :try AND attribute_not_exists(rvk)"

CLAIM = Write(
    condition=f"attribute_not_exists(pk) OR ({_WAITING})",
    update=f"SET {_HOLD}, try = :try, cnt = :one, att = if_not_exists(att, :zero) + :one",
    names=TTL,
    values={**_PENDING, **_RETRY, **_RUNNING, **_ONE, **_ZERO},
)
"""Become the holder of an attempt without a holder; an unknown task id is a new task."""

CLAIM_LEFT = Write(
    condition=CLAIM.condition, update=CLAIM.update.replace("if_not_exists(att, :zero)", "if_not_exists(att, :one)"), names=TTL,
    values={**_PENDING, **_RETRY, **_RUNNING, **_ONE},
)
"""CLAIM of a task that left a pack, in which its body may have run under the first fence: its own first fence is the second one."""

RECLAIM = Write(condition=_WAITING, update=CLAIM.update, names=TTL, values=CLAIM.values)
"""CLAIM for a message whose record must exist: a retry, or a message that is older than the ledger's records."""

STEAL = Write(
    condition="st = :running AND try = :try AND att = :att AND nc = :seen AND exp = :lapsed",
    update=f"SET {_HOLD}, cnt = cnt + :one, att = att + :one",
    names=TTL,
    values={**_RUNNING, **_ONE},
)
"""Take over exactly the expired claim that was seen, at the same attempt."""

EXTEND = Write(
    condition="st = :running AND nc = :nc AND att = :att AND exp < :exp",
    update="SET exp = :exp, #ttl = :ttl",
    names=TTL,
    values=_RUNNING,
)
"""Extend my claim. `exp` never shrinks, so an extension that arrives late changes nothing. A holder whose claim was stolen is refused, and
STEAL compares `exp` as seen, so an extended claim is not stolen. `cnt` and `att` do not change."""

RECORD = Write(condition="st = :running AND nc = :nc AND att = :att", update=f"SET {_END}", names=TTL, values=_RUNNING)
"""End the attempt that I hold: a terminal state, or RETRY with the next attempt's number. A late write is accepted unless the claim was
stolen.
"""

RECORD_FAILURE = Write(condition=RECORD.condition, update=f"{RECORD.update}, {_FAILED}", names=TTL, values=RECORD.values)
"""RECORD of a failure, with its entry in the index of failures."""

RECORD_RECOVERED = Write(condition=RECORD.condition, update=f"{RECORD.update} {_RECOVERED}", names=TTL, values=RECORD.values)
"""RECORD of an end without a failure after many failed executions: the task leaves the index of failures."""

KEEP = Write(
    condition="attribute_not_exists(pk) OR st = :pending OR (st = :retry AND try = :try)",
    update=f"SET {_END}, nc = :nc, mid = :mid",
    names=TTL,
    values={**_PENDING, **_RETRY},
)
"""Record an end without a claim (`record_once`), if the task has no holder and no terminal record."""

KEEP_FAILURE = Write(condition=KEEP.condition, update=f"{KEEP.update}, {_FAILED}", names=TTL, values=KEEP.values)
"""KEEP of a failure, with its entry in the index of failures."""

KEEP_RECOVERED = Write(condition=KEEP.condition, update=f"{KEEP.update} {_RECOVERED}", names=TTL, values=KEEP.values)
"""KEEP of an end without a failure after many failed executions: the task leaves the index of failures."""

FAILURES = {"KeyConditionExpression": "tri = :tri"}
"""The failures of one shard of a day, for a query of their index."""

RESERVE = Write(
    condition="attribute_not_exists(pk) OR (st = :pending AND rsv < :now)",
    update="SET st = :pending, try = :zero, mid = :mid, rsv = :until, #ttl = :ttl",
    names=TTL,
    values={**_PENDING, **_ZERO},
)
"""Reserve a deduplicated task id before its one publication; a reservation that lapsed may be taken over."""

REVOKE = Write(
    condition="attribute_not_exists(pk) OR st IN (:pending, :retry)",
    update="SET st = :revoked, try = if_not_exists(try, :zero), mid = :none, clk = :clk, res = :none, tail = :none, #ttl = :ttl "
    f"{_RECOVERED}",
    names=TTL,
    values={**_PENDING, **_RETRY, **_ZERO, ":revoked": {"S": states.REVOKED}, ":none": {"S": ""}},
)
"""End a task without a holder. No message ended it (`mid` is empty), so each of its messages is responsible for the follow-ups. A task
that failed in many executions leaves the index of failures."""

ASK = Write(condition="st = :running AND (attribute_not_exists(rvk) OR rvk < :rvk)", update="SET rvk = :rvk", values=_RUNNING)
"""Mark a running task as revoked. The mark stays: the next claim meets it. A request is never taken back."""

MARK = Write(
    condition="attribute_not_exists(pk) OR st IN (:pending, :retry, :running)",
    update=f"SET {_KNOWN}, rsv = if_not_exists(rsv, :zero), #ttl = :ttl ADD mks :mks",
    names=TTL,
    values={**_PENDING, **_RETRY, **_RUNNING, **_ZERO, ":none": {"S": ""}},
)
"""Ask members of a pack to stop. A set: the second mark changes nothing. The record of a pack that has ended accepts none, because what
follows from it was read; a mark is never taken back."""

SHOW = Write(condition="st = :running AND att = :att", update="SET ust = :ust", values=_RUNNING)
"""Replace the custom state that my body shows. `att` names one claim, so a holder whose claim was stolen shows nothing."""

FOLLOW = Write(condition=f"st IN ({', '.join(_ENDED)}) AND mid = :mid", update="SET fol = :one", values={**_ONE, **_ENDED})
"""Note that the follow-ups of the message that ended the task were sent, so a copy of that message sends nothing."""

FORGET = Write(
    condition=f"st IN ({', '.join(_ENDED)})",
    update="SET res = :none, tail = :none, fgt = :one, ek = :none, wh = :none, ust = :none",
    values={**_ONE, **_ENDED, ":none": {"S": ""}},
)
"""Drop the result of a finished task, and note that it was dropped; its end stays. A failure stays in its index, without its error."""

FORGET_IN = Write(condition="st = :success AND res = :seen", update="SET res = :res", values={":success": _ENDED[":success"]})
"""Drop the results of members of an ended pack: replace exactly the ends that were seen, which other calls may change too."""

OPEN_JOIN = Write(condition="attribute_not_exists(pk)")
"""Open a join that is not open yet."""

ARRIVE = Write(update="SET #ttl = :ttl ADD done :children", names=TTL)
"""Add children to a node. A set: the second arrival changes nothing, so it needs no condition."""

ARRIVE_FAILED = Write(update="SET #ttl = :ttl ADD done :children, failed :fallen", names=TTL)
"""ARRIVE, and some of the children did not succeed."""
