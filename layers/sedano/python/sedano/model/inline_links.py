"""Inline links: the next link of a chain runs in the invocation that ended the link before, without a message of its own. Pure.

The received message, the *carrier*, is acknowledged last. For each inline link, in this order: claim, run, record; then the next link, or a
send. The states of a chain, seen from its carrier:

    the carrier's link recorded --the next link may stay--------> claimed inline, under `inline_id`
    claimed inline --recorded as succeeded----------------------> its next link may stay, or is sent
    claimed inline --ended without success, or to be retried----> what follows is sent; the carrier is acknowledged
    not admitted, not granted, not answered, refused------------> the link is sent under a message id of its own; acknowledged

- A link that is recorded has a message that answers for what follows: the carrier, or the message that was sent. So a process that dies
  anywhere leaves one message that continues. A carrier that is received again does not go on inline; it sends (`why_sent`). Otherwise,
  links that each end their worker less often than a poison message does would add up on one carrier.
- `inline_id` follows from the link alone, so each message of that link recognises a record that was claimed inline as its own
  (`sedano.model.ledger.claims`). With a fresh id the chain would be lost: the message that is sent after a death would find a finished
  task of another message.
- A claim that is held elsewhere is never taken over inline, and never waited for: the link is sent.
- A record that is refused belongs to another worker, which runs or has ended the link. The link is sent nevertheless, and the carrier is
  acknowledged: the message that is sent finds the other record, as the carrier would. It waits while the link runs, continues the chain if
  the link ended under `inline_id`, and otherwise leaves that to the message of that record. So no chain is lost, and no receipt is added.
- The receiver's window gets the ids only when the carrier is settled. Otherwise the same process would discard a link that it has
  finished and whose follow-ups are not sent.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from sedano.model.messages.lineage import derived_id
from sedano.model.messages.message import Command

MOST_LINKS = 100
"""The most links that follow one carrier inline, which also bounds the walk over a finished chain."""
SHARE = 0.9
"""A link without a time limit begins inline only while this share of the invocation's time is left. How long it takes is not known, and its
author wrote it for a whole invocation; a link that is killed for lack of time runs twice."""
MOST_S = 30.0
"""The seconds since its carrier began after which a link is sent. Other messages wait behind a chain that stays: its carrier keeps a lane,
or an environment of Lambda, for this long and one more body."""
TELL_S = 5.0
"""The seconds after which the rows and counts of links that have ended are sent while their chain goes on. A worker that dies loses those
of so many seconds; a chain that takes less still sends one message of the history."""


class NextLink(NamedTuple):
    """The facts that decide whether the next link of a chain may run inline; times are epoch seconds.

    *receives*: those of the carrier; *links*: how many have run inline so far; *same_queue*: the link goes to the carrier's queue;
    *delayed*: its message has a delay; *claimed*: both links are delivered with a claim; *limit*: the seconds of its time limit (0: it
    declares none); *whole*: those of the invocation, which ends at *deadline* and starts nothing in its last *guard* seconds. Where claims
    are extended, each link has an invocation of its own, which begins now. *began*: when the carrier began; *stops*: the worker begins no
    further body now, because it stops, is paused, is one of too many, or waits for a new configuration.
    """

    receives: int
    links: int
    same_queue: bool
    delayed: bool
    claimed: bool
    limit: float
    whole: float
    deadline: float
    guard: float
    began: float
    stops: bool = False


def why_sent(link: NextLink, now: float) -> str:
    """Return why the next link is sent as a message at *now*; "" if it may run inline."""
    if link.receives > 1:
        return "its carrier was received before"
    if link.links >= MOST_LINKS:
        return f"{MOST_LINKS} links have followed one message"
    if not link.same_queue:
        return "it goes to another queue"
    if link.delayed:
        return "it has a delay"
    if not link.claimed:
        return "a link is delivered without a claim"
    if link.stops:
        return "the worker begins no further body"
    return _late(link, now)


def _late(link: NextLink, now: float) -> str:
    """Return why *now* is too late for the next link to run inline; "" if it is not."""
    if now - link.began > MOST_S:
        return f"{MOST_S:g} s have passed since its carrier began"
    if link.deadline - now < (link.limit + link.guard if link.limit else SHARE * link.whole):
        return "too little time is left"
    return ""


def inline_id(command: Command) -> str:
    """Return the message id under which the link of *command* is claimed inline: the same for each message of this link.

    It names the link's place, because tasks of two canvases may have one id that a user chose.
    """
    place = command.place[1:] if command.place is not None else ()
    member = command.member[:2] if command.member is not None else ()
    return derived_id(command.task_id, f"inline/{json.dumps([command.task, *place, *member])}")
