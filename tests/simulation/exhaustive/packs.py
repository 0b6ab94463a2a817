"""Packs, exhaustively: members of a group in one message, a copy of it with another id, and the members that leave.

The rules are the shipped ones: whether a claimed pack may run and what its record says of each member (`model.packs`), the answer to a
refused claim (`model.ledger.claims.decide`), and the writes CLAIM, CLAIM_LEFT, STEAL, RECORD, MARK and REVOKE. Claims expire at any moment,
so each holder may be a zombie; workers die anywhere, or give a message back before its bodies begin; each message may be at two workers;
each follow-up may be published twice; a member is revoked at any moment. At rest, each member has ended once, every member has arrived, and
the body was published.
"""

from __future__ import annotations

from collections.abc import Iterator

from sedano.model import packs, states
from sedano.model.ledger.claims import Action
from sedano.model.ledger.records import NO_RETRY
from tests.simulation.exhaustive.pack_states import (
    ENDS,
    MOST,
    Message,
    Record,
    State,
    Walker,
    World,
    acknowledged,
    after,
    answer,
    counted,
    on,
    pack_record,
    put,
    renamed,
    said,
    sent,
)
from tests.simulation.exhaustive.search import Searched, search

Found = tuple[str, State]


class PackModel:
    """Walks through *world*; *faults* are planted."""

    def __init__(self, world: World, *faults: str) -> None:
        """Plant *faults*."""
        self.world, self.faults = world, frozenset(faults)
        self.record = "noholder" if "noholder" in faults else "record"
        self.mark = "marklate" if "marklate" in faults else "mark"
        self.every = range(world.size)

    def run(self) -> Searched:
        """Search."""
        world = self.world
        queue = (Message("P"), *((Message("Q"),) if world.copy else ()))
        queue += (Message("0a", 0),) if "otherlayout" in self.faults else ()
        zeros = (0,) * world.size
        revoked = "asked" if world.revoke >= 0 else "no"
        first = State(Record(), (Record(),) * world.size, queue, ((0, 0),) * world.size, zeros, deaths=world.deaths, revoked=revoked)
        return search(first, self.steps, self.wrong)

    def wrong(self, state: State, _: bool) -> str:
        """Name what is wrong with *state*."""
        for place, own in enumerate(state.members):
            ended, _, _ = said(state.pack, place)
            if state.effects[place] > 1:
                return f"E1: member {place} has two effects"
            if ended in states.TERMINAL and own.state in states.TERMINAL:
                return f"E3: member {place} ended twice"
            if state.pack.state == states.RUNNING and own.state:
                return f"I7: member {place} works alone while its pack may record it"
        if state.wrong or state.walkers or state.revoked == "asked" or not all(message.gone for message in state.queue):
            return state.wrong
        return self._at_rest(state)

    def _at_rest(self, state: State) -> str:
        for place, own in enumerate(state.members):
            ended, _, left = said(state.pack, place)
            ended = own.state if left else ended
            if ended not in states.TERMINAL:
                return f"E2: all messages are gone, and member {place} has not ended"
            if place == self.world.revoke and state.revoked == "before" and ended != states.REVOKED:
                return "R1: it was revoked before it began, and ran"
            if ended == states.POISON and place != self.world.poison:
                return "P: a neighbour of a poison was called poison"
        return "" if state.body else "J1: all messages are gone, and no body was published"

    def steps(self, state: State) -> Iterator[Found]:
        """Yield whatever may happen next."""
        for label, following in self._steps(state):
            yield label, renamed(following)

    def _steps(self, state: State) -> Iterator[Found]:
        for message in state.queue:
            busy = sum(walker.message == message.name for walker in state.walkers)
            if not message.gone and len(state.walkers) < 2 and busy < 2:
                yield f"{message.name} is delivered", state._replace(walkers=(*state.walkers, Walker(99, message.name)))
        if state.revoked == "asked":
            yield from self._revoked(state)
        for walker in state.walkers:
            rest = state._replace(walkers=tuple(one for one in state.walkers if one is not walker))
            message = next(one for one in state.queue if one.name == walker.message)
            if state.deaths:
                yield f"{message.name} dies before: {walker.at}", rest._replace(deaths=state.deaths - 1)
            kind = "pack" if message.member < 0 else "single"
            for label, following in getattr(self, f"_{kind}_{walker.at}")(rest, walker, message):
                yield f"{message.name} {label}", following

    def _revoked(self, state: State) -> Iterator[Found]:
        place = self.world.revoke
        if "membersitem" not in self.faults:
            marked = after(self.mark, state.pack, "", 0, 0, marks=tuple(sorted(packs.marks_of([place], NO_RETRY))))
            if marked is not None:
                before = said(marked, place)[0] == states.REVOKED and state.pack.state != states.SUCCESS
                yield "a member is marked", state._replace(pack=marked, revoked="before" if before else "late")
                return
            if not said(state.pack, place)[2]:
                yield "a revocation is too late", state._replace(revoked="late")
                return
        ended = after("revoke", state.members[place], "", 0, 0)
        if ended is None:
            yield "a revocation is too late", state._replace(revoked="late")
        else:
            yield "a member is revoked in its own record", put(state, place, ended)._replace(revoked="before")

    def _pack_claim(self, rest: State, walker: Walker, _: Message) -> Iterator[Found]:
        granted = after("claim", rest.pack, walker.message, walker.nonce, 0)
        if granted is not None:
            yield "claims the pack", on(rest._replace(pack=granted), walker, "body")
            return
        for expired in (False, True):
            if self.world.poison >= 0 and expired == any(one.nonce == rest.pack.nonce for one in rest.walkers):
                continue  # here a claim expires before its message comes again, and not while its worker lives
            action = answer(rest.pack, walker, 0, 10**9, expired=expired)
            if action is Action.STEAL and "nosplitwrite" in self.faults:
                yield "unpacks without a write", on(rest, walker._replace(ends="L" * self.world.size), "publish")
            elif action is Action.STEAL:
                stolen = after("steal", rest.pack, walker.message, walker.nonce, 0)
                yield "takes the pack over", on(rest._replace(pack=stolen or rest.pack), walker._replace(taken=True), "body")
            elif action is Action.FOLLOW_AGAIN:
                yield "finds its end", on(rest, walker, "acknowledge" if "ackended" in self.faults else "follow")
            elif action is Action.ACKNOWLEDGE:
                yield "is a copy", on(rest, walker, "acknowledge")
            else:
                yield "waits", rest

    def _pack_body(self, rest: State, walker: Walker, _: Message) -> Iterator[Found]:
        found = pack_record(rest.pack)
        mine = found is not None and rest.pack.nonce == walker.nonce
        if mine and self.world.given_back and ((found is not None and packs.may_be_released(found)) or "releasetaken" in self.faults):
            released = after(self.record, rest.pack, rest.pack.message, walker.nonce, 0, states.RETRY)
            yield "gives it back unrun", rest._replace(pack=released or rest.pack)
        elif mine and self.world.given_back:
            yield "gives it back unrun, under its claim", rest
        if not mine:  # it was taken over meanwhile: what it claimed is not what stands there
            claimed, runs = Record(), not walker.taken or "steal" in self.faults
        else:
            claimed, runs = rest.pack, "steal" in self.faults or (found is not None and packs.may_run(found))
        if not runs:
            yield "runs nothing", on(rest, walker._replace(ends="L" * self.world.size), "record")
            return
        marked = [] if "nomarks" in self.faults else [place for place in self.every if packs.asked_of(frozenset(claimed.marks), place)]
        here = rest._replace(begun=True, wrong="I8: the bodies of a pack begin again, under the same fence" if rest.begun else rest.wrong)
        for place in self.every:
            here = self._guarded(here, place, packs.FENCE, 1) if place not in marked else here
        if self.world.poison in self.every and self.world.poison not in marked:
            yield "ends its worker", self._killed(here)
            return
        for word in self.world.words:
            ends = "".join("V" if place in marked else letter for place, letter in enumerate(word))
            first = self._published(here, ends) if "followfirst" in self.faults else here
            yield f"ran: {ends}", on(first, walker._replace(ends=ends), "record")

    def _pack_record(self, rest: State, walker: Walker, _: Message) -> Iterator[Found]:
        ended = after(self.record, rest.pack, rest.pack.message, walker.nonce, 0, states.SUCCESS)
        if ended is None or not rest.pack.state:
            yield "is refused", rest
            return
        here = rest._replace(pack=ended._replace(ends=walker.ends))
        for place, letter in enumerate(walker.ends):
            here = counted(here, place) if letter == "S" else here
        yield f"records {walker.ends}", on(here, walker, "acknowledge" if "acklost" in self.faults else "follow")

    def _leaves(self, state: State, walker: Walker, place: int) -> tuple[str, int, bool]:
        if "followlocal" in self.faults and walker.ends:
            end = ENDS[walker.ends[place]]
            return end.state, end.attempt, end.state == states.RETRY
        if "marklost" in self.faults:
            return said(state.pack._replace(marks=()), place)
        return said(state.pack, place)

    def _pack_follow(self, rest: State, walker: Walker, _: Message) -> Iterator[Found]:
        ended = {place for place in self.every if "arriveall" in self.faults or not self._leaves(rest, walker, place)[2]}
        yield "arrives", on(self._arrived(rest, ended), walker, "publish")

    def _pack_publish(self, rest: State, walker: Walker, _: Message) -> Iterator[Found]:
        unpacked = "nosplitwrite" in self.faults and rest.pack.state == states.RUNNING
        here = rest
        for place in self.every:
            _, attempt, left = self._leaves(rest, walker, place) if not unpacked else ("", 0, True)
            if not left:
                continue
            here = sent(here, place, attempt, self.world.copies)
            if rest.deaths:
                yield f"publishes {place} and dies", here._replace(deaths=rest.deaths - 1)
        yield "publishes what left", on(here, walker, "acknowledge")

    def _pack_acknowledge(self, rest: State, walker: Walker, _: Message) -> Iterator[Found]:
        yield "acknowledges", acknowledged(rest, walker)

    def _single_claim(self, rest: State, walker: Walker, message: Message) -> Iterator[Found]:
        place, record = message.member, rest.members[message.member]
        if message.attempt and not record.state and "mustexist" in self.faults:
            yield "finds no record and is parked", acknowledged(rest, walker)
            return
        granted = after("claim" if "nobase" in self.faults else "left", record, walker.message, walker.nonce, message.attempt)
        if granted is not None:
            marked = "I7: a revoked member begins again" if said(rest.pack, place)[0] == states.REVOKED else ""
            yield "claims", on(put(rest, place, granted), walker, "body")._replace(wrong=marked)
            return
        for expired in (False, True):
            if self.world.poison >= 0 and expired == any(one.nonce == record.nonce for one in rest.walkers):
                continue
            action = answer(record, walker, message.attempt, MOST if self.world.poison >= 0 else 1_000, expired=expired)
            if action in (Action.STEAL, Action.POISON):
                stolen = after("steal", record, walker.message, walker.nonce, record.attempt) or record
                at, new = ("follow", stolen._replace(state=states.POISON)) if action is Action.POISON else ("body", stolen)
                yield "takes it over", on(put(rest, place, new), walker, at)
            elif action is Action.FOLLOW_AGAIN:
                yield "finds its end", on(rest, walker, "follow")
            else:
                yield "waits" if action is Action.WAIT else "is a copy", rest if action is Action.WAIT else acknowledged(rest, walker)

    def _single_body(self, rest: State, walker: Walker, message: Message) -> Iterator[Found]:
        place, record = message.member, rest.members[message.member]
        here = self._guarded(rest, place, record.fence, 1 + record.claims) if record.nonce == walker.nonce else rest
        if place == self.world.poison:
            yield "ends its worker", self._killed(here)
            return
        yield "runs", on(here, walker, "record")

    def _single_record(self, rest: State, walker: Walker, message: Message) -> Iterator[Found]:
        record = rest.members[message.member]
        ended = after(self.record, record, record.message, walker.nonce, record.attempt, states.SUCCESS)
        if ended is None:
            yield "is refused", rest
        else:
            yield "records", on(counted(put(rest, message.member, ended), message.member), walker, "follow")

    def _single_follow(self, rest: State, walker: Walker, message: Message) -> Iterator[Found]:
        yield "arrives", acknowledged(self._arrived(rest, {message.member}), walker)

    def _guarded(self, state: State, place: int, fence: int, run: int) -> State:
        """Write to the resource of a member, which accepts the fences that are not below the last one; *run*: the number of the run."""
        if not self.world.guarded or fence < state.guards[place][0]:
            return state
        late = run < state.guards[place][1]
        wrong = "I2: an old holder's guarded write was accepted after a newer one's" if late else state.wrong
        guards = (*state.guards[:place], (fence, run), *state.guards[place + 1 :])
        return state._replace(guards=guards, wrong=wrong)

    def _killed(self, state: State) -> State:
        kills = state.kills + 1
        return state._replace(kills=kills, wrong="P: a poison ended more workers than it may" if kills > 1 + MOST else state.wrong)

    def _published(self, state: State, ends: str) -> State:
        for place, letter in enumerate(ends):
            state = sent(state, place, ENDS[letter].attempt, self.world.copies) if letter in "RL" else state
        return state

    def _arrived(self, state: State, ended: set[int]) -> State:
        joined = state.joined | ended
        if len(joined) < self.world.size or not ended:
            return state._replace(joined=joined)
        early = [place for place in self.every if said(state.pack, place)[0] not in states.TERMINAL]
        early = [place for place in early if state.members[place].state not in states.TERMINAL]
        wrong = "J1: the body was published before every member ended" if early else state.wrong
        return state._replace(joined=joined, body=True, wrong=wrong)


WORLDS = {
    "a retry, a death": World(words=("SR",)),
    "a copy": World(words=("SS",), copy=True, deaths=0),
    "retries and rests": World(words=("SR", "RL"), deaths=0),
    "follow-ups twice": World(words=("SR",), deaths=0, copies=2),
    "a revocation": World(words=("SR",), deaths=0, revoke=1),
    "a revocation of what succeeds": World(words=("SS",), deaths=0, revoke=1),
    "a poison": World(words=("SS",), deaths=0, poison=0, copies=2),
    "given back": World(words=("SR",), given_back=True),
    "guarded resources": World(words=("SR",), deaths=0, guarded=True),
}
"""Small worlds, which are searched whole in a few seconds."""
LARGE = {
    "packs, retries and rests, a death": World(words=("SR", "RL"), copies=2),
    "packs, a copy, a retry": World(words=("SR",), copy=True, deaths=0, copies=2),
    "packs, three members": World(words=("SSS", "SRL"), deaths=0),
    "packs, a revocation, two words": World(words=("SS", "SR"), deaths=0, revoke=1, copies=2),
}
"""Larger ones, for `make prove`."""
