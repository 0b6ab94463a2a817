"""The places of a canvas: what stands at each, under which id it runs, and what follows from it."""

from collections.abc import Mapping
from typing import Any

import pytest

from sedano.errors import MessageRefused
from sedano.model.canvas import continuation
from sedano.model.canvas.continuation import (
    PlaceContents,
    PlannedTask,
    Resume,
    begin,
    branches,
    ends_member,
    errbacks,
    find,
    following,
    members,
    part_of,
    part_place,
    told_to_errback,
)
from sedano.model.messages.lineage import derived_id
from sedano.model.messages.message import LAUNCH, Command, Gather, JoinMember, Place

A, B, C, W, V = (dict[str, Any](task=name) for name in "abcwv")
GROUP = {"group": [A, B]}
MEMBER, GATHER = JoinMember("j", 1, 2), Gather("g", 3)
RESUME = [4, ["c2", "0.1", "p2"], 5, 6]


def pages(**kept: Any) -> Any:
    """Return the reader of these pages."""

    def load(name: str) -> Any:
        if name not in kept:
            raise MessageRefused("blob", "canvasplan", "it is lost")
        return kept[name]

    return load


def at(node: str, page: str = "p", canvas: str = "c") -> Place:
    """Return a place."""
    return Place(canvas, node, page)


NONE: Any = pages()
FORKED: dict[str, Any] = {"task": "a", "watch": [V], "links": [B, {"chain": [A, C]}], "forks": [{"task": "f", "watch": [B]}]}
WHOLE: dict[str, Any] = {"chain": [FORKED, {"group": [B, {"chain": [C, A], "watch": [A]}], "watch": [C]}, C], "watch": [V]}


@pytest.mark.parametrize(
    ("node", "item", "watch", "chain", "number", "size", "following_place"),
    [
        ("0", FORKED, (W, V), WHOLE, 0, 3, (WHOLE["chain"][1], at("1"))),
        ("1", WHOLE["chain"][1], (W, V), WHOLE, 1, 3, (C, at("2"))),
        ("2", C, (W, V), WHOLE, 2, 3, None),
        ("1.0", B, (W, V, C), None, 0, 1, None),
        ("1.1.0", C, (W, V, C, A), {"chain": [C, A], "watch": [A]}, 0, 2, (A, at("1.1.1"))),
        ("1.1.1", A, (W, V, C, A), {"chain": [C, A], "watch": [A]}, 1, 2, None),
        ("0.links.0", B, (), None, 0, 1, None),
        ("0.links.1.0", A, (), {"chain": [A, C]}, 0, 2, (C, at("0.links.1.1"))),
        ("0.links.1.1", C, (), {"chain": [A, C]}, 1, 2, None),
        ("0.forks.0", FORKED["forks"][0], (W, V, V), None, 0, 1, None),
    ],
)  # fmt: skip
def test_a_place_is_a_path_in_its_page(
    node: str, item: Any, watch: tuple[Any, ...], chain: Any, number: int, size: int, following_place: Any
) -> None:
    found = find(at(node), pages(p={"item": WHOLE, "watch": [W]}))
    assert found == PlaceContents(item, watch, chain, number, size, following_place)
    assert (found.resume, found.end) == (None, "" if chain is None else chain["chain"][-1]["task"])


