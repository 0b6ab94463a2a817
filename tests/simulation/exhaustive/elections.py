"""The election of PROTOCOLS §5, exhaustively: candidates that register late and twice, closers that hesitate, a message that waits.

What is checked is the shipped texts (REGISTER; CLOSE and DISPATCH in one transaction; PASS) and the shipped rules
(`model.elections`). L1: one close, one dispatch. L2: the lowest that registered wins. And of a topic that must run on the
winner: one successor a term, each the next in order. Who dies stops asking, which the network of `exhaustive.network`
contains: a request that never arrives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sedano.aws.expressions import Write, elections
from sedano.model import states
from sedano.model.elections import CLOSED, OPEN, Election, closed, successor
from tests.simulation.exhaustive.network import Model, Move, State
from tests.simulation.exhaustive.search import Triples, written

SHIPPED = {"register": elections.REGISTER, "close": elections.CLOSE, "dispatch": elections.DISPATCH, "pass": elections.PASS}


class Ballot(NamedTuple):
    """The election's item as far as it matters, and how often its task was dispatched. *entries* are "clock name"."""

    state: str = OPEN
    entries: tuple[str, ...] = ()
    version: int = 0
    winner: str = ""
    term: int = 0
    dispatched: int = 0


class Worker(NamedTuple):
    """One worker, its nonce, and how many more writes it will ask for. It never waits: what it is told, it reads in the item."""

    number: int
    nonce: int
    asks: int


class Request(NamedTuple):
    """A write under way: its worker, what it writes, and the version, winner and term that it names."""

    kind: str
    nonce: int
    text: str = ""
    seen: str = ""
    version: int = 0


def _item(ballot: Ballot) -> Triples:
    state, entries, version, winner, term, _ = ballot
    sets = (("voters", "SS", tuple(sorted(map(_name, entries)))), ("cand", "SS", entries)) if entries else ()
    return (
        ("pk", "S", "e"), ("elect", "S", "e"), ("st", "S", state), ("ver", "N", str(version)), ("win", "S", winner),
        ("term", "N", str(term)), ("until", "N", str(term)), *sets,
    )  # fmt: skip


def _values(request: Request) -> Triples:
    kind, nonce, text, seen, version = request
    if kind == "register":
        return (":name", "S", _name(text)), (":names", "SS", (_name(text),)), (":entry", "SS", (text,))
    before, after = str(version), str(version + 1 if kind == "pass" else 0)
    return (
        (":ver", "N", before), (":before", "N", before), (":lapsed", "N", before), (":seen", "S", seen), (":win", "S", text),
        (":by", "S", str(nonce)), (":term", "N", after), (":until", "N", after),
    )  # fmt: skip


def _name(entry: str) -> str:
    return entry.partition(" ")[2]


def _election(ballot: Ballot) -> Election:
    candidates = {name: int(clock) for clock, _, name in (entry.partition(" ") for entry in ballot.entries)}
    return Election("e", "", "t", "", state=ballot.state, candidates=candidates, winner=ballot.winner, term=ballot.term)


class ElectionModel(Model):
    """*size* candidates, each with a clock of its own, that may ask *asks* times to close or to succeed; *writes* may hold mutants.

    *apart* plants a fault that no text has: the dispatch is no part of the close's transaction.
    """

    def __init__(self, size: int, asks: int, writes: dict[str, Write] | None = None, *, apart: bool = False) -> None:
        """Begin with every registration under way, and another of each worker at a later clock."""
        super().__init__()
        self.writes, self.apart = SHIPPED | (writes or {}), apart
        entries = [(number, f"{clock} w{number}") for number in range(size) for clock in (size - number, size - number + 10)]
        registrations = frozenset(Request("register", number, entry) for number, entry in entries)
        self.first = State(Ballot(), tuple(Worker(number, number, asks) for number in range(size)), registrations)

    def moves(self, ballot: Ballot, worker: Worker) -> Sequence[Move]:
        """Return what *worker* may ask for after it looked: to close, or when it is closed and the winner's time is over, to succeed."""
        number, nonce, asks = worker
        if not asks or not ballot.entries:
            return []
        less, election = worker._replace(asks=asks - 1), _election(ballot)
        if ballot.state == OPEN:
            winner = closed(election, str(nonce), 0).winner
            return [(f"w{number} looks and closes", less, Request("close", nonce, winner, "", ballot.version))]
        leads = successor(election, f"w{number}", 0).winner
        return [(f"w{number} looks and succeeds", less, Request("pass", nonce, leads, ballot.winner, ballot.term))]

    def written(self, ballot: Ballot, request: Request) -> tuple[Ballot, str] | None:
        """Return the item after *request*, with what is wrong about that (L1, L2)."""
        new = written(self.writes[request.kind], _item(ballot), _values(request))
        dispatches = request.kind == "close" and not self.apart
        if new is None or (dispatches and not self._may_dispatch(ballot)):
            return None
        found = {name: held for name, _, held in new}
        dispatched = ballot.dispatched + dispatches
        after = Ballot(found["st"], found.get("cand", ()), int(found["ver"]), found["win"], int(found["term"]), min(2, dispatched))
        return after, _complaint(ballot, request, after)

    def _may_dispatch(self, ballot: Ballot) -> bool:
        """Tell whether DISPATCH, the other half of the transaction that closes, finds no task yet."""
        task: Triples = (("pk", "S", "t"), ("st", "S", states.PENDING)) if ballot.dispatched else ()
        return written(self.writes["dispatch"], task, ()) is not None

    def granted(self, ballot: Ballot, worker: Worker, request: Request) -> Move | None:
        """Return nothing: a worker looks again."""
        return None

    def refused(self, ballot: Ballot, worker: Worker) -> Sequence[Move]:
        """Return nothing: a worker looks again."""
        return []


def _complaint(old: Ballot, request: Request, new: Ballot) -> str:
    if new.dispatched > 1:
        return "L1: dispatched twice"
    if new.state == CLOSED and not new.dispatched:
        return "L3: closed and not dispatched"
    if new.state == CLOSED and not new.term and new.winner != closed(_election(new), "", 0).winner:
        return "L2: the winner is not the lowest that registered"
    if len(set(map(_name, new.entries))) < len(new.entries):
        return "I7: a worker registered twice"
    seen = (old.winner, old.term) == (request.seen, request.version)
    return "I7: succeeded somebody whom it did not see" if request.kind == "pass" and not seen else ""
