"""The conditional writes of limits, by name. The rules that they carry out are `sedano.model.limits.rate`, `permits` and `holding`.

A line of tickets. JOIN only adds, so any number of workers may join at once and none fails: its only condition is that the line is ahead of
the clock. A JOIN whose answer was lost has taken slots that no task will use: fewer tasks start than allowed, never more. BEGIN and TURN
replace all numbers, so each is a compare-and-swap: BEGIN on "all turns are over", TURN on exactly the line that was seen (its nonce and its
number of tickets). The own-write mark of both is the nonce.

A permit is a lease among others in one item: TAKE_PERMIT needs it to be over, or kept for the taker, and its token to rise; GIVE_BACK and
CALL_NEXT need the nonce and the token of the holder, so a late write never frees the permit of a later holder. Own-write mark: both of
them.

A limit above ten has several boards, each an item with ten permits, and a line of waiting messages in an item of its own, because receipts
are long. LINE_UP adds a message where there is room, LEAVE_LINE takes it out: its condition makes one of several callers the one that wakes
the message. KEEP reserves a permit as CALL_NEXT does. A board of a version before boards has all permits of its limit: FORGET_OLD removes
ten of them that are over. A token is the time in ms or more, so the next one is higher than all that were forgotten.

The latest call: LATEST never replaces a call by an earlier one. A basket: PUT adds to a basket that is open and has room; SHUT closes it,
and the contents of a shut basket never change. The own-write mark of PUT is the calls' ids: if the SDK sends a PUT twice and the first one
fills the basket, the calls do not go into the next basket too. No write here deletes; `ttl` expires days after an entry ended.

Attributes of a line: `bas` begin µs · `tkn` tickets taken · `t0` `t1` `t2` turns µs · `nc` nonce. Of a board, for each number *i*:
`n`i nonce · `k`i token · `o`i owner · `e`i epoch ms · `w`i kept for; `queued` messages to wake, in order. Of the line of messages of
several boards: `queued`, a set. Of a latest call: `clk` clock · `tid` task id. Of a basket: `entries` · `num` how many · `sz` bytes ·
`shut`.
"""

from __future__ import annotations

from sedano.aws.expressions.write import TTL, Write


def _some(parts: str) -> dict[str, str]:
    """Return the names of these attributes of a permit, here of permit 0; the adapter substitutes the number of the permit."""
    return {f"#{part}": f"{part}0" for part in parts}


_LINE = "bas = :bas, tkn = :tkn, t0 = :t0, t1 = :t1, t2 = :t2, nc = :nc, #ttl = :ttl"

BEGIN = Write(
    condition="attribute_not_exists(pk) OR (t0 <= :idle AND t1 <= :idle AND t2 <= :idle)",
    update=f"SET {_LINE}",
    names=TTL,
)
"""Begin a line if none exists, or if all turns are over."""

TURN = Write(condition="nc = :seen AND tkn = :before", update=f"SET {_LINE}", names=TTL)
"""Begin again exactly the line that was seen, with the rest of its bursts."""

JOIN = Write(
    condition="t0 > :x0 OR t1 > :x1 OR t2 > :x2",
    update="SET tkn = tkn + :count, t0 = t0 + :d0, t1 = t1 + :d1, t2 = t2 + :d2, #ttl = :ttl",
    names=TTL,
)
"""Take tickets of a line that is ahead of the clock."""

TAKE_PERMIT = Write(
    condition="(attribute_not_exists(#e) OR #e <= :lapsed OR #w = :who) AND (attribute_not_exists(#k) OR #k < :tok)",
    update="SET #n = :nc, #k = :tok, #o = :own, #e = :exp, #ttl = :ttl REMOVE #w",
    names={**TTL, **_some("nkoew")},
)
"""Become the holder of a permit that is over, or kept for me."""

GIVE_BACK = Write(condition="#n = :nc AND #k = :tok", update="SET #e = :over", names=_some("nke"), values={":over": {"N": "0"}})
"""Give back the permit that I hold."""

AWAIT_PERMIT = Write(
    condition="#k = :tok AND #e > :now AND (attribute_not_exists(queued) OR size(queued) < :most)",
    update="SET queued = list_append(if_not_exists(queued, :none), :message)",
    names=_some("ke"),
    values={":none": {"L": []}, ":most": {"N": "10"}},
)
"""Leave a message to be woken when a permit is given back, while the one that was seen is still held and there is room."""

CALL_NEXT = Write(
    condition="queued[0] = :first AND #n = :nc AND #k = :tok",
    update="SET #e = :exp, #w = :who REMOVE queued[0]",
    names=_some("nkew"),
)
"""Remove the first of the waiting messages and reserve for it the permit that I gave back."""

LINE_UP = Write(
    condition="attribute_not_exists(queued) OR size(queued) < :most OR contains(queued, :one)",
    update="SET #ttl = :ttl ADD queued :message",
    names=TTL,
    values={":most": {"N": "10"}},
)
"""Put a message in the line of a limit, once and while there is room."""

LEAVE_LINE = Write(condition="contains(queued, :one)", update="DELETE queued :message")
"""Take a message out of the line."""

KEEP = Write(condition="#k = :tok AND #n = :nc", update="SET #e = :exp, #w = :who", names=_some("nkew"))
"""Reserve the permit that I gave back for a message that I took out of the line."""

FORGET_OLD = Write(
    condition=" AND ".join(f"(attribute_not_exists(#k{n}) OR (#e{n} <= :lapsed AND #k{n} < :lapsed))" for n in range(10)),
    update="REMOVE " + ", ".join(f"#{part}{n}" for n in range(10) for part in "nkoew"),
    names={f"#{part}{n}": f"{part}{n}" for n in range(10) for part in "nkoew"},
)
"""Remove ten permits, here of board 0, that an older version kept in the first item, if all of them are over."""

LATEST = Write(condition="attribute_not_exists(pk) OR clk < :clk", update="SET clk = :clk, tid = :tid, #ttl = :ttl", names=TTL)
"""Note the latest call, unless a later one is noted."""

PUT = Write(
    condition="attribute_not_exists(pk) OR (attribute_not_exists(shut) AND num <= :left AND sz <= :room)",
    update="SET entries = list_append(if_not_exists(entries, :none), :entries), num = if_not_exists(num, :zero) + :count, "
    "sz = if_not_exists(sz, :zero) + :bytes, #ttl = :ttl",
    names=TTL,
    values={":none": {"L": []}, ":zero": {"N": "0"}},
)
"""Put calls into a basket that is open and has room."""

SHUT = Write(
    condition="attribute_not_exists(shut) OR shut = :shut",
    update="SET shut = :shut, #ttl = :ttl",
    names=TTL,
    values={":shut": {"N": "1"}},
)
"""Shut a basket; shutting it again changes nothing."""
