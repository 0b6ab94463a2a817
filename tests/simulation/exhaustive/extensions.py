"""Extended claims, exhaustively: bodies that outlive the visibility of their messages, workers that stall, clocks that differ.

Time is in ticks, and each moment is kept as its distance from now, so time has no end and the world is finite all the same. A worker that
takes no step while ticks pass is one that stalls. An extension under way may be carried out at any later tick, twice, or never, and its
answer may be lost. What is checked is the shipped texts (CLAIM, STEAL, EXTEND, RECORD) and the shipped rule (`model.ledger.claims.decide`).

A claim and an extension are made for `length` ticks from before they are sent; a worker believes in them for *guard* ticks less, by its own
clock, which is *ahead* of the true one. A message stays invisible for two guards longer than its claim lasts
(`engine.worker.claim_extension`). *prompt*: beats and answers are in time, so that a body of any length must be delivered once.

Promises: I3 two workers never believe to hold one claim · I5 a claim never ends sooner than it did · E1, E3, E9, I7 as for claims · E4 what
is acknowledged has ended · D with beats in time a message is delivered once · E2 what is at rest has ended with an effect, or as a poison.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from sedano.aws.expressions import Write, tasks
from sedano.model import states
from sedano.model.ledger.claims import Action, decide
from sedano.model.ledger.records import Claim, TaskRecord
from tests.simulation.exhaustive.search import Searched, Triples, remembered, search, written

IDLE, CLAIMING, STEALING, RUNNING, ENDED, RECORDED = range(6)
LONG_AGO = -3
"""Moments further back are all the same."""
EPOCH = 1_000
"""The true time of now, in the texts: stored moments are positive numbers."""
MOST = 3
"""Claims after which a task counts as a poison here."""
SHIPPED = {"CLAIM": tasks.CLAIM, "STEAL": tasks.STEAL, "EXTEND": tasks.EXTEND, "RECORD": tasks.RECORD}
Fault = Literal["", "believes from the answer", "leaves visibility alone", "never beats", "acknowledges a refusal", "steals what lasts"]


class Record(NamedTuple):
    """The task's item, when its claim ends, and how many effects there were. The holder of fence n has the nonce n."""

    state: str = ""
    fence: int = 0
    expires: int = LONG_AGO
    effects: int = 0


class Worker(NamedTuple):
    """What a worker does with which message, under which fence; until when it believes; whether it awaits an answer to an extension.

    *seen*: the end of the claim that it is about to take over.
    """

    at: int = IDLE
    message: int = 0
    fence: int = 0
    seen: int = 0
    believes: int = LONG_AGO
    awaits: bool = False


class Message(NamedTuple):
    """When a message is visible again, whether it was received (always where nothing depends on that), whether it is gone."""

    hidden: int = 0
    received: bool = False
    gone: bool = False


class Sent(NamedTuple):
    """An extension under way: who sent it, the fence and the end that it names."""

    worker: int
    fence: int
    expires: int


class State(NamedTuple):
    """Everything, and what went wrong."""

    record: Record
    workers: tuple[Worker, ...]
    messages: tuple[Message, ...]
    flying: frozenset[Sent] = frozenset()
    deaths: int = 0
    wrong: str = ""


