"""The states of a pack in the exhaustive search, and the shipped writes and rules as functions of them (`packs` walks through them)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sedano.aws.expressions import Write, tasks
from sedano.model import packs, states
from sedano.model.ledger.claims import Action, decide
from sedano.model.ledger.records import Claim, TaskRecord
from sedano.model.messages.message import PACK
from sedano.model.packs import LEFT, MemberEnd, PackMember
from tests.simulation.exhaustive.inline import weak
from tests.simulation.exhaustive.search import Triples, remembered, written

GROUP = "0b9f6b2e-58f6-5a3a-9a50-3f2d1a0c7b11.k4"
MOST = 2
"""Claims of one member of these worlds after which it is a poison, where one is."""
MOST_FENCE = 4
ENDS = {
    "S": MemberEnd(states.SUCCESS, 0, "1"), "V": MemberEnd(states.REVOKED), "R": MemberEnd(states.RETRY, 1), "L": LEFT,
}  # fmt: skip
"""How a member can leave the body of its pack."""


class Record(NamedTuple):
    """A record: of the pack (*ends*: a letter of `ENDS` for each member), or of a member that left."""

    state: str = ""
    attempt: int = 0
    fence: int = 0
    claims: int = 0
    nonce: int = 0
    message: str = ""
    marks: tuple[int, ...] = ()
    ends: str = ""


class Message(NamedTuple):
    """One message: the pack's, or that of *member*."""

    name: str
    member: int = -1
    attempt: int = 0
    gone: bool = False


class Walker(NamedTuple):
    """One delivery at work, at the step *at*; *ends*: how its bodies ended; *taken*: it took the claim over."""

    nonce: int
    message: str
    at: str = "claim"
    ends: str = ""
    taken: bool = False


class State(NamedTuple):
    """Everything. *joined*: the members that arrived; *guards*: the fence and the run that each member's resource has seen last;
    *revoked*: the answer to the revocation of a member. *wrong*: the first complaint. *begun*: whether bodies of the pack have begun."""

    pack: Record
    members: tuple[Record, ...]
    queue: tuple[Message, ...]
    guards: tuple[tuple[int, int], ...]
    effects: tuple[int, ...]
    walkers: tuple[Walker, ...] = ()
    joined: frozenset[int] = frozenset()
    body: bool = False
    deaths: int = 0
    kills: int = 0
    revoked: str = "no"
    wrong: str = ""
    begun: bool = False


@dataclass(frozen=True, slots=True)
class World:
    """A pack whose bodies end as one of *words*. *deaths* at any step; *poison*: the member that ends its worker; *revoke*: the member
    that is revoked; *guarded*: bodies write to resources of the user under their fence; *copies*: the publications of a follow-up;
    *given_back*: a worker may give a claimed message back unrun (no time left, a drain).
    """

    words: Sequence[str] = ("SS", "SR", "RL")
    copy: bool = False
    deaths: int = 1
    poison: int = -1
    revoke: int = -1
    guarded: bool = False
    copies: int = 1
    given_back: bool = False

    @property
    def size(self) -> int:
        """How many members there are."""
        return len(self.words[0])


WRITES: dict[str, Write] = {
    "claim": tasks.CLAIM, "left": tasks.CLAIM_LEFT, "steal": tasks.STEAL, "record": tasks.RECORD, "mark": tasks.MARK,
    "revoke": tasks.REVOKE, "noholder": weak(tasks.RECORD, "nc = :nc", "att = :att", "st = :running"),
    "marklate": replace(tasks.MARK, condition=""),
}  # fmt: skip
"""The shipped writes, and faults of them."""


