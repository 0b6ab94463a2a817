"""The rule of an election: Celery's semantics, with exactly one dispatch. Pure.

Every live worker registers, which is its acknowledgement. The lowest logical clock wins, and the name breaks ties. The election closes
once: when all workers that were alive at its opening have registered, or when its time is over, with the workers registered by then. Any
worker may close it, because the winner is derived from the list of registered workers, and the close is a compare-and-swap on exactly this
list (L1, L2). So an election does not need permanent workers, and a dead candidate does not block others.

The worker that closes must publish, so the close is bound to its claim: in the same transaction the call that closes must still be RUNNING
under its fence. Otherwise a worker that lost its claim could close late, when the call has ended and its message is not delivered again
(L3).

The worker that closed the election dispatches the topic's action, once, even if the winner is dead. A topic that must run *on* the winner
has a successor chain: the message waits for the winner for a limited time, then the next candidate in order becomes the winner of the next
term; after the fourth term, or the last candidate, the holder of the message dispatches it (L3).

For comparison, Celery's Gossip with each event delivered once: with one worker it does not dispatch, and with three workers it dispatches
twice in 2 to 11 % of elections, because each candidate decides alone when it has heard from all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Literal, NamedTuple

from sedano.errors import ArgumentError
from sedano.model.messages.attributes import is_id
from sedano.model.messages.message import NOTHING

OPEN, CLOSED = "OPEN", "CLOSED"
Mode = Literal["faithful", "fast"]
"""The modes: the lowest clock of all members wins, or the requesting worker dispatches at once."""
TIMEOUT_S, LONGEST_S = 10, 900
"""The seconds (whole) for which an election is open: the default, and the maximum."""
ANYBODY = frozenset({"", " ", "  "})
"""A placeholder for members that the opener does not know, because a task may not list members. No worker has such a name, so the election
closes by time.
"""
PATIENCE_S = 10.0
"""How long a message waits for the winner in each term, for a topic that must run on the winner."""
MOST_TERMS = 4
"""The most terms: a waiting message is received repeatedly, and must not count as a message that kills its worker."""


class Election(NamedTuple):
    """An election. *need*: the workers that were alive at its opening; *candidates*: the clock of each registered worker, by name.

    *draft* is the command to dispatch under *task_id* (JSON text). *version* increases with each registration. After it is CLOSED, *winner*
    is the winner, *by* is the task that closed it and is responsible for the dispatch, and *term* and *until* (epoch ms) are those of the
    successor chain.
    """

    election_id: str
    topic: str
    task_id: str
    draft: str
    nonce: str = ""
    state: str = OPEN
    need: frozenset[str] = frozenset()
    candidates: Mapping[str, int] = NOTHING
    version: int = 0
    winner: str = ""
    by: str = ""
    term: int = 0
    until: int = 0


class ElectionRequest(NamedTuple):
    """The request for an election: see `Election`. *need* and *timeout* (whole seconds) are empty if the first candidate wins."""

    topic: str
    task_id: str
    draft: str
    need: frozenset[str] = frozenset()
    timeout: int = 0


def question(about: Sequence[object]) -> ElectionRequest:
    """Return the request in the arguments *about* of a command, which are untrusted input.

    Raises:
        ArgumentError: they are not a valid request.
    """
    if len(about) not in (3, 5) or not all(isinstance(text, str) for text in about[:3]):
        raise ArgumentError("about", "expected a topic, a task's id and a draft, all strings; if faithful, also members and seconds")
    topic, task_id, draft = map(str, about[:3])
    if not is_id(task_id):
        raise ArgumentError("about[1]", "expected the id of a task")
    if len(about) == 3:
        return ElectionRequest(topic, task_id, draft)
    need, timeout = about[3:]
    if not isinstance(need, list) or not all(isinstance(name, str) for name in need):
        raise ArgumentError("about[3]", "expected the names of members")
    if type(timeout) is not int or not 0 <= timeout <= LONGEST_S:
        raise ArgumentError("about[4]", f"expected whole seconds from 0 to {LONGEST_S}")
    return ElectionRequest(topic, task_id, draft, frozenset(need), timeout)


class Ballot(NamedTuple):
    """The answer to a write: *done* with the new election, or refused with the current one (None: it does not exist)."""

    done: bool
    election: Election | None


class Turn(Enum):
    """A worker's decision on a message that must run on the winner."""

    LEAD = "lead"
    WAIT = "wait"
    SUCCEED = "succeed"


def order(candidates: Mapping[str, int]) -> list[str]:
    """Return the candidates by clock, then by name, so that the winner is first."""
    return sorted(candidates, key=lambda name: (candidates[name], name))


def complete(election: Election) -> bool:
    """Return whether all workers that were alive at the opening have registered, and at least one worker has."""
    return bool(election.candidates) and election.need <= election.candidates.keys()


def closed(election: Election, by: str, now_ms: int) -> Election:
    """Return *election* closed by the task *by*, with the winner among the registered workers.

    Raises:
        ValueError: no worker has registered.
    """
    if not election.candidates:
        raise ValueError(f"election {election.election_id}: no worker has registered")
    winner = order(election.candidates)[0]
    return election._replace(state=CLOSED, winner=winner, by=by, term=0, until=now_ms + int(PATIENCE_S * 1000))


def turn(election: Election, me: str, now_ms: int) -> Turn:
    """Return the decision at *now_ms* of the worker *me*, which holds the message that must run on the winner."""
    if election.state != CLOSED:
        return Turn.WAIT
    if election.winner == me:
        return Turn.LEAD
    return Turn.WAIT if now_ms <= election.until else Turn.SUCCEED


def successor(election: Election, me: str, now_ms: int) -> Election:
    """Return *election* in its next term: its winner is the next candidate in order, or *me* after the last term."""
    chain = order(election.candidates)
    after = chain.index(election.winner) + 1 if election.winner in chain else len(chain)
    leads = chain[after] if after < len(chain) and election.term + 1 < MOST_TERMS else me
    return election._replace(winner=leads, term=election.term + 1, until=now_ms + int(PATIENCE_S * 1000))


def led(election: Election, until_ms: int) -> Election:
    """Return *election* with its winner at work until *until_ms*: no successor takes over before."""
    return election._replace(until=max(election.until, until_ms))