class ExtensionModel:
    """Two workers, one message, and *copies* of it with other ids. The writes may be replaced by mutants, and workers have a *fault*."""

    def __init__(
        self, length: int = 3, guard: int = 1, ahead: Sequence[int] = (0, 0), copies: int = 1, deaths: int = 0, flying: int = 1,
        prompt: int = 0, writes: Mapping[str, Write] | None = None, fault: Fault = "",
    ) -> None:  # fmt: skip
        """Begin with no record."""
        self.length, self.guard, self.ahead, self.flying = length, guard, ahead, flying
        self.prompt, self.writes, self.fault = prompt, SHIPPED | dict(writes or {}), fault
        self.visibility = length + 2 * guard
        self.first = State(Record(), (Worker(), Worker()), (Message(received=not prompt),) * (1 + copies), deaths=deaths)
        self._after = remembered(self._after)  # type: ignore[method-assign]

    def run(self) -> Searched:
        """Search."""
        return search(self.first, self.steps, self.wrong)

    def wrong(self, state: State, _: bool) -> str:
        """Return what is wrong with *state* (I3, E2, and what a step found)."""
        if state.wrong:
            return state.wrong
        if sum(one.at == RUNNING and one.believes >= 0 for one in state.workers) > 1:
            return "I3: two workers believe to hold one claim"
        rests = all(one.at == IDLE for one in state.workers) and all(one.gone for one in state.messages)
        return "E2: at rest without an end" if rests and not (state.record.effects or state.record.fence > MOST) else ""

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        """Yield whatever may happen next."""
        if not self._is_in_a_hurry(state):
            yield "a tick", self._tick(state)
        for sent in state.flying:
            yield from self._arrives(state, sent)
        for number, worker in enumerate(state.workers):
            if worker.at != IDLE and state.deaths:
                yield f"{number} dies", _put(state, number, Worker())._replace(deaths=state.deaths - 1)
            yield from self._does(state, number, worker)

    def _is_in_a_hurry(self, state: State) -> bool:
        """Return whether no time passes now, because beats, answers and what needs no body are in time."""
        if not self.prompt:
            return False
        late = any(one.at == RUNNING and one.believes < self.prompt for one in state.workers) and self.fault != "never beats"
        return bool(state.flying) or late or any(one.at in (CLAIMING, ENDED, RECORDED) for one in state.workers)

    @staticmethod
    def _tick(state: State) -> State:
        record, workers, messages, flying, deaths, _ = state
        return State(
            record._replace(expires=_earlier(record.expires)),
            tuple(
                one._replace(seen=_earlier(one.seen) if one.at == STEALING else 0, believes=_earlier(one.believes)) for one in workers
            ),
            tuple(one._replace(hidden=max(0, one.hidden - 1)) for one in messages),
            frozenset(one._replace(expires=one.expires - 1) for one in flying if one.expires - 1 > LONG_AGO),
            deaths,
        )  # fmt: skip

    def _arrives(self, state: State, sent: Sent) -> Iterator[tuple[str, State]]:
        """Let an extension arrive, once or (where two may fly) to come again; its answer arrives or not."""
        number, worker = sent.worker, state.workers[sent.worker]
        waits = worker.awaits and worker.fence == sent.fence
        deaf = _put(state, number, worker._replace(awaits=False)) if waits else state
        yield f"an extension of {number} is lost", deaf._replace(flying=state.flying - {sent})
        after, wrong = self._written("EXTEND", state.record, sent.fence, sent.expires)
        for flying in (state.flying - {sent}, state.flying)[: self.flying]:
            done = "is carried out" if after is not None else "is refused"
            new = after or state.record
            yield f"an extension of {number} {done}, its answer is lost", deaf._replace(record=new, flying=flying, wrong=wrong)
            if waits and worker.at == RUNNING:
                label, told = self._told(state._replace(record=new, flying=flying, wrong=wrong), sent)
                yield f"an extension of {number} {done}, {label}", told

    def _told(self, state: State, sent: Sent) -> tuple[str, State]:
        """Let the holder learn what became of its extension: granted where the record is its own and RUNNING."""
        number, worker = sent.worker, state.workers[sent.worker]
        if state.record.state != states.RUNNING or state.record.fence != sent.fence:
            return "it hears that its claim is lost", _put(state, number, Worker())
        end = self.length if self.fault == "believes from the answer" else sent.expires - self.ahead[number]
        heard = _put(state, number, worker._replace(believes=max(worker.believes, _cut(end - self.guard)), awaits=False))
        if self.fault != "leaves visibility alone":
            heard = _hide(heard, worker.message, self.visibility)
        return "it hears that it holds", heard

    def _does(self, state: State, number: int, worker: Worker) -> Iterator[tuple[str, State]]:
        if worker.at == IDLE:
            yield from self._receives(state, number)
        elif worker.at == CLAIMING:
            yield from self._claims(state, number, worker)
        elif worker.at == STEALING:
            yield self._steals(state, number, worker)
        elif worker.at == RUNNING:
            if not worker.awaits and len(state.flying) < self.flying and self.fault != "never beats":
                sent = Sent(number, worker.fence, self.length + self.ahead[number])
                asking = _put(state, number, worker._replace(awaits=True))
                yield f"{number} extends its claim", asking._replace(flying=state.flying | {sent})
            yield f"{number} ended its body", _put(state, number, Worker(ENDED, worker.message, worker.fence))
        elif worker.at == ENDED:
            yield self._records(state, number, worker)
        else:
            yield f"{number} acknowledges", _gone(_put(state, number, Worker()), worker.message)

    def _receives(self, state: State, number: int) -> Iterator[tuple[str, State]]:
        for place, message in enumerate(state.messages):
            if not message.gone and not message.hidden:
                wrong = "D: delivered again while its body ran" if self.prompt and message.received else ""
                claiming = Worker(CLAIMING, place, believes=self.length - self.guard)
                got = _hide(_put(state, number, claiming), place, self.visibility)
                yield f"{number} receives message {place}", got._replace(wrong=wrong)

    def _claims(self, state: State, number: int, worker: Worker) -> Iterator[tuple[str, State]]:
        """Let a claim arrive whose clock was read at the receipt, and its sender do as the rule says."""
        end = worker.believes + self.guard + self.ahead[number]
        after, wrong = self._written("CLAIM", state.record, 1, end)
        if after is not None:
            yield f"{number} claims", _put(state, number, worker._replace(at=RUNNING, fence=1))._replace(record=after, wrong=wrong)
            return
        action = self._decided(state.record, number)
        if action in (Action.STEAL, Action.POISON) or (self.fault == "steals what lasts" and action is Action.WAIT):
            seen = state.record
            yield f"{number} sees that it expired", _put(state, number, worker._replace(at=STEALING, fence=seen.fence, seen=seen.expires))
        if action is Action.WAIT:
            rest = max(1, state.record.expires - self.ahead[number] + 1)
            yield f"{number} waits", _hide(_put(state, number, Worker()), worker.message, min(rest, self.visibility))
        if action in (Action.ACKNOWLEDGE, Action.FOLLOW_AGAIN):
            yield f"{number} finds it done", _gone(_put(state, number, Worker()), worker.message)

    def _decided(self, record: Record, number: int) -> Action:
        claim = Claim("t", 0, "m", "another", 0.0, 0, "")
        seen = TaskRecord("t", states.TaskState(record.state), 0, record.fence, record.fence, str(record.fence), "m", float(record.expires))
        return decide(claim, seen, float(self.ahead[number]), MOST).action

    def _steals(self, state: State, number: int, worker: Worker) -> tuple[str, State]:
        end = worker.believes + self.guard + self.ahead[number]
        after, wrong = self._written("STEAL", state.record, worker.fence, end, worker.seen)
        if after is None:
            return f"{number} is refused the steal", _hide(_put(state, number, Worker()), worker.message, 1)
        for other, one in enumerate(state.workers):
            if other != number and one.at == RUNNING and one.fence == worker.fence and one.believes >= 0:
                wrong = "E9: stolen from a worker that believes, and may"
        if worker.fence >= MOST:
            ended = after._replace(state=states.POISON)
            return f"{number} calls it a poison", _put(state, number, Worker(RECORDED, worker.message))._replace(record=ended, wrong=wrong)
        held = worker._replace(at=RUNNING, fence=after.fence, seen=0)
        return f"{number} steals", _put(state, number, held)._replace(record=after, wrong=wrong)

    def _records(self, state: State, number: int, worker: Worker) -> tuple[str, State]:
        after, wrong = self._written("RECORD", state.record, worker.fence, 0)
        if after is not None:
            recorded = _put(state, number, Worker(RECORDED, worker.message))
            return f"{number} records", recorded._replace(record=after, wrong=wrong)
        refused = _put(state, number, Worker())
        if self.fault != "acknowledges a refusal":
            return f"{number} is refused its record", refused
        wrong = "" if state.record.state in states.TERMINAL else "E4: acknowledged what has not ended"
        return f"{number} is refused its record, and acknowledges", _gone(refused, worker.message)._replace(wrong=wrong)

    def _written(self, kind: str, record: Record, fence: int, end: int, seen: int = 0) -> tuple[Record | None, str]:
        """Return the item after a write and what is wrong about it; None: it is refused."""
        after = self._after(kind, record._replace(effects=0), fence, end, seen)
        if after is None:
            return None, ""
        effects = min(2, record.effects + (kind == "RECORD"))
        after = after._replace(effects=effects)
        return after, _complaint(kind, record, fence, after)

    def _after(self, kind: str, record: Record, fence: int, end: int, seen: int) -> Record | None:
        new = written(self.writes[kind], _item(record), _values(kind, fence, end, seen))
        if new is None:
            return None
        found = {name: text for name, _, text in new}
        return Record(found["st"], int(found.get("att", 0)), _cut(int(found["exp"]) - EPOCH))


