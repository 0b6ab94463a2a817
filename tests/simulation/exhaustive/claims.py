"""The claim, exhaustively: P processes that are each given one task's message a few times; the network loses, repeats, delays.

Anybody may find a claim expired at any moment, anybody may crash at any moment, every request may arrive twice and as
late as it likes. What is checked is the shipped texts (CLAIM, STEAL, RECORD) and the shipped rule
(`model.claim.decide`). A nonce is a number: process x 8 + delivery.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import NamedTuple

from sedano.aws.expressions import Write, tasks
from sedano.model import states
from sedano.model.claim import Action, decide
from sedano.model.records import Claim, TaskRecord
from tests.simulation.exhaustive.search import Searched, remembered, search, written

IDLE, CLAIMING, RUNNING, RECORDING, DONE = range(5)
Request = tuple[str, int, int, int, int, int]
"""What is under way: the write, who sent it, its nonce, the fence and nonce it names, how often it may still arrive."""


class Record(NamedTuple):
    """The task's item, as far as it matters: expiry is the fence, since nothing else changes it."""

    state: str = ""
    fence: int = 0
    nonce: int = -1


class Process(NamedTuple):
    """Where a process stands: what it does, under which nonce and fence, how many deliveries it had."""

    at: int = IDLE
    nonce: int = -1
    fence: int = 0
    deliveries: int = 0


class State(NamedTuple):
    """Everything: the item, how many effects there were, each process, what is under way, and what went wrong."""

    record: Record
    effects: int
    processes: tuple[Process, ...]
    requests: frozenset[Request]
    wrong: str = ""


def _item(record: Record) -> tuple[tuple[str, str, str], ...]:
    if not record.state:
        return ()
    return (
        ("pk", "S", "t"), ("st", "S", record.state), ("try", "N", "0"), ("att", "N", str(record.fence)), ("cnt", "N", str(record.fence)),
        ("nc", "S", str(record.nonce)), ("exp", "N", str(record.fence)),
    )  # fmt: skip


def applied(claim: Write, steal: Write, end: Write, record: Record, request: Request) -> Record | None:
    """Return the item after *request*, or None when it is refused."""
    kind, _, nonce, fence, seen, _ = request
    hold = ((":nc", "S", str(nonce)), (":mid", "S", "m"), (":clk", "N", "0"), (":nm", "S", ""), (":ttl", "N", "0"), (":try", "N", "0"))
    given: tuple[tuple[str, str, str], ...]
    if kind == "claim":
        write, given = claim, (*hold, (":exp", "N", "1"))
    elif kind == "steal":
        lapsed = ((":att", "N", str(fence)), (":seen", "S", str(seen)), (":lapsed", "N", str(fence)))
        write, given = steal, (*hold, *lapsed, (":exp", "N", str(fence + 1)))
    else:
        done = ((":st", "S", states.SUCCESS), (":res", "S", ""), (":tail", "S", ""), (":nc", "S", str(nonce)), (":att", "N", str(fence)))
        write, given = end, (*done, (":try", "N", "0"), (":clk", "N", "0"), (":nm", "S", ""), (":ttl", "N", "0"))
    new = written(write, _item(record), given)
    if new is None:
        return None
    found = {name: text for name, _, text in new}
    return Record(found["st"], int(found.get("att", 0)), int(found.get("nc", -1)))


@lru_cache(100_000)
def action(record: Record, nonce: int, *, expired: bool) -> Action:
    """Return what the rule says to a claim under *nonce* that *record* refused."""
    claim = Claim("t", 0, "m", str(nonce), 0.0, 0, "")
    seen = TaskRecord("t", record.state, 0, record.fence, 1, str(record.nonce), "m", 10.0)
    return decide(claim, seen, 20.0 if expired else 5.0, 1_000).action


