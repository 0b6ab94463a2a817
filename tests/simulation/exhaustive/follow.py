"""Follow-ups and retries, exhaustively: one task, its message and a copy of it, handlers that die, follow-ups that must not be lost.

The rule is the shipped one (`model.ledger.claims.decide`) and so are the writes (CLAIM, STEAL, RECORD). Each is atomic with its answer
here, since `exhaustive.claims` has looked at them one by one. When nothing is left to happen, the task has ended and what follows from it
was published: E4, for every order of deliveries, copies and deaths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from sedano.aws.expressions import tasks
from sedano.model import states
from sedano.model.ledger.claims import Action, decide
from sedano.model.ledger.records import Claim, TaskRecord
from tests.simulation.exhaustive.search import Searched, Triples, remembered, search, written

STARTED, RUNNING, FOLLOWING, RETRYING, ACKNOWLEDGING = range(5)


class Record(NamedTuple):
    """The task's record: state, attempt, the holder's nonce, the message that claimed."""

    state: str = ""
    attempt: int = 0
    nonce: int = 0
    message: str = ""


class Message(NamedTuple):
    """One copy of a message in the queue: its own id, the attempt it asks for, whether it was deleted."""

    id: str
    attempt: int
    deleted: bool = False


class Handler(NamedTuple):
    """One delivery at work: its nonce, the number of its copy, and where it stands."""

    nonce: int
    copy: int
    at: int


class State(NamedTuple):
    """Everything: the record, the queue, handlers, whether the follow-ups are published, deaths and deliveries left, retries published."""

    record: Record
    queue: tuple[Message, ...]
    handlers: frozenset[Handler]
    followed: bool
    deaths: int
    nonces: int
    retries: int


Rule = Callable[[Claim, TaskRecord, float, int], Action]


def shipped(claim: Claim, record: TaskRecord, now: float, most: int) -> Action:
    """Return what the library's rule says."""
    return decide(claim, record, now, most).action


WRITES = {"claim": tasks.CLAIM, "steal": tasks.STEAL, "record": tasks.RECORD}


@remembered
def after(kind: str, record: Record, message: str, nonce: int, attempt: int, state: str = "") -> Record | None:
    """Return the record after the write *kind* under *nonce*; None: refused. Fence and expiry are always those that were seen."""
    item: Triples = (
        ("pk", "S", "t"), ("st", "S", record.state), ("try", "N", str(record.attempt)), ("att", "N", "1"), ("cnt", "N", "1"),
        ("nc", "S", str(record.nonce)), ("mid", "S", record.message), ("exp", "N", "1"),
    )  # fmt: skip
    values: Triples = (
        (":st", "S", state), (":try", "N", str(attempt)), (":att", "N", "1"), (":seen", "S", str(record.nonce)), (":nc", "S", str(nonce)),
        (":mid", "S", message), (":lapsed", "N", "1"),
    )  # fmt: skip
    new = written(WRITES[kind], item if record.state else (), values)
    if new is None:
        return None
    found = {name: text for name, _, text in new}
    return Record(found["st"], int(found["try"]), int(found["nc"]), found["mid"])