def test_a_part_of_a_long_chain_goes_on_in_another_page() -> None:
    part = {"chain": [A, B], "at": 3, "of": 9, "end": "z", "more": "q", "resume": RESUME}
    load = pages(p={"item": part}, q={"item": {"chain": [C, A], "at": 5, "of": 9}}, r={"item": {"chain": [GROUP]}})
    found = find(at("1"), load)
    assert found == PlaceContents(B, (), part, 4, 9, (C, at("0", "q")))
    assert (found.end, found.resume) == ("z", Resume(4, Place("c2", "0.1", "p2"), 5, 6))
    assert find(at("0"), load).next == (B, at("1"))
    assert find(at("1", "q"), load) == PlaceContents(A, (), {"chain": [C, A], "at": 5, "of": 9}, 6, 9, None)
    assert find(at("0", "r"), load).end == LAUNCH
    alone = {"chain": [A], "resume": [0, None, 1, 2]}
    assert find(at("0"), pages(p={"item": alone})).resume == Resume(0, None, 1, 2)


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ("5", "IndexError: list index out of range"),
        ("0.0", "KeyError: 'group'"),
        ("0.links.0", "KeyError: 'links'"),
        ("2.0", "TypeError: 'int' object is not subscriptable"),
    ],
)
def test_a_path_without_an_item_is_refused(node: str, words: str) -> None:
    load = pages(p={"item": {"chain": [A, {"chain": [5]}, {"group": 7, "pages": []}]}})
    with pytest.raises(MessageRefused) as caught:
        find(at(node), load)
    assert (caught.value.code, caught.value.field) == ("schema", "canvasplan")
    assert caught.value.detail == f"the page is not consistent with its path: {words}"


def refusal(error: pytest.ExceptionInfo[MessageRefused]) -> tuple[str, str]:
    """Return the code and the words of a refusal."""
    return error.value.code, error.value.detail


def test_a_long_reason_is_cut_and_a_lost_page_stays_lost() -> None:
    name = "x" * 400
    with pytest.raises(MessageRefused) as caught:
        find(at(f"0.{name}.0"), pages(p={"item": {"chain": [A]}}))
    assert refusal(caught) == ("schema", f"the page is not consistent with its path: KeyError: '{name}'"[:300])
    more, apart = {"item": {"chain": [A], "of": 2, "more": "q"}}, {"page": "q", "kind": "chain"}
    with pytest.raises(MessageRefused) as caught:
        find(at("0"), pages(p=more))
    assert refusal(caught) == ("blob", "it is lost")
    for call in (lambda: begin(apart, at("0"), (), NONE, False), lambda: members({"group": [apart]}, at(""), 0, (), NONE, False, None)):
        with pytest.raises(MessageRefused) as caught:
            call()
        assert refusal(caught) == ("blob", "it is lost")
    for call in (lambda: begin({"chain": []}, at("0"), (), NONE, False), lambda: members({"group": 5}, at(""), 0, (), NONE, False, None)):
        with pytest.raises(MessageRefused, match=r"^schema: canvasplan: the page is not consistent with its path: (Index|Type)Error: "):
            call()


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("name", ["", "links", "forks", "errors", "watch"])
def test_a_task_has_a_place_only_if_something_follows_from_it(name: str, watched: bool) -> None:
    item: dict[str, Any] = {"task": "a", **({name: [B]} if name else {})}
    place = at("0.1") if watched or name else None
    assert begin(item, at("0.1"), (7,), NONE, watched, MEMBER) == PlannedTask(item, "c", (7,), place, MEMBER)
    assert begin(GROUP, at("0.1"), (7,), NONE, watched) == PlannedTask(GROUP, "c", (7,), at("0.1"))


def test_a_chain_begins_with_its_first_step_under_a_derived_id() -> None:
    first, second = derived_id("c", "step/0"), derived_id("c", "step/4.0")
    named: dict[str, Any] = {"task": "a", "id": "own"}
    for chain, at_node, expected in (
        ({"chain": [A, B]}, "", PlannedTask(A, first, (7,), at("0"), MEMBER)),
        ({"chain": [A, B]}, "1.2", PlannedTask(A, first, (7,), at("1.2.0"), MEMBER)),
        ({"chain": [A]}, "", PlannedTask(A, "c", (7,), at("0"), MEMBER)),
        ({"chain": [A], "of": 2}, "", PlannedTask(A, first, (7,), at("0"), MEMBER)),
        ({"chain": [named, B]}, "", PlannedTask(named, "own", (7,), at("0"), MEMBER)),
        ({"chain": [named]}, "", PlannedTask(named, "c", (7,), at("0"), MEMBER)),
        ({"chain": [A, B], "resume": RESUME}, "", PlannedTask(A, second, (7,), at("0"), MEMBER)),
        ({"chain": [A], "resume": RESUME}, "", PlannedTask(A, "c", (7,), at("0"), MEMBER, attempt=4)),
        ({"chain": [A]}, "", PlannedTask(A, "c", (7,), at("0"), MEMBER, attempt=0)),
    ):
        assert begin(chain, at(at_node), (7,), NONE, False, MEMBER) == expected


