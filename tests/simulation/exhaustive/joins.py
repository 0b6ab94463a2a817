"""The join, exhaustively: members of two shards that arrive, again and late, while their processes die; the body exactly when all have.

Checked is the shipped text (ARRIVE) and the shipped rule (`model.canvas.join.is_full`) over a tree of two levels. A member's message comes
again until it was acknowledged, which needs its whole way up to have been answered (PROTOCOLS §4).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sedano.aws.expressions import tasks
from sedano.model.canvas.join import Arrived, Node, is_full
from tests.simulation.exhaustive.search import Searched, remembered, search, written


class State(NamedTuple):
    """The sets of the shards and of the root, where each member stands, how often the body was published, deaths left."""

    sets: tuple[frozenset[int], ...]
    members: tuple[int, ...]
    bodies: int
    deaths: int
    wrong: str = ""


WAITING, RAN, AT_ROOT, BODY, DONE = range(5)


@remembered
def arrived(done: frozenset[int], child: int) -> frozenset[int]:
    """Return the members of a node after ARRIVE."""
    item = (("done", "NS", tuple(map(str, sorted(done)))),) if done else ()
    found = {name: held for name, _, held in written(tasks.ARRIVE, item, ((":children", "NS", (str(child),)),)) or ()}
    return frozenset(map(int, found["done"]))


class JoinModel:
    """*size* members in shards of *width*; *counts* plants Celery's fault: a counter where a set should be."""

    def __init__(self, size: int, width: int, deaths: int, *, counts: bool = False) -> None:
        """Begin with nobody arrived."""
        self.size, self.width, self.deaths, self.counts = size, width, deaths, counts
        shards = -(-size // width)
        self.shards = [Node(0, number, min(width, size - number * width)) for number in range(shards)]
        self.root = Node(1, 0, shards)

    def run(self) -> Searched:
        """Search."""
        first = State((frozenset[int](),) * (len(self.shards) + 1), (WAITING,) * self.size, 0, self.deaths)
        return search(first, self.steps, self.wrong)

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        """Yield whatever may happen next."""
        for number, at in enumerate(state.members):
            if at == WAITING:
                yield f"{number} runs and is recorded", _at(state, number, RAN)
            elif at == RAN:
                yield f"{number} arrives", self._arrive(state, number, number // self.width, number % self.width, self.shards, AT_ROOT)
            elif at == AT_ROOT:
                yield f"{number} fills its shard", self._arrive(state, number, len(self.shards), number // self.width, [self.root], BODY)
            elif at == BODY:
                early = sum(one == WAITING for one in state.members)
                wrong = f"J1: the body was published while {early} members had not ended" if early else ""
                yield f"{number} publishes the body", _at(state, number, DONE)._replace(bodies=min(2, state.bodies + 1), wrong=wrong)
            if at in (RAN, AT_ROOT, BODY, DONE) and state.deaths:
                again = _at(state, number, RAN)._replace(deaths=state.deaths - 1)
                yield f"{number} dies or its message comes twice", again

    def _arrive(self, state: State, number: int, place: int, child: int, nodes: list[Node], then: int) -> State:
        node, old = nodes[place % len(nodes)], state.sets[place]
        now = old | {len(old)} if self.counts else arrived(old, child)
        sets = (*state.sets[:place], now, *state.sets[place + 1 :])
        full = is_full(node, Arrived(now)) if not self.counts else len(now) == node.width
        return _at(state, number, then if full else DONE)._replace(sets=sets)

    def wrong(self, state: State, last: bool) -> str:
        """Name what is wrong with *state*."""
        if state.wrong:
            return state.wrong
        at_rest = all(at == DONE for at in state.members)
        return "J1: everybody arrived and no body was published" if at_rest and not state.bodies else ""


def _at(state: State, number: int, at: int) -> State:
    return state._replace(members=(*state.members[:number], at, *state.members[number + 1 :]))