def _item(record: Record) -> Triples:
    if not record.state:
        return ()
    fence = str(record.fence)
    return (
        ("pk", "S", "t"), ("st", "S", record.state), ("try", "N", "0"), ("att", "N", fence), ("cnt", "N", fence), ("nc", "S", fence),
        ("exp", "N", str(EPOCH + record.expires)),
    )  # fmt: skip


def _values(kind: str, fence: int, end: int, seen: int) -> Triples:
    expires: Triples = ((":exp", "N", str(EPOCH + end)), (":try", "N", "0"))
    if kind == "STEAL":
        old: Triples = ((":att", "N", str(fence)), (":seen", "S", str(fence)), (":lapsed", "N", str(EPOCH + seen)))
        return (*expires, *old, (":nc", "S", str(fence + 1)))
    mine: Triples = ((":att", "N", str(fence)), (":nc", "S", str(fence)))
    return (*mine, (":try", "N", "0"), (":st", "S", states.SUCCESS)) if kind == "RECORD" else (*expires, *mine)


def _complaint(kind: str, old: Record, fence: int, new: Record) -> str:
    if old.state in states.TERMINAL:
        return "E3: a task that had ended changed"
    if new.effects > 1:
        return "E1: two effects"
    if kind in ("EXTEND", "RECORD") and old.fence != fence:
        return f"I7: {kind} over another's claim"
    return "I5: a claim became shorter" if kind == "EXTEND" and new.expires < old.expires else ""


def _cut(moment: int) -> int:
    return max(LONG_AGO, moment)


def _earlier(moment: int) -> int:
    return _cut(moment - 1)


def _put(state: State, number: int, worker: Worker) -> State:
    return state._replace(workers=(*state.workers[:number], worker, *state.workers[number + 1 :]))


def _hide(state: State, place: int, ticks: int) -> State:
    message = state.messages[place]._replace(hidden=ticks, received=True)
    return state._replace(messages=(*state.messages[:place], message, *state.messages[place + 1 :]))


def _gone(state: State, place: int) -> State:
    return state._replace(messages=(*state.messages[:place], Message(0, True, True), *state.messages[place + 1 :]))
