"""What a join keeps for the loss of its plan, and what ends when that is lost."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from sedano.engine.canvas.launches import LaunchOrigin
from sedano.engine.canvas.lost_pages import MOST_CALLBACKS, PATIENCE, LostPlan, UnrunTask, callbacks, kept, lost
from sedano.engine.canvas.page_cache import Plans
from sedano.memory import MemoryBlobs
from sedano.model.canvas.continuation import PlaceContents, Resume, find, following
from sedano.model.canvas.join import Join
from sedano.model.canvas.pages import refer
from sedano.model.messages.lineage import Lineage
from sedano.model.messages.message import LAUNCH, Gather, JoinMember, Place

BLOBS = MemoryBlobs()
STEP = {"task": "send", "queue": "own"}
ORIGIN = LaunchOrigin("mail", "acme", "00-trace", "a=1", Lineage("root", "parent", 1, 9))


def error(name: str) -> dict[str, str]:
    """An error callback."""
    return {"task": name, "queue": "own"}


def spot(node: str, *steps: Any, canvas: str = "c", watch: Any = ()) -> tuple[Place, PlaceContents]:
    """The place of a step of a chain of these, and what is there."""
    page = {"item": {"chain": list(steps)}, **({"watch": list(watch)} if watch else {})}
    place = Place(canvas, node, refer(BLOBS.put(json.dumps(page).encode())))
    return place, find(place, Plans(BLOBS).load)


def replaced(canvas: str, item: Any, watch: Any, then: Any, resume: Resume | None, end: str) -> tuple[Place, Any]:
    """The place of a task that was replaced, and what is there."""
    return Place(canvas, "0", "p"), SimpleNamespace(item=item, watch=watch, next=then, resume=resume, end=end)


BODY = {"task": "body", "queue": "own", "errors": [error("e")], "watch": [error("w")]}


def test_a_join_keeps_its_body_the_chain_around_it_and_the_callbacks_of_both() -> None:
    place, here = spot("0", {"group": [STEP, STEP]}, BODY, STEP, watch=[error("outer")])
    ask = following(place, here, (), None)
    assert ask is not None
    found = kept([(place, here)])
    assert found == {
        "exits": [UnrunTask(ask.task_id, 0, "body"), UnrunTask("c", 0, "send")],
        "callbacks": [[error("e")], [error("w"), error("outer")]],
    }


def test_a_body_that_ends_its_chain_is_kept_once_and_a_plan_without_callbacks_keeps_none() -> None:
    assert kept([spot("0", {"group": [STEP, STEP]}, STEP)]) == {"exits": [UnrunTask("c", 0, "send")]}


def test_a_launch_that_nothing_follows_keeps_nothing() -> None:
    assert kept([spot("1", STEP, {"group": [STEP, STEP]})]) == {}


def test_the_chains_of_the_tasks_that_were_replaced_end_too_as_the_attempt_that_was_next() -> None:
    inner = spot("0", {"group": [STEP, STEP]}, BODY)
    outer = replaced("outer", {"errors": [error("f")], "watch": [error("v")]}, [error("u")], ("next",), Resume(4, None), "send")
    last = replaced("last", {"errors": [error("g")]}, [], None, None, "send")
    found = kept([inner, outer, last])
    assert found["exits"] == [UnrunTask("c", 0, "body"), UnrunTask("outer", 4, "send")], "nothing follows the last one"
    assert found["callbacks"] == [[error("e"), error("f"), error("g")], [error("w"), error("v"), error("u")]]
    nameless = replaced("outer", {}, [], ("next",), None, "")
    assert kept([inner, nameless])["exits"][1] == UnrunTask("outer", 0, LAUNCH)


@pytest.mark.parametrize("over", [0, 1])
def test_callbacks_that_are_too_long_for_a_join_are_left_in_the_plan(over: int) -> None:
    frame = len(json.dumps([[{"task": "e", "queue": "own", "args": [""]}], []]))
    body = {"task": "body", "queue": "own", "errors": [{**error("e"), "args": ["x" * (16_000 - frame + over)]}]}
    assert ("callbacks" in kept([spot("0", {"group": [STEP, STEP]}, body)])) == (not over)
    assert MOST_CALLBACKS == 16_000


def join(**changes: Any) -> Join:
    """A join as a launch writes it."""
    origin = [*ORIGIN[:4], [ORIGIN.lineage.root_id, ORIGIN.lineage.parent_id, 1, 9]]
    body = {"place": ["c", "0", "p"], "member": None, "origin": origin, "outcomes": False, **changes}
    return Join("j", 3, json.dumps({name: value for name, value in body.items() if value is not ...}), "mail")


def test_what_was_kept_ends_with_the_plan() -> None:
    exits = [["b", 0, "body", "more of a later version"], ["c", 2, "send"], ["o", 4, "tail"]]
    found = lost(join(exits=exits, callbacks=[[error("e")], [error("w")]], member=["outer", 1, 2], outcomes=True))
    assert found == LostPlan(
        body=UnrunTask("b", 0, "body"), chains=(UnrunTask("c", 2, "send"), UnrunTask("o", 4, "tail")), errors=(error("e"),),
        watch=(error("w"),), member=JoinMember("outer", 1, 2), origin=ORIGIN, gather=Gather("j", 3, True, True),
    )  # fmt: skip


def test_of_a_join_of_an_older_version_its_chain_ends() -> None:
    found = lost(join())
    assert (found.body, found.chains, found.errors, found.watch, found.member) == (UnrunTask("c", 0, LAUNCH), (), (), (), None)
    assert found.gather == Gather("j", 3, True, False)


def test_each_callback_is_called_once_and_the_outer_ones_only_where_nobody_called_them_for_the_header() -> None:
    found = lost(join(exits=[["b", 0, "body"]], callbacks=[[error("e"), error("e")], [error("e"), error("w")]]))
    assert callbacks(found, derived=False) == [error("e"), error("w")]
    assert callbacks(found, derived=True) == [error("e")]


def test_a_page_counts_as_lost_after_two_and_a_half_minutes() -> None:
    assert PATIENCE == 5
    assert sum(5.0 * 2**times for times in range(PATIENCE)) == 155.0