def test_a_chain_on_a_page_of_its_own_begins_there_and_a_group_stays_apart() -> None:
    load = pages(q={"item": {"chain": [A, B]}}, r={"item": A, "watch": [W]}, s={"item": A})
    apart = {"page": "q", "kind": "chain"}
    assert begin(apart, at("3"), (), load, False) == PlannedTask(A, derived_id("c", "step/0"), (), at("0", "q"))
    assert begin({"page": "r", "kind": "chain"}, at("3"), (), load, False).place == at("", "r")
    assert begin({"page": "s", "kind": "chain"}, at("3"), (), load, True).place is None
    group = {"page": "q", "kind": "group"}
    assert begin(group, at("3"), (), load, False) == PlannedTask(group, "c", (), at("3"))
    assert (begin(group, at("3"), (), load, False).task, begin(A, at("3"), (), load, False).task) == (LAUNCH, "a")


def stop(item: Any, number: int, size: int, watch: tuple[Any, ...] = (), resume: Any = None) -> PlaceContents:
    """Return the contents of step *number* of a chain before *item*."""
    chain = {"chain": [A, item], **({"resume": resume} if resume is not None else {})}
    return PlaceContents(A, watch, chain, number, size, (item, at("9")))


@pytest.mark.parametrize(
    ("spot", "expected"),
    [
        (stop(B, 0, 3), PlannedTask(B, derived_id("c", "step/1"), (7,), at("9"), MEMBER, GATHER)),
        (stop(B, 1, 3), PlannedTask(B, "c", (7,), None, MEMBER, GATHER)),
        (stop(GROUP, 1, 3), PlannedTask(GROUP, "c", (7,), at("9"), MEMBER, GATHER)),
        (stop(B, 1, 3, (W,)), PlannedTask(B, "c", (7,), at("9"), MEMBER, GATHER)),
        (stop({**B, "id": "own"}, 0, 3), PlannedTask({**B, "id": "own"}, "own", (7,), at("9"), MEMBER, GATHER)),
        (stop({**B, "id": "own"}, 1, 3), PlannedTask({**B, "id": "own"}, "c", (7,), None, MEMBER, GATHER)),
        *(
            (stop({**B, name: [C]}, 1, 3), PlannedTask({**B, name: [C]}, "c", (7,), at("9"), MEMBER, GATHER))
            for name in ("links", "forks", "errors", "watch")
        ),
        (stop(B, 0, 3, (), RESUME), PlannedTask(B, derived_id("c", "step/4.1"), (7,), at("9"), MEMBER, GATHER)),
        (stop(B, 1, 3, (), RESUME), PlannedTask(B, "c", (7,), at("9"), MEMBER, GATHER, 4)),
        (PlaceContents(A, (), None, 0, 1, None), None),
    ],
)
def test_after_a_step_comes_the_next_one_of_its_chain(spot: PlaceContents, expected: PlannedTask | None) -> None:
    assert following(at("8"), spot, (7,), MEMBER, GATHER) == expected


def test_links_and_forks_begin_beside_their_step() -> None:
    links, forks = [B, {**C, "id": "own"}, {"chain": [A, B]}], [B, {**C, "id": "side"}]
    spot = PlaceContents({**A, "links": links, "forks": forks}, (), None, 0, 1, None)
    third = derived_id("t", "links/2")
    assert list(branches(spot, "t", at("4"), (7,), NONE)) == [
        PlannedTask(B, derived_id("t", "links/0"), (7,)),
        PlannedTask(links[1], "own", (7,)),
        PlannedTask(A, derived_id(third, "step/0"), (7,), at("4.links.2.0", canvas=third)),
        PlannedTask(B, derived_id("t", "forks/0"), (7,), at("4.forks.0", canvas=derived_id("t", "forks/0"))),
        PlannedTask(forks[1], "side", (7,), at("4.forks.1", canvas="side")),
    ]
    assert list(branches(PlaceContents(A, (), None, 0, 1, None), "t", at("4"), (), NONE)) == []


