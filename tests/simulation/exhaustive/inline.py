"""Inline links, exhaustively: a chain whose links run in the invocation of the link before, its first message and a copy with another id.

The rules are the shipped ones: when a link may stay (`model.inline_links.why_sent`), the answer to a refused claim
(`model.ledger.claims.decide`) and the writes CLAIM, STEAL and RECORD. A walker has one message, its carrier, and stands at a link. A walker
that may go on inline may also send, because its time may be over. Claims expire at any moment, workers die anywhere, messages are delivered
twice, and links are revoked. At rest, each link has ended, on the value that the link before recorded: no chain is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sedano.aws.expressions import Write, tasks
from sedano.model import states
from sedano.model.inline_links import NextLink, why_sent
from sedano.model.ledger.claims import Action, decide
from sedano.model.ledger.records import Claim, TaskRecord
from tests.simulation.exhaustive.search import Searched, Triples, remembered, search, written
from tests.simulation.weaken import ALWAYS

MOST_FENCE = 3
"""Fences are counted to this: more make no difference to who holds a link."""
MOST_CLAIMS = 2
"""Claims are counted to this, after which a link of these worlds is a poison."""
Found = tuple[str, "State"]


class Record(NamedTuple):
    """The record of one link; *value*: the fence of the record whose value the link was given."""

    state: str = ""
    attempt: int = 0
    fence: int = 0
    claims: int = 0
    nonce: int = 0
    message: str = ""
    value: int = 0


class Message(NamedTuple):
    """One message in the queue; *value*: the fence of the record whose value it carries."""

    name: str
    link: int = 0
    attempt: int = 0
    value: int = 0
    receives: int = 0
    gone: bool = False


class Walker(NamedTuple):
    """One delivery at work at a *link* under the message id *id*, at the step *at*."""

    nonce: int
    carrier: str
    link: int
    id: str
    attempt: int
    value: int
    at: str = "claim"


class State(NamedTuple):
    """Everything: records, queue, walkers, deaths left, and whether a revocation is still to come. *wrong*: the first complaint."""

    records: tuple[Record, ...]
    queue: tuple[Message, ...]
    walkers: tuple[Walker, ...] = ()
    deaths: int = 0
    revokes: bool = False
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class World:
    """A chain of *links*. *retry*: its second link fails once; *kills*: links whose bodies end the worker, as long as they have fewer than
    *most* claims, or always for a *poison*; *twice*: a message may be at two walkers; *revoke*: the link that may be revoked."""

    links: int = 3
    copy: bool = False
    retry: bool = False
    deaths: int = 1
    twice: bool = False
    kills: Sequence[int] = ()
    poison: bool = False
    most: int = MOST_CLAIMS
    revoke: int = -1


def weak(write: Write, *dropped: str) -> Write:
    """Return *write* without some of its conjuncts."""
    text = write.condition
    for conjunct in dropped:
        text = text.replace(conjunct, ALWAYS)
    return replace(write, condition=text)


WRITES = {
    "claim": tasks.CLAIM, "steal": tasks.STEAL, "record": tasks.RECORD, "noholder": weak(tasks.RECORD, "nc = :nc", "att = :att"),
}  # fmt: skip
"""The shipped writes, and a fault of RECORD."""


@remembered
def after(kind: str, record: Record, message: str, nonce: int, attempt: int, state: str = "") -> Record | None:
    """Return the record after the write *kind* under *nonce*; None: refused. Fence and expiry are those that were seen."""
    item: Triples = (
        ("pk", "S", "t"), ("st", "S", record.state), ("try", "N", str(record.attempt)), ("att", "N", str(record.fence)),
        ("cnt", "N", str(record.claims)), ("nc", "S", str(record.nonce)), ("mid", "S", record.message), ("exp", "N", "1"),
    )  # fmt: skip
    values: Triples = (
        (":st", "S", state), (":try", "N", str(attempt)), (":att", "N", str(record.fence)), (":seen", "S", str(record.nonce)),
        (":nc", "S", str(nonce)), (":mid", "S", message), (":lapsed", "N", "1"),
    )  # fmt: skip
    new = written(WRITES[kind], item if record.state else (), values)
    if new is None:
        return None
    found = {name: text for name, _, text in new}
    fence, claims = min(int(found["att"]), MOST_FENCE), min(int(found["cnt"]), MOST_CLAIMS)
    return Record(found["st"], int(found["try"]), fence, claims, int(found["nc"]), found["mid"], record.value)


@remembered
def answer(record: Record, walker: Walker, inline: str, most: int, *, expired: bool) -> Action:
    """Return what the shipped rule says to a claim that *record* refused."""
    claim = Claim("t", walker.attempt, walker.id, str(walker.nonce), 0.0, 0, "")
    seen = TaskRecord(
        "t", record.state, record.attempt, record.fence, record.claims, str(record.nonce), record.message, 10.0,  # type: ignore[arg-type]
    )  # fmt: skip
    return decide(claim, seen, 20.0 if expired else 5.0, most, inline).action


def own_id(link: int) -> str:
    """Return the id under which *link* is claimed inline."""
    return f"X{link}"


class InlineModel:
    """Walks through *world*; *faults* are planted."""

    def __init__(self, world: World, *faults: str) -> None:
        """Plant *faults*."""
        self.world, self.faults = world, frozenset(faults)
        self.record = next((fault for fault in faults if fault in WRITES), "record")

    def run(self) -> Searched:
        """Search."""
        queue = (Message("M"), *((Message("N"),) if self.world.copy else ()))
        first = State((Record(),) * self.world.links, queue, (), self.world.deaths, self.world.revoke >= 0)
        return search(first, self.steps, self.wrong)

    def wrong(self, state: State, _: bool) -> str:
        """Name what is wrong with *state*."""
        if state.wrong or state.walkers or not all(message.gone for message in state.queue):
            return state.wrong
        before = None
        for link, record in enumerate(state.records):
            if record.state in (states.POISON, states.REVOKED):
                return ""
            if record.state != states.SUCCESS:
                return f"E4: every message is gone and link {link} is {record.state or 'unknown'}: the chain is lost"
            if before is not None and record.value != before.fence:
                return f"V: link {link} worked on a value that the link before did not record"
            before = record
        return ""

    def steps(self, state: State) -> Iterator[Found]:
        """Yield whatever may happen next."""
        for label, following in self._steps(state):
            yield label, renamed(following)

    def _steps(self, state: State) -> Iterator[Found]:
        yield from self._deliveries(state)
        if state.revokes:
            record = state.records[self.world.revoke]
            open_ = record.state in ("", states.RETRY)
            revoked = record._replace(state=states.REVOKED, message="") if open_ else record
            yield "a link is revoked", placed(state, self.world.revoke, revoked)._replace(revokes=False)
        for walker in state.walkers:
            rest = state._replace(walkers=tuple(one for one in state.walkers if one is not walker))
            who = f"{walker.carrier} at link {walker.link}"
            if state.deaths:
                yield f"{who} dies before: {walker.at}", rest._replace(deaths=state.deaths - 1)
            for label, following in getattr(self, f"_{walker.at}")(rest, walker):
                yield f"{who} {label}", following

    def _deliveries(self, state: State) -> Iterator[Found]:
        for at, message in enumerate(state.queue):
            busy = sum(walker.carrier == message.name for walker in state.walkers)
            if message.gone or len(state.walkers) >= 2 or busy > self.world.twice:
                continue
            received = message._replace(receives=min(message.receives + 1, self.world.most + 2 if self.world.kills else 2))
            queue = (*state.queue[:at], received, *state.queue[at + 1 :])
            often = self.world.kills and received.receives > self.world.most + 1
            wrong = "P: a message was received more often than one link may end its worker" if often else ""
            walker = Walker(99, message.name, message.link, message.name, message.attempt, message.value)
            yield f"{message.name} is delivered", state._replace(queue=queue, walkers=(*state.walkers, walker), wrong=wrong)

    def _claim(self, rest: State, walker: Walker) -> Iterator[Found]:
        record, carrier = rest.records[walker.link], carrier_of(rest, walker)
        granted = after("claim", record, walker.id, walker.nonce, walker.attempt) if self._exists(record, walker) else None
        if granted is not None:
            yield "claims", self._begun(rest, walker, granted)
            return
        inline = walker.link != carrier.link
        known = own_id(walker.link) if walker.link and "todaysrule" not in self.faults else ""
        for expired in (False, True):
            if self.world.kills and expired == any(one.nonce == record.nonce for one in rest.walkers):
                continue  # here a claim expires before its message comes again, and not while its worker lives
            action = answer(record, walker, known, self.world.most if self.world.kills else 1_000, expired=expired)
            yield from self._inline(rest, walker, action) if inline else self._received(rest, walker, action)

    def _exists(self, record: Record, walker: Walker) -> bool:
        return bool(record.state) or not walker.attempt

    def _begun(self, rest: State, walker: Walker, granted: Record) -> State:
        before = rest.records[walker.link - 1] if walker.link else None
        recorded = before is None or (before.state == states.SUCCESS and before.fence == walker.value)
        wrong = "" if recorded else "V: a value that no record holds is worked on"
        held = placed(rest, walker.link, granted._replace(value=walker.value))
        return on(held, walker._replace(attempt=granted.attempt), "body")._replace(wrong=wrong)

    def _inline(self, rest: State, walker: Walker, action: Action) -> Iterator[Found]:
        record = rest.records[walker.link]
        if action is Action.FOLLOW_AGAIN:
            yield "finds its end", on(rest, walker, "acknowledge" if "skipfollow" in self.faults else "follow")
        elif action is Action.RETRY_AGAIN:
            yield "finds its retry", on(rest, walker, "retry")
        elif action is Action.ACKNOWLEDGE:
            yield "has nothing to do", on(rest, walker, "acknowledge")
        elif action is Action.STEAL and "stealinline" in self.faults:
            stolen = after("steal", record, walker.id, walker.nonce, record.attempt)
            yield "steals inline", self._begun(rest, walker, stolen or record)
        elif "ackwait" in self.faults:
            yield "does not wait", on(rest, walker, "acknowledge")
        else:
            yield "sends it", on(sent(rest, walker.link, walker.value), walker, "acknowledge")

    def _received(self, rest: State, walker: Walker, action: Action) -> Iterator[Found]:
        record = rest.records[walker.link]
        if action in (Action.STEAL, Action.POISON):
            stolen = after("steal", record, walker.id, walker.nonce, record.attempt)
            if stolen is not None and action is Action.STEAL:
                yield "steals", self._begun(rest, walker, stolen)
            elif stolen is not None:
                yield "ends a poison", on(placed(rest, walker.link, stolen._replace(state=states.POISON)), walker, "follow")
        elif action in THEN:
            yield THEN[action], on(rest, walker, THEN[action])
        else:
            yield "waits", rest

    def _body(self, rest: State, walker: Walker) -> Iterator[Found]:
        record = rest.records[walker.link]
        if walker.link in self.world.kills and (self.world.poison or record.claims < self.world.most):
            yield "ends its worker", rest
            return
        if "nextfirst" in self.faults and walker.link + 1 < self.world.links:
            yield "goes on before it records", self._next(rest, walker, record.fence)
        ended = after(self.record, record, record.message, walker.nonce, walker.attempt, states.SUCCESS)
        if ended is None:
            yield from self._fenced(rest, walker)
            return
        wrong = self._overwritten(record, walker)
        here = placed(rest, walker.link, ended)._replace(wrong=wrong)
        if "ackfirst" in self.faults and walker.link == carrier_of(rest, walker).link:
            here = acknowledged(here, walker)
        yield "records its success", on(here, walker, "follow")
        if self.world.retry and walker.link == 1 and not walker.attempt:
            again = after(self.record, record, record.message, walker.nonce, 1, states.RETRY)
            if again is not None:
                then = "acknowledge" if "retrylost" in self.faults else "retry"
                yield "records a retry", on(placed(rest, walker.link, again)._replace(wrong=wrong), walker, then)

    def _overwritten(self, record: Record, walker: Walker) -> str:
        if record.state in states.TERMINAL:
            return "E3: a finished link changed"
        return "" if record.nonce == walker.nonce else "I7: a record over the claim of another"

    def _fenced(self, rest: State, walker: Walker) -> Iterator[Found]:
        if "ranon" in self.faults and walker.link + 1 < self.world.links:
            yield "is refused and goes on", self._next(rest, walker, MOST_FENCE + 1)
        elif walker.link == carrier_of(rest, walker).link:
            yield "is refused", rest
        else:
            yield "is refused and sends it", on(sent(rest, walker.link, walker.value), walker, "acknowledge")

    def _next(self, rest: State, walker: Walker, value: int) -> State:
        link = walker.link + 1
        own = f"{walker.carrier}i{link}" if "freshinline" in self.faults else own_id(link)
        return rest._replace(walkers=(*rest.walkers, Walker(walker.nonce, walker.carrier, link, own, 0, value)))

    def _follow(self, rest: State, walker: Walker) -> Iterator[Found]:
        record = rest.records[walker.link]
        if walker.link + 1 == self.world.links or record.state != states.SUCCESS:
            yield "ends the chain", on(rest, walker, "acknowledge")
            return
        receives = 1 if "againinline" in self.faults else carrier_of(rest, walker).receives
        facts = NextLink(
            receives=receives, links=walker.link, same_queue=True, delayed=False, claimed=True, limit=0.0, whole=60.0, deadline=60.0,
            guard=1.0, began=0.0,
        )  # fmt: skip
        if not why_sent(facts, 0.0):
            yield "goes on inline", self._next(rest, walker, record.fence)
        if "acksend" in self.faults:
            yield "acknowledges before it sends", on(acknowledged(rest, walker), walker._replace(value=record.fence), "late")
        else:
            yield "sends the next link", on(sent(rest, walker.link + 1, record.fence), walker, "acknowledge")

    def _late(self, rest: State, walker: Walker) -> Iterator[Found]:
        yield "sends the next link", sent(rest, walker.link + 1, walker.value)

    def _retry(self, rest: State, walker: Walker) -> Iterator[Found]:
        yield "publishes its retry", on(sent(rest, walker.link, walker.value, rest.records[walker.link].attempt), walker, "acknowledge")

    def _acknowledge(self, rest: State, walker: Walker) -> Iterator[Found]:
        yield "acknowledges", acknowledged(rest, walker)


THEN = {Action.FOLLOW_AGAIN: "follow", Action.RETRY_AGAIN: "retry", Action.ACKNOWLEDGE: "acknowledge"}


def on(state: State, walker: Walker, at: str) -> State:
    """Return *state* with *walker* at its next step."""
    return state._replace(walkers=(*state.walkers, walker._replace(at=at)))


def placed(state: State, link: int, record: Record) -> State:
    """Return *state* with the *record* of *link*."""
    return state._replace(records=(*state.records[:link], record, *state.records[link + 1 :]))


def carrier_of(state: State, walker: Walker) -> Message:
    """Return the message of *walker*."""
    return next(message for message in state.queue if message.name == walker.carrier)


def acknowledged(state: State, walker: Walker) -> State:
    """Return *state* without the message of *walker*."""
    return state._replace(queue=tuple(m._replace(gone=True) if m.name == walker.carrier else m for m in state.queue))


def sent(state: State, link: int, value: int, attempt: int = 0) -> State:
    """Publish *link* under a fresh message id; two copies of one message are enough to show what duplicates do."""
    for copy in "ab":
        name = f"{'R' if attempt else 'L'}{link}{copy}"
        if all(message.name != name for message in state.queue):
            return state._replace(queue=(*state.queue, Message(name, link, attempt, value)))
    return state


def renamed(state: State) -> State:
    """Name nonces anew, and sort the queue, so that states that differ in nothing else meet."""
    order = sorted(state.walkers, key=lambda one: (one[1:], [one.nonce != record.nonce for record in state.records]))
    names = {walker.nonce: number + 1 for number, walker in enumerate(order)}
    return state._replace(
        records=tuple(record._replace(nonce=names.get(record.nonce, 0)) for record in state.records), queue=tuple(sorted(state.queue)),
        walkers=tuple(walker._replace(nonce=names[walker.nonce]) for walker in order),
    )  # fmt: skip


WORLDS = {
    "3 links, a retry, a death": World(retry=True),
    "4 links, a death": World(links=4),
    "2 links, a copy, a retry, a death": World(links=2, copy=True, retry=True),
    "a link that is revoked at any moment": World(revoke=1, retry=True),
    "a poison": World(deaths=0, kills=(1,), poison=True),
    "links that each end a worker": World(links=4, deaths=0, kills=(1, 2, 3)),
}
"""Small worlds, which are searched whole in a few seconds."""
LARGE = {
    "inline links, 3, a retry, 2 deaths": World(retry=True, deaths=2),
    "inline links, 2, each message twice, a retry, a death": World(links=2, twice=True, retry=True),
    "inline links, 3, a copy, a retry, a death": World(copy=True, retry=True),
}
"""Larger ones, for `make prove`."""
