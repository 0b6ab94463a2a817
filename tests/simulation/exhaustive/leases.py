"""The lease, exhaustively: P processes, each with a few terms, and a network that loses, repeats and delays every request.

Time is nothing here: anybody may find a lease expired at any moment. So what holds here holds under any clock: tokens rise, a grant is
touched by its holder alone, a released one comes to life only through a take. TTL deletes a released lease when no request is under way,
since no request lives for days. What is checked is the shipped texts TAKE_ABSENT, TAKE, RENEW and RELEASE.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from sedano.aws.expressions import Write, leases
from tests.simulation.exhaustive.search import Searched, Triples, remembered, search, written

MOST_VERSIONS = 3
"""Renewals stop here, so that there is an end."""
OUT, TAKING, HOLDING = range(3)
Request = tuple[str, int, int, int, int, int, int]
"""The write, its sender, nonce and token; the token and version it names; how often it may still arrive."""


class Lease(NamedTuple):
    """The item, as far as it matters; *token* 0 is no item."""

    token: int = 0
    nonce: int = -1
    version: int = 0
    held: bool = False


class Contender(NamedTuple):
    """Where a process stands, under which nonce and token, and how many terms it has tried."""

    at: int = OUT
    nonce: int = -1
    token: int = 0
    terms: int = 0


class State(NamedTuple):
    """Everything: the item, the highest token ever, each process, what is under way, what went wrong."""

    lease: Lease
    highest: int
    contenders: tuple[Contender, ...]
    requests: frozenset[Request]
    wrong: str = ""


def _item(lease: Lease) -> Triples:
    if not lease.token:
        return ()
    return (
        ("pk", "S", "l"), ("tok", "N", str(lease.token)), ("nc", "S", str(lease.nonce)), ("rv", "N", str(lease.version)),
        ("st", "S", leases.HELD if lease.held else leases.RELEASED), ("exp", "N", "0"), ("dur", "N", "1"),
    )  # fmt: skip


def applied(writes: dict[str, Write], lease: Lease, request: Request) -> Lease | None:
    """Return the item after *request*, or None when it is refused."""
    kind, _, nonce, token, seen, version, _ = request
    given: Triples = ((":nc", "S", str(nonce)), (":tok", "N", str(token)), (":exp", "N", "0"), (":ttl", "N", "0"))
    if kind in ("TAKE", "TAKE_ABSENT"):
        grant = ((":name", "S", "l"), (":own", "S", ""), (":dur", "N", "1"), (":rv", "N", str(version + 1)))
        given = (*given, *grant, (":seen", "N", str(seen)), (":version", "N", str(version)))
    new = written(writes[kind], _item(lease), given)
    if new is None:
        return None
    found = {name: text for name, _, text in new}
    return Lease(int(found["tok"]), int(found["nc"]), int(found["rv"]), found["st"] == leases.HELD)


SHIPPED = {"TAKE_ABSENT": leases.TAKE_ABSENT, "TAKE": leases.TAKE, "RENEW": leases.RENEW, "RELEASE": leases.RELEASE}


class LeaseModel:
    """*processes* try *terms* terms each; *writes* may hold mutants."""

    def __init__(self, processes: int, terms: int, writes: dict[str, Write] | None = None) -> None:
        """Begin with no item."""
        self.processes, self.terms = processes, terms
        self.applied = remembered(partial(applied, SHIPPED | (writes or {})))

    def run(self) -> Searched:
        """Search."""
        first = State(Lease(), 0, (Contender(),) * self.processes, frozenset())
        return search(first, self.steps, lambda state, _: state.wrong)

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        """Yield whatever may happen next."""
        for number, one in enumerate(state.contenders):
            yield from self._process(state, number, one)
        if state.lease.token and not state.lease.held and not state.requests:
            yield "TTL deletes it", state._replace(lease=Lease())
        for request in state.requests:
            yield from self._network(state, request)

    def _process(self, state: State, number: int, one: Contender) -> Iterator[tuple[str, State]]:
        lease = state.lease
        if one.at == OUT and one.terms < self.terms:
            nonce = number * 8 + one.terms
            token = state.highest + 1 if not lease.token else lease.token + 1
            kind = "TAKE" if lease.token else "TAKE_ABSENT"
            begun = Contender(TAKING, nonce, token, one.terms + 1)
            yield f"{number} looks and takes", _sent(state, number, begun, (kind, number, nonce, token, lease.token, lease.version, 2))
        if one.at == HOLDING:
            if lease.version < MOST_VERSIONS:
                yield f"{number} renews", _sent(state, number, one, ("RENEW", number, one.nonce, one.token, 0, 0, 1))
            gone = Contender(terms=one.terms)
            yield f"{number} releases", _sent(state, number, gone, ("RELEASE", number, one.nonce, one.token, 0, 0, 2))
        if one.at != OUT:
            yield f"{number} dies", _at(state, number, Contender(terms=one.terms))

    def _network(self, state: State, request: Request) -> Iterator[tuple[str, State]]:
        kind, number, nonce, token, *_, left = request
        rest = state.requests - {request}
        yield f"{kind} of {number} is lost", state._replace(requests=rest)
        new = self.applied(state.lease, request)
        one = state.contenders[number]
        awaited = one.at == TAKING and one.nonce == nonce
        if new is None and not awaited:
            return
        after = _checked(state, request, new)._replace(requests=rest | {(*request[:-1], left - 1)} if left > 1 else rest)
        yield f"{kind} of {number} arrives, its answer is lost", after
        if awaited:
            mine = after.lease.held and (after.lease.nonce, after.lease.token) == (nonce, token)
            yield f"{kind} of {number} arrives", _at(after, number, one._replace(at=HOLDING) if mine else Contender(terms=one.terms))


def _at(state: State, number: int, one: Contender) -> State:
    return state._replace(contenders=(*state.contenders[:number], one, *state.contenders[number + 1 :]))


def _sent(state: State, number: int, one: Contender, request: Request) -> State:
    return _at(state, number, one)._replace(requests=state.requests | {request})


def _checked(state: State, request: Request, new: Lease | None) -> State:
    """Return the state after a write, with what is wrong about it (I1, I7)."""
    if new is None:
        return state
    kind, _, nonce, token, *_ = request
    old, wrong = state.lease, ""
    if kind in ("TAKE", "TAKE_ABSENT"):
        wrong = "" if new.token > state.highest else f"I1: token {new.token} after {state.highest}"
    elif (old.nonce, old.token) != (nonce, token):
        wrong = f"I7: {kind} changed somebody else's grant"
    elif not old.held:
        wrong = f"I7: {kind} changed a lease that was released"
    return State(new, max(state.highest, new.token), state.contenders, state.requests, wrong)
