"""The model of canvases: the normal shape, the pages it is written on, and what follows from each place, without any worker."""

import json
from collections import Counter
from contextlib import suppress
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import CanvasError, MessageRefused, OptionError
from sedano.model.canvas import pages as plan
from sedano.model.canvas.continuation import PlannedTask, begin, branches, errbacks, find, following, members, size_of
from sedano.model.canvas.page_reader import PAGE_MEMBERS, Item, parse
from sedano.model.canvas.pages import Entry, PageWriter, refuse_options
from sedano.model.canvas.tree import DEEPEST, Chain, Fork, Group, TaskNode, Tree, applied, guarded, linked, normal, optioned
from sedano.model.messages.message import COLLECT, LAUNCH, BlobRef, Place
from sedano.model.tasks.signature import Signature
from tests.unit.canvases import signatures, trees

ADD, TOTAL = TaskNode(Signature("add")), TaskNode(Signature("total"))


class Shelf:
    """Pages in a dict."""

    def __init__(self) -> None:
        self.pages: dict[str, str] = {}
        self.longest = 0

    def keep(self, data: bytes) -> BlobRef:
        ref = BlobRef(sha256(data).hexdigest(), len(data))
        self.pages[plan.refer(ref)] = data.decode()
        self.longest = max(self.longest, len(data))
        return ref

    def load(self, name: str) -> Item:
        return parse(name if name.startswith("{") else self.pages[name])


def entry(signature: Signature, handed: int, queue: str) -> Entry:
    body = {"task": signature.task, "args": signature.args, **({"immutable": True} if signature.immutable else {})}
    return Entry(json.dumps(body)[1:-1], queue or "default")


def written(tree: Tree, shelf: Shelf) -> tuple[PlannedTask, int]:
    """Return how a canvas begins and how many tasks it comes to."""
    made, name = PageWriter(entry, shelf.keep).page(normal(tree))
    item = shelf.load(name)["item"]
    return begin(item, Place("canvas", "", name), (), shelf.load, watched=False), made.tasks


def walked(tree: Tree, shelf: Shelf) -> Counter[str]:
    """Carry a canvas on as if every task ended well, and return which tasks ran, each under an id of its own."""
    first, _ = written(tree, shelf)
    ran: dict[str, str] = {}
    waiting = [first]
    while waiting:
        ask = waiting.pop()
        assert ask.task_id not in ran, "two tasks of one id"
        ran[ask.task_id] = ask.task
        waiting += _after(ask, shelf)
    return Counter(ran.values())


def _after(ask: PlannedTask, shelf: Shelf) -> list[PlannedTask]:
    if ask.place is None:
        return []
    spot = find(ask.place, shelf.load)
    found = [*branches(spot, ask.task_id, ask.place, [1], shelf.load)]
    item, at = spot.item, ask.place._replace(canvas_id=ask.task_id)
    if ask.task != LAUNCH:
        return [*found, *([nxt] if (nxt := following(ask.place, spot, [1], None)) else [])]
    if "page" in item:
        item, at = shelf.load(item["page"])["item"], Place(ask.task_id, "", item["page"])
    found += _launched(item, at, 0, shelf)
    return [*found, *([nxt] if (nxt := following(ask.place, spot, [1], None)) else [])]


def _launched(item: Item, at: Place, first: int, shelf: Shelf) -> list[PlannedTask]:
    if "pages" not in item:
        return members(item, at, first, [1], shelf.load, False, ("j", 10**6))
    found = []
    for name, size in item["pages"]:
        found += _launched(shelf.load(name)["item"], Place(at.canvas_id, "", name), first, shelf)
        first += size
    return found


def expected(tree: Tree | Fork) -> Counter[str]:
    """Return which tasks of the users' a canvas consists of, counted on the tree that they wrote."""
    if isinstance(tree, TaskNode):
        return Counter([tree.signature.task]) + sum(map(expected, (*tree.links, *tree.forks)), Counter[str]())
    if isinstance(tree, Fork):
        return sum(map(expected, tree.branches), Counter[str]())
    if isinstance(tree, Chain):
        return sum(map(expected, tree.steps), Counter[str]())
    return sum(map(expected, (*tree.members, *tree.links)), Counter[str]())


def users(ran: Counter[str]) -> Counter[str]:
    return Counter({name: n for name, n in ran.items() if name not in (LAUNCH, COLLECT)})


@given(trees)
def test_whatever_is_written_down_is_carried_on_to_every_task_once(tree: Tree) -> None:
    shelf = Shelf()
    assert users(walked(tree, shelf)) == users(expected(tree))


@given(trees)
def test_the_normal_shape_is_normal(tree: Tree) -> None:
    made = normal(tree)
    assert normal(made) == made
    assert not isinstance(made, Chain) or not any(isinstance(step, Chain | Fork) for step in made.steps)


@given(trees)
def test_what_has_to_be_one_result_ends_in_one_task(tree: Tree) -> None:
    made = normal(tree, joined=True)
    assert isinstance(made, TaskNode) or (isinstance(made, Chain) and isinstance(made.steps[-1], TaskNode))


@given(st.lists(signatures, min_size=1, max_size=60), st.integers(1, 4))
def test_a_long_canvas_is_cut_into_pages_and_nothing_is_lost(some: list[Signature], times: int) -> None:
    steps = [TaskNode(Signature(s.task, (*s.args, "x" * 700), immutable=s.immutable)) for s in some] * times
    shelf = Shelf()
    assert users(walked(Chain(tuple(steps)), shelf)) == Counter(s.signature.task for s in steps)
    assert users(walked(Chain((Group(tuple(steps)), TOTAL)), shelf)) == Counter(s.signature.task for s in [*steps, TOTAL])
    assert shelf.longest < 2 * plan.PAGE_BYTES