class FollowModel:
    """*deaths* handlers may die, at most *deliveries* are made at once; *rule* may be a mutant."""

    def __init__(self, deaths: int, deliveries: int, rule: Rule = shipped) -> None:
        """Begin with one message and a copy of it."""
        self.deaths, self.deliveries = deaths, deliveries
        self.rule = remembered(self._ask)
        self._rule = rule

    def run(self) -> Searched:
        """Search."""
        first = State(Record(), (Message("A", 0), Message("A", 0)), frozenset(), False, self.deaths, 1, 0)
        return search(first, self.steps, self.wrong)

    def _ask(self, record: Record, message: Message, nonce: int, *, expired: bool) -> Action:
        claim = Claim("t", message.attempt, message.id, str(nonce), 0.0, 0, "")
        seen = TaskRecord("t", record.state, record.attempt, 1, 1, str(record.nonce), record.message, 10.0)
        return self._rule(claim, seen, 20.0 if expired else 5.0, 1_000)

    def wrong(self, state: State, _: bool) -> str:
        """Name what is wrong with a state at rest."""
        if state.handlers or not all(message.deleted for message in state.queue):
            return ""
        if state.record.state not in states.TERMINAL:
            return f"E2: every message is gone and the task is {state.record.state or 'unknown'}"
        return "" if state.followed else "E4: every message is gone and nothing was followed"

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        """Yield whatever may happen next."""
        busy = {handler.copy for handler in state.handlers}
        for copy, message in enumerate(state.queue):
            if not message.deleted and len(state.handlers) < self.deliveries and (copy not in busy or state.deaths):
                handler = Handler(state.nonces, copy, STARTED)
                lost = copy in busy
                yield f"copy {copy} is delivered", _renamed(
                    state._replace(handlers=state.handlers | {handler}, nonces=state.nonces + 1, deaths=state.deaths - lost)
                )
        for handler in state.handlers:
            rest = state._replace(handlers=state.handlers - {handler})
            if state.deaths:
                yield f"the handler of copy {handler.copy} dies", _renamed(rest._replace(deaths=state.deaths - 1))
            for label, following in self._handler(rest, handler):
                yield label, _renamed(following)

    def _handler(self, rest: State, handler: Handler) -> Iterator[tuple[str, State]]:
        record, message = rest.record, rest.queue[handler.copy]
        if handler.at == STARTED:
            yield from self._claim(rest, handler, record, message)
        elif handler.at == RUNNING:
            yield from self._record(rest, handler, record)
        elif handler.at == FOLLOWING:
            yield "its follow-ups are published", _on(rest, handler, ACKNOWLEDGING)._replace(followed=True)
        elif handler.at == RETRYING:
            yield "its retry is published", _on(_retried(rest, record.attempt), handler, ACKNOWLEDGING)
        else:
            gone = message._replace(deleted=True)
            yield "it is acknowledged", rest._replace(queue=(*rest.queue[: handler.copy], gone, *rest.queue[handler.copy + 1 :]))

    def _claim(self, rest: State, handler: Handler, record: Record, message: Message) -> Iterator[tuple[str, State]]:
        granted = after("claim", record, message.id, handler.nonce, message.attempt)
        if granted is not None:
            yield "it claims", _on(rest._replace(record=granted), handler, RUNNING)
            return
        for expired in (False, True):
            action = self.rule(record, message, handler.nonce, expired=expired)
            if action is Action.STEAL:
                stolen = after("steal", record, message.id, handler.nonce, record.attempt)
                yield "it steals", _on(rest._replace(record=stolen or record), handler, RUNNING)
            elif action in _THEN:
                then, label = _THEN[action]
                yield label, _on(rest, handler, then)
            else:
                yield "it waits", rest

    def _record(self, rest: State, handler: Handler, record: Record) -> Iterator[tuple[str, State]]:
        ended = after("record", record, record.message, handler.nonce, record.attempt, states.SUCCESS)
        if ended is None:
            yield "its record is refused", rest
            return
        yield "it records its success", _on(rest._replace(record=ended), handler, FOLLOWING)
        retry = after("record", record, record.message, handler.nonce, record.attempt + 1, states.RETRY)
        if retry is not None and record.attempt < 1:
            yield "it records a retry", _on(rest._replace(record=retry), handler, RETRYING)


_THEN = {
    Action.FOLLOW_AGAIN: (FOLLOWING, "it follows again"),
    Action.RETRY_AGAIN: (RETRYING, "it retries again"),
    Action.ACKNOWLEDGE: (ACKNOWLEDGING, "it has nothing to do"),
}


def _on(state: State, handler: Handler, at: int) -> State:
    return state._replace(handlers=state.handlers | {handler._replace(at=at)})


def _retried(state: State, attempt: int) -> State:
    """Publish a retry under a fresh message id; two copies of it are enough to show what duplicates do."""
    if state.retries >= 2:
        return state
    return state._replace(queue=(*state.queue, Message(f"R{state.retries}", attempt)), retries=state.retries + 1)


def _renamed(state: State) -> State:
    """Name nonces anew, so that states that differ in nothing else meet."""
    order = sorted(state.handlers, key=lambda h: (h.copy, h.at, h.nonce != state.record.nonce, h.nonce))
    names = {handler.nonce: number + 1 for number, handler in enumerate(order)}
    record = state.record._replace(nonce=names.get(state.record.nonce, 0))
    return state._replace(record=record, handlers=frozenset(h._replace(nonce=names[h.nonce]) for h in order), nonces=len(order) + 1)