def test_error_callbacks_are_called_once_each_and_only_its_own_after_a_derived_end() -> None:
    spot = PlaceContents({**A, "errors": [B, C, B], "watch": [C, V]}, (W, V), None, 0, 1, None)
    assert errbacks(spot, derived=False) == (B, C, V, W)
    assert errbacks(spot, derived=True) == (B, C)
    assert errbacks(PlaceContents(A, (W,), None, 0, 1, None), derived=False) == (W,)
    assert errbacks(PlaceContents(A, (W,), None, 0, 1, None), derived=True) == ()
    assert [told_to_errback(room) for room in (0, 1, 2, 3, 4)] == [0, 1, 1, 3, 3]


def test_the_members_of_a_group_have_derived_ids_and_arrive_at_their_join() -> None:
    named, apart = {**C, "id": "own"}, {"group": [A]}
    group: Mapping[str, Any] = {"group": [A, named, apart, {"chain": [A, B]}, {**B, "id": ""}]}
    ids = [derived_id("c", 10), "own", derived_id("c", 12), derived_id("c", 13), derived_id("c", 14)]
    joins = [JoinMember("j", 10 + n, 99) for n in range(5)]
    last = PlannedTask(group["group"][4], ids[4], (7,), None, joins[4])
    assert members(group, at("3"), 10, (7,), NONE, False, ("j", 99)) == [
        PlannedTask(A, ids[0], (7,), None, joins[0]),
        PlannedTask(named, "own", (7,), None, joins[1]),
        PlannedTask(apart, ids[2], (7,), at("3.2", canvas=ids[2]), joins[2]),
        PlannedTask(A, derived_id(ids[3], "step/0"), (7,), at("3.3.0", canvas=ids[3]), joins[3]),
        last,
    ]
    found = members(group, at(""), 0, (7,), NONE, True, None)
    assert [(one.place, one.member) for one in found[:2]] == [(at("0", canvas=derived_id("c", 0)), None), (at("1", canvas="own"), None)]


def test_the_ids_of_a_canvas_follow_from_its_form() -> None:
    assert continuation.slot_id(MEMBER) == derived_id("j", 1)
    assert (continuation.step_id("c", 3), continuation.step_id("c", 3, 2)) == (derived_id("c", "step/3"), derived_id("c", "step/2.3"))
    assert continuation.branch_id("t", "links", 2) == derived_id("t", "links/2")
    assert (continuation.size_of(GROUP), continuation.size_of({"group": 900, "pages": []})) == (2, 900)
    assert [continuation.is_aside(at(node)) for node in ("0", "0.forks.1", "0.links.1", "0.forks.1.2")] == [False, True, False, True]


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ("500.pages.250", range(500, 750)), ("0.pages.0", range(0)), ("0.pages.1000000", range(1_000_000)), ("0.pages.1000001", None),
        ("0", None), ("0.pages", None), ("0.pages.x", None), ("x.pages.1", None), (".pages.1", None), ("0.pages.", None),
        ("0.links.1", None),
    ],
)  # fmt: skip
def test_a_launch_of_a_part_names_its_members(node: str, expected: range | None) -> None:
    assert part_of(at(node)) == expected
    assert part_place("g", "p", 500, 250) == Place("g", "500.pages.250", "p")


@pytest.mark.parametrize(
    ("task", "task_id", "member", "place", "ends"),
    [
        ("a", "own", None, None, False),
        ("a", derived_id("j", 1), MEMBER, None, False),
        ("a", "own", MEMBER, None, True),
        ("a", "own", MEMBER, at("0", canvas="own"), True),
        ("a", "own", MEMBER, at("0", canvas="c"), False),
        (LAUNCH, "own", MEMBER, at("0", canvas="own"), False),
        (LAUNCH, "own", MEMBER, None, True),
    ],
)  # fmt: skip
def test_a_task_with_an_id_of_the_user_ends_its_member(task: str, task_id: str, member: Any, place: Any, ends: bool) -> None:
    assert ends_member(Command("m", task_id, task, member=member, place=place)) is ends