def test_a_hundred_thousand_members_stand_on_pages_of_pages() -> None:
    shelf = Shelf()
    ask, tasks = written(Chain((Group((ADD,) * 130_000), TOTAL)), shelf)
    assert tasks == 130_002
    assert ask.place is not None
    item = find(ask.place, shelf.load).item
    group = shelf.load(item["page"])["item"] if "page" in item else item
    assert size_of(group) == 130_000
    assert len(group["pages"]) <= PAGE_MEMBERS
    assert max(map(len, shelf.pages.values())) < 2 * plan.PAGE_BYTES


def test_chains_in_chains_are_one_chain_and_keep_who_watches_them() -> None:
    watched = Chain((ADD, TOTAL), (TaskNode(Signature("alarm")),))
    made = normal(Chain((ADD, watched, Chain((Chain((TOTAL,)),)))))
    assert isinstance(made, Chain)
    assert [isinstance(s, TaskNode) and bool(s.watch) for s in made.steps] == [False, True, True, False]


def test_a_group_within_a_group_is_collected() -> None:
    made = normal(Group((ADD, Group((ADD,)))))
    assert isinstance(made, Group)
    inner = made.members[1]
    assert isinstance(inner, Chain)
    assert inner.steps[-1] == TaskNode(Signature(COLLECT))


def test_a_fork_hangs_on_the_step_before_it() -> None:
    made = normal(Chain((ADD, Fork((TOTAL,)), Group((ADD,)), Fork((ADD,)), TOTAL)))
    assert isinstance(made, Chain)
    assert [s.forks for s in made.steps if isinstance(s, TaskNode)] == [(TOTAL,), (ADD,), ()]


@pytest.mark.parametrize("wrong", [Chain(()), Chain((Fork((ADD,)), ADD)), Group((Chain(()),))])
def test_what_has_no_beginning_is_refused(wrong: Tree) -> None:
    with pytest.raises(CanvasError):
        normal(wrong)


def test_a_canvas_nested_too_deeply_is_refused() -> None:
    def nested(levels: int) -> Tree:
        return Group((nested(levels - 1),)) if levels else ADD

    with pytest.raises(CanvasError, match="more than 100 levels"):
        normal(nested(DEEPEST + 2))
    shelf = Shelf()
    assert users(walked(nested(DEEPEST), shelf)) == {"add": 1}


def test_options_hold_for_every_task_and_the_beginning_for_the_first() -> None:
    made = optioned(Chain((ADD, Group((TOTAL, TOTAL)), Fork((ADD,)))), {"tenant": "a", "countdown": 5})
    assert isinstance(made, Chain)
    first, group, side = made.steps
    assert isinstance(first, TaskNode)
    assert isinstance(group, Group)
    assert (first.signature.options.tenant, first.signature.options.countdown) == ("a", 5)
    set_on = [m.signature.options for m in group.members if isinstance(m, TaskNode)]
    assert [(options.tenant, options.countdown) for options in set_on] == [("a", None)] * 2
    assert side == Fork((TaskNode(Signature("add").set(tenant="a")),))


def test_arguments_go_to_what_begins_it_but_not_to_what_is_immutable() -> None:
    still = TaskNode(Signature("add", (1,), immutable=True))
    made = applied(Group((ADD, still)), (7,), {"k": 1})
    assert made == Group((TaskNode(Signature("add", (7,), {"k": 1})), still))


def test_the_same_callback_is_linked_once() -> None:
    tree = linked(linked(Chain((ADD, TOTAL)), ADD), ADD)
    assert tree == Chain((ADD, TaskNode(TOTAL.signature, links=(ADD,))))
    assert guarded(guarded(tree, ADD), ADD) == Chain(tree.steps, (ADD,))  # type: ignore[union-attr]


def test_error_callbacks_are_told_once_and_of_derived_failures_only_when_they_are_ones_own() -> None:
    own, outer = TaskNode(Signature("own")), TaskNode(Signature("outer"))
    shelf = Shelf()
    ask, _ = written(Chain((TaskNode(Signature("add"), errors=(own, outer)), TOTAL), (outer,)), shelf)
    assert ask.place is not None
    spot = find(ask.place, shelf.load)
    assert [e["task"] for e in errbacks(spot, derived=False)] == ["own", "outer"]
    assert [e["task"] for e in errbacks(spot, derived=True)] == ["own", "outer"]
    last = find(ask.place._replace(node="1"), shelf.load)
    assert [e["task"] for e in errbacks(last, derived=False)] == ["outer"]
    assert errbacks(last, derived=True) == ()


@given(st.text(max_size=60) | st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda i: st.lists(i) | st.dictionaries(
    st.sampled_from(["item", "chain", "group", "task", "watch", "more", "page", "kind", "links", "resume", "pages"]), i)).map(json.dumps),
    st.from_regex(r"[0-9](\.([0-9]|links|forks)){0,3}", fullmatch=True))  # fmt: skip
def test_whatever_a_message_says_its_canvas_is_either_holds_together_or_is_refused(text: str, node: str) -> None:
    def load(name: str) -> Any:
        return parse(name)

    with suppress(MessageRefused):
        spot = find(Place("c", node, text), load)
        following(Place("c", node, text), spot, (), None)
        list(branches(spot, "t", Place("c", node, text), (), load))


@pytest.mark.parametrize("options", [{"dedup_key": "k"}, {"dedup_key": "k", "on_duplicate": "drop"}, {"budget": 5}])
def test_options_that_a_canvas_decides_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="canvas"):
        refuse_options(Signature("add").set(**options))
