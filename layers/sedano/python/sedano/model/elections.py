"""An election with Celery's meaning and one dispatch: the rule, pure.

Every live worker registers, which is its acknowledgement. The lowest logical clock wins, the name breaks ties. The election closes once:
when all workers that were alive at its opening have registered, or when its time is over, with those that have. Anyone may close it, since
who closes decides nothing: the winner follows from the list of registered workers, and closing is a compare-and-swap on exactly this list
(L1, L2). So an election needs no standing workers, and a dead candidate blocks no other.

The worker that closes must publish, so the close is bound to its claim: in the same transaction the call that closes must still be RUNNING
under its fence. Without that a worker from which the call was taken over could close late, when the call has ended and no message is
delivered again (L3).

The worker that closed dispatches the topic's action, once, even if the winner is dead. A topic that must run *on* the winner has a
successor chain: the message waits for the winner until its patience ends, then the next candidate in order becomes the winner of the next
term; after the fourth term, or the last candidate, the holder of the message dispatches it (L3).

Celery's own Gossip, fed each event once: with one worker it dispatches nothing, with three it dispatches twice in 2 to 11 % of elections,
because each candidate decides for itself when it has heard everybody.
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
"""Whether the lowest clock of all members wins, or the worker that asks dispatches at once."""
TIMEOUT_S, LONGEST_S = 10, 900
"""Whole seconds for which an election is open: by default, and at most."""
ANYBODY = frozenset({"", " ", "  "})
"""The placeholder for members that the opener does not know, as a task may not list them: no worker has such a name, so time closes the
election."""
PATIENCE_S = 10.0
"""How long a winner is waited for, in each term of a topic that must run on it."""
MOST_TERMS = 4
"""How many candidates are waited for: a message that waits is received again and again, and must not count as one that kills its worker."""


class Election(NamedTuple):
    """An election. *need*: the workers alive at its opening; *candidates*: the clock of each registered worker, by name.

    *draft* is the command to dispatch under *task_id* (JSON text). *version* rises with each registration. When it is CLOSED, *winner* has
    won, *by* is the task that closed it and answers for the dispatch, *term* and *until* (epoch ms) are those of the successor chain.
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


class Question(NamedTuple):
    """The question of an election: see `Election`. *need* and *timeout* (whole seconds) are empty where the first candidate wins."""

    topic: str
    task_id: str
    draft: str
    need: frozenset[str] = frozenset()
    timeout: int = 0


def question(about: Sequence[object]) -> Question:
    """Return what the arguments *about* of a command ask; anyone may write a command.

    Raises:
        ArgumentError: they ask nothing that an election can decide.
    """
    if len(about) not in (3, 5) or not all(isinstance(text, str) for text in about[:3]):
        raise ArgumentError("about", "expected a topic, a task's id and a draft as texts; for a faithful election also members and seconds")
    topic, task_id, draft = map(str, about[:3])
    if not is_id(task_id):
        raise ArgumentError("about[1]", "expected the id of a task")
    if len(about) == 3:
        return Question(topic, task_id, draft)
    need, timeout = about[3:]
    if not isinstance(need, list) or not all(isinstance(name, str) for name in need):
        raise ArgumentError("about[3]", "expected the names of members")
    if type(timeout) is not int or not 0 <= timeout <= LONGEST_S:
        raise ArgumentError("about[4]", f"expected whole seconds from 0 to {LONGEST_S}")
    return Question(topic, task_id, draft, frozenset(need), timeout)


class Ballot(NamedTuple):
    """The answer to a write: *done* with the election as it is now, or refused with the one in the way (None: it does not exist)."""

    done: bool
    election: Election | None


class Turn(Enum):
    """The decisions of a worker about a message that must run on the winner."""

    LEAD = "lead"
    WAIT = "wait"
    SUCCEED = "succeed"


def order(candidates: Mapping[str, int]) -> list[str]:
    """Return the candidates, the winner first: by clock, then by name."""
    return sorted(candidates, key=lambda name: (candidates[name], name))


def complete(election: Election) -> bool:
    """Return whether every worker that was alive at the opening has registered, and at least one has."""
    return bool(election.candidates) and election.need <= election.candidates.keys()


def closed(election: Election, by: str, now_ms: int) -> Election:
    """Return *election* closed by the task *by*, with the winner that follows from who has registered.

    Raises:
        ValueError: no worker has registered.
    """
    if not election.candidates:
        raise ValueError(f"election {election.election_id}: no worker has registered")
    winner = order(election.candidates)[0]
    return election._replace(state=CLOSED, winner=winner, by=by, term=0, until=now_ms + int(PATIENCE_S * 1000))


def turn(election: Election, me: str, now_ms: int) -> Turn:
    """Return what *me*, who holds the message that must run on the winner, does at *now_ms*."""
    if election.state != CLOSED:
        return Turn.WAIT
    if election.winner == me:
        return Turn.LEAD
    return Turn.WAIT if now_ms <= election.until else Turn.SUCCEED


def successor(election: Election, me: str, now_ms: int) -> Election:
    """Return *election* in its next term: led by the next candidate in order, and by *me* when enough were waited for."""
    chain = order(election.candidates)
    after = chain.index(election.winner) + 1 if election.winner in chain else len(chain)
    leads = chain[after] if after < len(chain) and election.term + 1 < MOST_TERMS else me
    return election._replace(winner=leads, term=election.term + 1, until=now_ms + int(PATIENCE_S * 1000))


def led(election: Election, until_ms: int) -> Election:
    """Return *election* with its winner at work until *until_ms*: it has no successor before."""
    return election._replace(until=max(election.until, until_ms))