class ClaimModel:
    """*processes* are each given the message *deliveries* times. The writes may be replaced by mutants."""

    def __init__(
        self, processes: int, deliveries: int, claim: Write = tasks.CLAIM, steal: Write = tasks.STEAL, end: Write = tasks.RECORD
    ) -> None:
        """Begin with no record."""
        self.processes, self.deliveries = processes, deliveries
        self.applied = remembered(partial(applied, claim, steal, end))

    def run(self) -> Searched:
        """Search."""
        first = State(Record(), 0, (Process(),) * self.processes, frozenset())
        return search(first, self.steps, lambda state, _: state.wrong)

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        """Yield whatever may happen next."""
        for number, process in enumerate(state.processes):
            yield from self._process(state, number, process)
        for request in state.requests:
            for label, following in self._network(state, request):
                yield label, self.tidy(following)

    def tidy(self, state: State) -> State:
        """Forget requests that can change nothing any more (fences only rise) and whose answer nobody awaits."""
        kept = frozenset(request for request in state.requests if self._matters(state, request))
        return state if len(kept) == len(state.requests) else state._replace(requests=kept)

    def _matters(self, state: State, request: Request) -> bool:
        process = state.processes[request[1]]
        awaited = process.nonce == request[2] and process.at in (CLAIMING, RECORDING)
        return awaited or self.applied(state.record, request) is not None

    def _process(self, state: State, number: int, process: Process) -> Iterator[tuple[str, State]]:
        if process.at == IDLE and process.deliveries < self.deliveries:
            nonce = number * 8 + process.deliveries
            begun = Process(CLAIMING, nonce, 0, process.deliveries + 1)
            yield f"{number} is given the message", _sends(state, number, begun, ("claim", number, nonce, 0, -1, 2))
        if process.at == RUNNING:
            sent = ("record", number, process.nonce, process.fence, -1, 2)
            yield f"{number} ended its body", _sends(state, number, process._replace(at=RECORDING), sent)
        if process.at in (CLAIMING, RUNNING, RECORDING):
            yield f"{number} dies", self.tidy(_at(state, number, Process(deliveries=process.deliveries)))

    def _network(self, state: State, request: Request) -> Iterator[tuple[str, State]]:
        kind, number, *_, left = request
        rest = state.requests - {request}
        yield f"{kind} of {number} is lost", state._replace(requests=rest)
        remaining = rest | {(*request[:-1], left - 1)} if left > 1 else rest
        new = self.applied(state.record, request)
        after = _checked(state, request, new)._replace(requests=remaining)
        yield f"{kind} of {number} arrives, its answer is lost", after
        for said, process in self._answers(after, request, new):
            yield f"{kind} of {number} arrives, {said}", process

    def _answers(self, state: State, request: Request, new: Record | None) -> Iterator[tuple[str, State]]:
        kind, number, nonce, *_ = request
        process = state.processes[number]
        if process.nonce != nonce:
            return
        if kind == "record" and process.at == RECORDING:
            mine = state.record.state == states.SUCCESS and state.record.nonce == nonce
            yield "answered", _at(state, number, Process(DONE if mine else IDLE, deliveries=process.deliveries))
        elif kind != "record" and process.at == CLAIMING:
            if new is not None:
                yield "granted", _at(state, number, process._replace(at=RUNNING, fence=new.fence))
                return
            for expired in (False, True):
                yield from self._refused(state, number, process, expired=expired)

    def _refused(self, state: State, number: int, process: Process, *, expired: bool) -> Iterator[tuple[str, State]]:
        record = state.record
        told = action(record, process.nonce, expired=expired)
        if told is Action.RUN:
            yield "recognised", _at(state, number, process._replace(at=RUNNING, fence=record.fence))
        elif told is Action.STEAL:
            if record.fence <= self.processes * self.deliveries:
                yield "expired", _sends(state, number, process, ("steal", number, process.nonce, record.fence, record.nonce, 2))
        else:
            yield "refused", _at(state, number, Process(deliveries=process.deliveries))


def _at(state: State, number: int, process: Process) -> State:
    return state._replace(processes=(*state.processes[:number], process, *state.processes[number + 1 :]))


def _sends(state: State, number: int, process: Process, request: Request) -> State:
    return _at(state, number, process)._replace(requests=state.requests | {request})


def _checked(state: State, request: Request, new: Record | None) -> State:
    """Return the state after a write, with what is wrong about it (I1, E1, E3, I7)."""
    if new is None:
        return state
    kind, _, nonce, fence, *_ = request
    old, wrong = state.record, ""
    if old.state == states.SUCCESS:
        wrong = "E3: a terminal record changed"
    elif kind == "record" and (old.nonce, old.fence) != (nonce, fence):
        wrong = "I7: recorded over somebody else's claim"
    elif kind != "record" and new.fence != old.fence + 1:
        wrong = "I1: a claim that does not raise the fence"
    elif kind == "claim" and old.state:
        wrong = "I7: claimed what somebody held"
    effects = state.effects + (kind == "record")
    return State(new, effects, state.processes, state.requests, wrong or ("E1: two effects" if effects > 1 else ""))
