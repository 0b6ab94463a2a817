"""What a network can do to the requests of a few processes, whole: `soup` for searching, `literal` to check that nothing was left out.

A model says what its processes do by themselves, what a request makes of the record, and what an answer makes of its sender. The soup adds
a network that may do anything: each request that was ever sent may arrive at any later moment, any number of times, answered or not (the
set of sent messages that only grows, as in Lamport's specifications of Paxos). What makes its states few:

- A lost request is one that never arrives, so there is no step for losing it. Nothing is asked here that needs a request to be gone
  (what must happen at last is asked in `follow` and in the simulation), except TTL, whose step loses everything that is under way.
- A request that can change nothing any more is forgotten: fences, tokens and versions only rise, so what is refused once is refused for
  ever. Its answer is not forgotten: whoever awaits one may be refused with the record that stands.
- An answer comes at the moment of its arrival. One that comes later tells of an older record, which is what a process has that hesitates.

`literal` does none of this: every request is lost, or arrives once or a few times, answered or not. `test_exhaustive` holds
on small worlds that whatever it reaches the soup reaches too. Processes are not taken for interchangeable: naming them anew
costs more than it saves.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tests.simulation.exhaustive.search import Searched, remembered, search

NOBODY = -1
"""The nonce of whoever has none."""
_NOTHING: frozenset[Any] = frozenset()
Move = tuple[str, Any, Any]
"""What happened, the process afterwards, and the request that it sent (None: none)."""


class State(NamedTuple):
    """Everything: the record, each process, what is under way, and what went wrong."""

    record: Any
    processes: tuple[Any, ...]
    requests: frozenset[Any]
    wrong: str = ""


class Model:
    """A protocol of processes that write one record: what it does follows from its arguments alone, so it is remembered.

    All are tuples. A process begins with its number and its nonce, a request with its kind and its nonce; `NOBODY` stands for none.
    """

    first: State

    def __init__(self) -> None:
        """Remember every answer."""
        for name in ("moves", "written", "granted", "refused", "aged", "own"):
            setattr(self, name, remembered(getattr(self, name)))

    @abstractmethod
    def moves(self, record: Any, process: Any) -> Sequence[Move]:
        """Return what *process* may do by itself; it reads *record* when it looks."""

    @abstractmethod
    def written(self, record: Any, request: Any) -> tuple[Any, str] | None:
        """Return the record after *request* and what is wrong about that; None: the request is refused."""

    @abstractmethod
    def granted(self, record: Any, process: Any, request: Any) -> Move | None:
        """Return what *process* does when *request* made *record* and is answered; None: it does not wait for that."""

    @abstractmethod
    def refused(self, record: Any, process: Any) -> Sequence[Move]:
        """Return what *process* may do when a request of its own, whose answer it awaits, is refused by *record*."""

    def aged(self, record: Any) -> Any:
        """Return *record* after so long a time that every request is over; None: nothing happens to it."""
        return None

    def run(self) -> Searched:
        """Search."""
        return search(self.first, self.soup, _wrong)

    def soup(self, state: State) -> Iterator[tuple[str, State]]:
        """Yield whatever may happen next."""
        record, processes, requests, _ = state
        for number, process in enumerate(processes):
            for label, after, sent in self.own(record, process):
                more = requests if sent is None else requests | {sent}
                yield label, State(record, _put(processes, number, after), more)
        for request in requests:
            yield from self._arrives(state, request)
        if (aged := self.aged(record)) is not None:
            yield "TTL deletes it", State(aged, processes, _NOTHING)

    def own(self, record: Any, process: Any) -> Sequence[Move]:
        """Return what *process* may do without a grant; a request that would be refused is not worth sending."""
        moves = [*self.moves(record, process), *self.refused(record, process)]
        return [(label, after, sent if sent is not None and self.written(record, sent) else None) for label, after, sent in moves]

    def _arrives(self, state: State, request: Any) -> Iterator[tuple[str, State]]:
        record, processes, requests, _ = state
        new, wrong = self.written(record, request) or (record, "")
        left = frozenset([one for one in requests if self.written(new, one) is not None])
        yield f"{request[0]} of nonce {request[1]} arrives, its answer is lost", State(new, processes, left, wrong)
        for number, process in enumerate(processes):
            if process[1] == request[1] and (move := self.granted(new, process, request)) is not None:
                label = f"{request[0]} of nonce {request[1]} arrives, {move[0]}"
                yield label, State(new, _put(processes, number, move[1]), left, wrong)

    def literally_first(self, times: int) -> State:
        """Return the first state as `literal` has it."""
        return self.first._replace(requests=frozenset((request, times) for request in self.first.requests))

    def literal(self, state: State, times: int) -> Iterator[tuple[str, State]]:
        """Yield whatever may happen next when a request, sent as (request, arrivals left), is lost or arrives up to *times* times."""
        record, processes, requests, _ = state
        for number, process in enumerate(processes):
            for label, after, sent in self.moves(record, process):
                more = requests if sent is None else requests | {(sent, times)}
                yield label, State(record, _put(processes, number, after), more)
        for request, left in requests:
            rest = requests - {(request, left)}
            yield "lost", State(record, processes, rest)
            kept = State(record, processes, rest | {(request, left - 1)} if left > 1 else rest)
            yield from self._literally(kept, request, times)
        if not requests and (aged := self.aged(record)) is not None:
            yield "TTL deletes it", State(aged, processes, requests)

    def _literally(self, state: State, request: Any, times: int) -> Iterator[tuple[str, State]]:
        record, processes, requests, _ = state
        done = self.written(record, request)
        new, wrong = done or (record, "")
        yield "its answer is lost", State(new, processes, requests, wrong)
        for number, process in enumerate(processes):
            if process[1] != request[1]:
                continue
            granted = self.granted(new, process, request) if done else None
            for label, after, sent in [granted] if granted else [] if done else self.refused(new, process):
                more = requests if sent is None else requests | {(sent, times)}
                yield label, State(new, _put(processes, number, after), more, wrong)


def _wrong(state: State, _: bool) -> str:
    return state.wrong


def _put(processes: tuple[Any, ...], number: int, process: Any) -> tuple[Any, ...]:
    return (*processes[:number], process, *processes[number + 1 :])
