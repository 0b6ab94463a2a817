"""The conditional writes of an agenda of periodic tasks, by name.

An agenda is two items. Its own has the states, and is small; `#definitions` has what rarely changes (timetables, calls, options), and is as
large as that. An agenda changes by compare-and-swap on the nonce of its own item. When two controllers decide at once, the second write is
refused, and its controller reads the current agenda, in which it finds the moments decided and claimed. The mark of the own-write rule is
the nonce.

* MOVE writes states alone. States name their schedules by place, so they have a meaning only beside the definitions that their writer
  knew: `dg = :dg` demands that they are the stored ones.
* CHANGE and DEFINE go out in one transaction, which replaces both. DEFINE needs no condition: the one of CHANGE holds for one writer
  alone. A reader that finds another digest in `#definitions` than in the agenda has read between two transactions, and reads again.

The write that decides the moments of an agenda also claims it, so that one controller publishes them. MOVE also takes an agenda over: a
controller that finds pending moments, and a `held` that has passed by its bounded clock, writes a later `held`. The conjunct `nc = :seen`
implies that `held` did not change, that no controller crossed the moments off meanwhile, and that only one of two concurrent takeovers
succeeds. `held` only saves messages: a moment that two controllers publish becomes one task, because its id is the same.

An agenda without `dg` has definitions and states in one text, as an older version kept them. A controller of that version refuses to read
what replaces it, and changes nothing: its writes need the nonce that it had seen. So the scheduler alone, which is deployed with its stage,
replaces it, by a CHANGE. Every other process may be newer than the scheduler of its stage: it writes such an agenda, and one that does not
exist, in one text (KEEP, KEEP_ABSENT).

Attributes of an agenda: `pk` key · `nc` nonce · `dg` digest of its definitions · `body` the states as text
(`sedano.model.schedules.schedule_states`), or, without `dg`, definitions and states as JSON text · `held` until when (epoch s) the writer
of `nc` publishes alone (0 or absent: no writer). Of `#definitions`: `pk` key · `dg` digest of `body` · `body` the definitions by name as
JSON text. They have no TTL.
"""

from __future__ import annotations

from sedano.aws.expressions.write import Write

_STATES = "SET nc = :nc, body = :body, held = :held"
_ALL = f"{_STATES}, dg = :dg"

MOVE = Write(condition="nc = :seen AND dg = :dg", update=_STATES)
"""Replace the states of exactly the agenda that was seen."""

CHANGE = Write(condition="nc = :seen", update=_ALL)
"""Replace exactly the agenda that was seen, in the transaction of DEFINE."""

CHANGE_ABSENT = Write(condition="attribute_not_exists(pk)", update=_ALL)
"""Write the first agenda of its number, in the transaction of DEFINE."""

KEEP = Write(condition="nc = :seen", update=_STATES)
"""Replace exactly the agenda that was seen, in one text, as it is."""

KEEP_ABSENT = Write(condition="attribute_not_exists(pk)", update=_STATES)
"""Write the first agenda of its number in one text."""

DEFINE = Write(update="SET dg = :dg, body = :body")
"""Replace the definitions of an agenda, in the transaction of its own change."""