@remembered
def after(kind: str, record: Record, message: str, nonce: int, attempt: int, state: str = "", marks: tuple[int, ...] = ()) -> Record | None:
    """Return the record after the write *kind* under *nonce*; None: refused. Fence and expiry are those that were seen."""
    item: Triples = (
        ("pk", "S", "t"), ("st", "S", record.state), ("try", "N", str(record.attempt)), ("att", "N", str(record.fence)),
        ("cnt", "N", str(record.claims)), ("nc", "S", str(record.nonce)), ("mid", "S", record.message), ("exp", "N", "1"),
        *((("mks", "NS", tuple(map(str, record.marks))),) if record.marks else ()),
    )  # fmt: skip
    if not record.fence:
        item = tuple(one for one in item if one[0] not in ("att", "cnt", "nc", "exp"))
    values: Triples = (
        (":st", "S", state), (":try", "N", str(attempt)), (":att", "N", str(record.fence)), (":seen", "S", str(record.nonce)),
        (":nc", "S", str(nonce)), (":mid", "S", message), (":lapsed", "N", "1"), (":mks", "NS", tuple(map(str, marks))),
    )  # fmt: skip
    new = written(WRITES[kind], item if record.state else (), values)
    if new is None:
        return None
    found = {name: text for name, _, text in new}
    fence, claims = min(int(found.get("att", 0)), MOST_FENCE), min(int(found.get("cnt", 0)), MOST)
    after_it = tuple(sorted(map(int, found.get("mks", ()))))
    return Record(found["st"], int(found["try"]), fence, claims, int(found.get("nc", 0)), found["mid"], after_it, record.ends)


@remembered
def pack_record(record: Record) -> TaskRecord | None:
    """Return the pack's *record* as its readers get it."""
    if not record.state:
        return None
    text = packs.ends_text("f", [ENDS[letter] for letter in record.ends]) if record.ends else None
    return TaskRecord(
        packs.pack_id(GROUP, 0), states.read_state(record.state), record.attempt, record.fence, record.claims, str(record.nonce),
        record.message, name=PACK, result=text, marks=frozenset(record.marks),
    )  # fmt: skip


@remembered
def said(record: Record, place: int) -> tuple[str, int, bool]:
    """Return the state and the attempt of a member by the pack's record, and whether it left: the shipped rule."""
    found, left = packs.spoken(PackMember(GROUP, 4, place), pack_record(record))
    return (found.state, found.attempt, left) if found is not None else ("", 0, left)


@remembered
def answer(record: Record, walker: Walker, attempt: int, most: int, *, expired: bool) -> Action:
    """Return the shipped answer to a claim that *record* refused."""
    seen = TaskRecord(
        "t", states.read_state(record.state), record.attempt, record.fence, record.claims, str(record.nonce), record.message, 10.0
    )  # fmt: skip
    return decide(Claim("t", attempt, walker.message, str(walker.nonce), 0.0, 0, ""), seen, 20.0 if expired else 5.0, most).action


def on(state: State, walker: Walker, at: str) -> State:
    """Return *state* with *walker* at its next step."""
    return state._replace(walkers=(*state.walkers, walker._replace(at=at)))


def put(state: State, place: int, record: Record) -> State:
    """Return *state* with the member's own *record*."""
    return state._replace(members=(*state.members[:place], record, *state.members[place + 1 :]))


def counted(state: State, place: int) -> State:
    """Return *state* with one more effect of a member."""
    return state._replace(effects=(*state.effects[:place], state.effects[place] + 1, *state.effects[place + 1 :]))


def acknowledged(state: State, walker: Walker) -> State:
    """Return *state* without the message of *walker*."""
    return state._replace(queue=tuple(m._replace(gone=True) if m.name == walker.message else m for m in state.queue))


def sent(state: State, place: int, attempt: int, copies: int) -> State:
    """Publish a member under a fresh message id, at most *copies* times."""
    for copy in "ab"[:copies]:
        name = f"{place}{copy}"
        if all(message.name != name for message in state.queue):
            return state._replace(queue=tuple(sorted((*state.queue, Message(name, place, attempt)))))
    return state


def renamed(state: State) -> State:
    """Name nonces anew, so that states that differ in nothing else meet."""
    records = (state.pack, *state.members)
    order = sorted(state.walkers, key=lambda one: (one[1:], [one.nonce != record.nonce for record in records]))
    names = {walker.nonce: number + 1 for number, walker in enumerate(order)}
    pack, *members = (record._replace(nonce=names.get(record.nonce, 0)) for record in records)
    walkers = tuple(walker._replace(nonce=names[walker.nonce]) for walker in order)
    return state._replace(pack=pack, members=tuple(members), walkers=walkers)
