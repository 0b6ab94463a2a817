"""Lost pages: a full join ends the rest of its canvas if the page that describes it no longer exists.

Theory. A join waits for its members; the last one reads the page and publishes the body. Without the page no body can be published, and
callers that wait for the body, or for the chain around it, would wait forever. So the launch, which has the page, stores in the join what
to end in that case (`kept`): the ids of the body and of the chains around it, and the error callbacks of the body.

Invariants. The body's record is the one arbiter: it is put where nothing is (`Ledger.keep`), so a body that another worker could publish,
because its page was there for a moment, wins, and nothing is cut. It is put without a message's id, as a revocation is, so that every
message of the body that arrives later follows it as a failure, under the same derived ids. Callbacks are published and outer joins are
reached only behind that record; a redelivery does the same again.

A page may be temporarily unavailable, or not found once: a member's message is deferred `PATIENCE` times first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sedano.engine.canvas.launches import LaunchOrigin
from sedano.model.canvas.continuation import PlaceContents, following
from sedano.model.canvas.join import Join
from sedano.model.canvas.page_reader import Item
from sedano.model.messages.lineage import Lineage
from sedano.model.messages.message import LAUNCH, Gather, JoinMember, Place

PATIENCE = 5
"""Waits before a page that is not found counts as lost: about two and a half minutes together."""
MOST_CALLBACKS = 16_000
"""The most characters of error callbacks that a join keeps; longer ones are only in the plan and are lost with it."""
EXIT_FIELDS = 3


class UnrunTask(NamedTuple):
    """A task that ends without having run: its id, the attempt that it ends as, its name."""

    task_id: str
    attempt: int
    name: str


class LostPlan(NamedTuple):
    """The tasks that end with a lost plan: the *body*, the *chains* around it, the error callbacks of the body (*errors*) and of the canvas
    around it (*watch*), the *member* of an outer join, and the inherited attributes (*origin*).
    """

    body: UnrunTask
    chains: tuple[UnrunTask, ...]
    errors: tuple[Item, ...]
    watch: tuple[Item, ...]
    member: JoinMember | None
    origin: LaunchOrigin
    gather: Gather


def kept(spots: Iterable[tuple[Place, PlaceContents]]) -> dict[str, Any]:
    """Return the data that the join of a launch keeps for the loss of its plan; *spots*: the places of the launch and of the tasks that it
    replaces."""
    exits: list[UnrunTask] = []
    errors: list[Item] = []
    watch: list[Item] = []
    for place, spot in spots:
        if not exits:
            ask = following(place, spot, (), None)
            if ask is None:
                return {}
            exits.append(UnrunTask(ask.task_id, ask.attempt, ask.task))
            errors, watch = [*ask.item.get("errors", ())], [*ask.item.get("watch", ()), *spot.watch]
        else:
            errors += spot.item.get("errors", ())
            watch += [*spot.item.get("watch", ()), *spot.watch]
        if spot.next is not None:
            resume = spot.resume
            chain = UnrunTask(place.canvas_id, resume.attempt if resume is not None else 0, spot.end or LAUNCH)
            exits += [chain] if chain.task_id not in [one.task_id for one in exits] else []
    callbacks = [errors, watch]
    if len(json.dumps(callbacks)) > MOST_CALLBACKS:
        callbacks = [[], []]
    return {"exits": exits, **({"callbacks": callbacks} if any(callbacks) else {})}


def lost(join: Join) -> LostPlan:
    """Return the tasks that end with the plan of *join*; for a join that an older version opened, its chain."""
    found: Mapping[str, Any] = json.loads(join.body)
    queue, tenant, traceparent, stamps, lineage = found["origin"]
    exits = [UnrunTask(*one[:EXIT_FIELDS]) for one in found.get("exits", ())] or [UnrunTask(str(found["place"][0]), 0, LAUNCH)]
    errors, watch = found.get("callbacks", ((), ()))
    return LostPlan(
        body=exits[0], chains=tuple(exits[1:]), errors=tuple(errors), watch=tuple(watch),
        member=JoinMember(*found["member"]) if found["member"] else None,
        origin=LaunchOrigin(queue, tenant, traceparent, stamps, Lineage(*lineage)),
        gather=Gather(join.join_id, join.size, True, bool(found["outcomes"])),
    )  # fmt: skip


def callbacks(of: LostPlan, derived: bool) -> Sequence[Item]:
    """Return the error callbacks to call, each once; *derived*: the body ends because its header failed, and *watch* was called for
    that."""
    found: list[Item] = []
    for item in (*of.errors, *(() if derived else of.watch)):
        if item not in found:
            found.append(item)
    return found
