"""The lease, exhaustively: processes that try a few terms each, and a network that loses, repeats and delays every request.

Time is nothing here: anybody may find a lease expired at any moment. So what holds here holds under any clock: tokens rise, a grant is
touched by its holder alone, a released one comes to life only through a take. TTL deletes a released lease when no request is under way,
since no request lives for days. What is checked is the shipped texts TAKE_ABSENT, TAKE, RENEW and RELEASE.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sedano.aws.expressions import Write, leases
from tests.simulation.exhaustive.network import NOBODY, Model, Move, State
from tests.simulation.exhaustive.search import Triples, written

OUT, TAKING, HOLDING = range(3)
MOST_RENEWALS = 2
"""Renewals of one term stop to arrive here, so that there is an end."""


class Lease(NamedTuple):
    """The item, as far as it matters (*token* 0 is no item), how often this term was renewed, and the highest token that ever was."""

    nonce: int = NOBODY
    token: int = 0
    version: int = 0
    held: bool = False
    renewals: int = 0
    highest: int = 0


class Contender(NamedTuple):
    """Where a process stands: its nonce and token, what it does, how many terms it has tried."""

    number: int
    nonce: int = NOBODY
    at: int = OUT
    token: int = 0
    terms: int = 0


class Request(NamedTuple):
    """A write under way: whose, its token, and the token and version that it names."""

    kind: str
    nonce: int
    token: int
    seen: int = 0
    version: int = 0


def _item(lease: Lease) -> Triples:
    if not lease.token:
        return ()
    return (
        ("pk", "S", "l"), ("tok", "N", str(lease.token)), ("nc", "S", str(lease.nonce)), ("rv", "N", str(lease.version)),
        ("st", "S", leases.HELD if lease.held else leases.RELEASED), ("exp", "N", "0"), ("dur", "N", "1"),
    )  # fmt: skip


def _values(request: Request) -> Triples:
    kind, nonce, token, seen, version = request
    mine: Triples = ((":nc", "S", str(nonce)), (":tok", "N", str(token)), (":exp", "N", "0"))
    if kind in ("RENEW", "RELEASE"):
        return mine
    return (*mine, (":rv", "N", str(version + 1)), (":dur", "N", "1"), (":seen", "N", str(seen)), (":version", "N", str(version)))


SHIPPED = {"TAKE_ABSENT": leases.TAKE_ABSENT, "TAKE": leases.TAKE, "RENEW": leases.RENEW, "RELEASE": leases.RELEASE}


class LeaseModel(Model):
    """*processes* try *terms* terms each; *writes* may hold mutants."""

    def __init__(self, processes: int, terms: int, writes: dict[str, Write] | None = None) -> None:
        """Begin with no item."""
        super().__init__()
        self.terms, self.writes = terms, SHIPPED | (writes or {})
        self.first = State(Lease(), tuple(Contender(number) for number in range(processes)), frozenset())

    def moves(self, lease: Lease, one: Contender) -> Sequence[Move]:
        """Return what *one* may do by itself."""
        number, nonce, at, token, terms = one
        out = Contender(number, terms=terms)
        if at == OUT:
            return [self._takes(lease, number, terms)] if terms < self.terms else []
        dies = (f"{number} dies, or takes a refusal for one", out, None)
        if at == TAKING:
            return [dies]
        renews = (f"{number} renews", one, Request("RENEW", nonce, token))
        return [dies, renews, (f"{number} releases", out, Request("RELEASE", nonce, token))]

    def _takes(self, lease: Lease, number: int, terms: int) -> Move:
        nonce, token = 8 * number + terms, (lease.token or lease.highest) + 1
        kind = "TAKE" if lease.token else "TAKE_ABSENT"
        taking = Contender(number, nonce, TAKING, token, terms + 1)
        return f"{number} looks and takes, as nonce {nonce}", taking, Request(kind, nonce, token, lease.token, lease.version)

    def written(self, lease: Lease, request: Request) -> tuple[Lease, str] | None:
        """Return the item after *request*, with what is wrong about that (I1, I7)."""
        if request.kind == "RENEW" and lease.renewals == MOST_RENEWALS:
            return None
        new = written(self.writes[request.kind], _item(lease), _values(request))
        if new is None:
            return None
        found = {name: text for name, _, text in new}
        token, held = int(found["tok"]), found["st"] == leases.HELD
        renewals = lease.renewals + 1 if request.kind == "RENEW" else 0
        after = Lease(int(found["nc"]), token, int(found["rv"]), held, renewals, max(lease.highest, token))
        return after, _complaint(lease, request, after)

    def granted(self, lease: Lease, one: Contender, request: Request) -> Move | None:
        """Return what a take that was answered makes of *one*."""
        awaited = one.at == TAKING and one.nonce == request.nonce
        return ("granted", one._replace(at=HOLDING), None) if awaited else None

    def refused(self, lease: Lease, one: Contender) -> Sequence[Move]:
        """Return what *one* may do when its take comes again and is refused: it knows its own mark. (Else it is out, as if it died.)"""
        mine = lease.held and (lease.nonce, lease.token) == (one.nonce, one.token)
        return [(f"{one.number} recognises its grant", one._replace(at=HOLDING), None)] if one.at == TAKING and mine else []

    def aged(self, lease: Lease) -> Lease | None:
        """Return a released lease after its TTL."""
        return Lease(highest=lease.highest) if lease.token and not lease.held else None


def _complaint(old: Lease, request: Request, new: Lease) -> str:
    if request.kind in ("TAKE", "TAKE_ABSENT"):
        return "" if new.token > old.highest else f"I1: token {new.token} after {old.highest}"
    if (old.nonce, old.token) != (request.nonce, request.token):
        return f"I7: {request.kind} changed somebody else's grant"
    return "" if old.held else f"I7: {request.kind} changed a lease that was released"
