"""The election of PROTOCOLS §5, exhaustively: N candidates that register late and twice, closers that hesitate.

Registering and acknowledging are one conditional write; anybody may close, with the version that was read; the close
and the dispatch are one transaction. L1: one close, one dispatch. L2: the lowest that registered wins. L3: what is
closed is dispatched.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.simulation.exhaustive.search import Searched, search

Request = tuple[str, int, int, int]
"""The write, its candidate or winner, the version that it names, how often it may still arrive."""


class State(NamedTuple):
    """The item (open or not, who registered, its version, the winner), dispatches, what is under way, closers left."""

    is_open: bool
    candidates: frozenset[int]
    version: int
    winner: int
    dispatched: int
    requests: frozenset[Request]
    closers: int
    wrong: str = ""


class ElectionModel:
    """*size* candidates, of which the lowest shall win; *fault* plants `no version`, `not open`, `two steps` or `late register`."""

    def __init__(self, size: int, closers: int, fault: str = "") -> None:
        """Begin with every registration under way."""
        self.size, self.closers, self.fault = size, closers, fault

    def run(self) -> Searched:
        """Search."""
        registrations = frozenset(("register", number, 0, 2) for number in range(self.size))
        return search(State(True, frozenset(), 0, -1, 0, registrations, self.closers), self.steps, lambda state, _: state.wrong)

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        """Yield whatever may happen next."""
        if state.is_open and state.candidates and state.closers:
            read = ("close", min(state.candidates), state.version, 2)
            yield "somebody reads and will close", state._replace(requests=state.requests | {read}, closers=state.closers - 1)
        for request in state.requests:
            kind, who, version, left = request
            rest = state.requests - {request}
            yield f"{kind} of {who} is lost", state._replace(requests=rest)
            remaining = rest | {(kind, who, version, left - 1)} if left > 1 else rest
            yield f"{kind} of {who} arrives", self._arrived(state._replace(requests=remaining), kind, who, version)

    def _arrived(self, state: State, kind: str, who: int, version: int) -> State:
        if kind == "register":
            may = (state.is_open or self.fault == "late register") and who not in state.candidates
            new = state._replace(candidates=state.candidates | {who}, version=state.version + 1) if may else state
            late = not new.is_open and new.candidates and new.winner != min(new.candidates)
            return new._replace(wrong="L2: the winner is not the lowest that registered") if late else new
        if kind == "dispatch":
            return _dispatched(state)
        current = state.version == version or self.fault == "no version"
        if not ((state.is_open and current) or self.fault == "not open"):
            return state
        closed = state._replace(is_open=False, winner=who)
        if who != min(state.candidates):
            return closed._replace(wrong="L2: the winner is not the lowest that registered")
        if self.fault == "two steps":
            return closed._replace(requests=closed.requests | {("dispatch", who, 0, 2)})
        return _dispatched(closed)


def _dispatched(state: State) -> State:
    more = state.dispatched + 1
    return state._replace(dispatched=min(more, 2), wrong="L1: dispatched twice" if more > 1 else "")
