"""Stories of tasks of a canvas to which their user gave an id: wherever they stand, that id tells how they ended."""

import pytest

from sedano import chain, chord, group
from sedano.errors import CanvasError, RemoteError
from sedano.model import states
from sedano.model.ledger.records import copied_from
from sedano.model.messages.lineage import derived_id
from sedano.testing import World, world
from sedano.views.cluster import cluster
from tests.stories.kept import assert_view_agrees
from tests.stories.shop import Shop


@pytest.fixture
def shop() -> Shop:
    return Shop()


def told(here: World) -> dict[str, str]:
    """Return the states of all tasks of which the history tells, by their ids."""
    return {task.uuid: task.state for task in cluster(here.ports, latest=10_000, days=1_000).latest}


def state(shop: Shop, task_id: str) -> str:
    return shop.app.result(task_id).state


def test_a_member_of_a_header_keeps_its_id_and_the_body_gets_its_result(shop: Shop):
    frozen = shop.add.s(2, 2)
    with world(shop.app) as here:
        early = frozen.freeze()
        result = chord([shop.add.s(1, 1).set(task_id="one"), frozen, shop.add.s(3, 3)], shop.total.s()).delay()
        here.drain()
        assert (result.get(), early.get(), shop.app.result("one").get()) == (12, 4, 2)
        assert result.parent.get() == [2, 4, 6]
        assert result.parent.ids()[:2] == ["one", early.id]
        assert "SUCCESS" in str(shop.app.control.explain("one"))
        assert here.parked() == []


@pytest.mark.parametrize("on_failure", ["fail", "outcomes"])
def test_a_member_that_fails_is_named_by_its_own_id(shop: Shop, on_failure: str):
    with world(shop.app) as here:
        result = chord([shop.fails.s().set(task_id="bad"), shop.add.s(1, 1)], shop.label.s(), on_failure=on_failure).delay()
        here.drain()
        assert state(shop, "bad") == states.FAILURE
        if on_failure == "outcomes":
            assert [one["id"] == "bad" and one["cause"] == "bad" for one in result.get()] == [True, False]
            return
        with pytest.raises(RemoteError, match="out of stock"):
            result.get()
        assert "bad" in str(here.ports.ledger.read([result.id])[result.id].error)


def test_a_member_that_is_revoked_by_its_own_id_never_runs(shop: Shop):
    with world(shop.app) as here:
        result = chord([shop.add.s(1, 1).set(task_id="one"), shop.add.s(2, 2)], shop.total.s(), on_failure="outcomes").delay()
        shop.app.control.revoke("one")
        here.drain()
        assert (state(shop, "one"), shop.ran["add"]) == (states.REVOKED, 1)
        assert result.parent.progress().failed == 1


@pytest.mark.parametrize(
    ("make", "value"),
    [
        (lambda shop, own: chord([chain(shop.add.s(1, 1), own(shop.pack.s())), shop.add.s(1, 2)], shop.label.s()), [2, 3]),
        (lambda shop, own: chord([chain(shop.fails.s(), own(shop.pack.s())), shop.add.s(1, 2)], shop.label.s()), None),
        (lambda shop, own: chord([group(own(shop.add.s(1, 1)), shop.add.s(1, 2)), shop.add.s(2, 2)], shop.label.s()), [[2, 3], 4]),
        (lambda shop, own: chord([chord([shop.add.s(1, 1)], own(shop.total.s())), shop.add.s(2, 2)], shop.label.s()), [2, 4]),
        (lambda shop, own: chord([own(shop.pack.map([1, 2])), own(shop.add.starmap([(1, 2)]))], shop.label.s()), [[1, 2], [3]]),
        (lambda shop, own: group(chain(shop.add.s(1, 1), own(shop.pack.s())), shop.add.s(2, 2)), [2, 4]),
        (lambda shop, own: chord([own(shop.add.s(n, n)) for n in range(700)], shop.total.s()), 700 * 699),
        (lambda shop, own: chord([own(shop.once.s(4)), own(shop.loose.s(5)), shop.add.s(1, 1)], shop.label.s()), [4, 5, 2]),
        (lambda shop, own: chord([chain(*[shop.pack.si("x" * 900) for _ in range(60)], own(shop.pack.s()))], shop.label.s()), ["x" * 900]),
    ],
    ids=["chain", "failing chain", "group", "chord", "maps", "chain in a group", "pages", "unclaimed", "a long chain"],
)  # fmt: skip
def test_an_id_tells_the_end_of_its_task_wherever_it_stands(shop: Shop, make, value):
    given = []

    def own(sig):
        given.append(f"own-{len(given)}")
        return sig.set(task_id=given[-1])

    with world(shop.app) as here:
        result = make(shop, own).apply_async()
        here.drain()
        assert here.parked() == []
        assert {state(shop, one) for one in given} == {states.SUCCESS if value is not None else states.FAILURE}
        if value is not None:
            assert result.get() == value
        assert set(given) <= {*told(here)}
        assert_view_agrees(here.ports)


def test_no_history_tells_of_the_copy_that_the_join_reads(shop: Shop):
    with world(shop.app) as here:
        result = chord([shop.add.s(1, 1).set(task_id="one"), shop.fails.s().set(task_id="bad")], shop.total.s()).delay()
        here.drain()
        launch, ended = result.parent.id, states.SUCCESS
        assert told(here) == {launch: ended, "one": ended, "bad": states.FAILURE, result.id: states.FAILURE}
        copies = here.ports.ledger.read([derived_id(result.parent.id, n) for n in range(2)]).values()
        assert [(one.state, copied_from(one)) for one in copies] == [(states.SUCCESS, "one"), (states.FAILURE, "bad")]


def test_a_member_under_its_own_id_can_add_to_its_chord_and_be_replaced(shop: Shop):
    @shop.app.task(name="adds")
    def adds() -> int:
        adds.add_to_chord(shop.add.s(5, 5).set(task_id="added"))
        return 1

    @shop.app.task(name="replaced")
    def replaced() -> int:
        raise replaced.replace(chain(shop.add.s(1, 1), shop.pack.s()))

    with world(shop.app) as here:
        result = chord([adds.s().set(task_id="adding"), replaced.s().set(task_id="replaced")], shop.label.s()).delay()
        here.drain()
        assert result.get() == [1, 2, 10]
        assert {state(shop, one) for one in ("adding", "added", "replaced")} == {states.SUCCESS}


def test_two_chords_that_name_one_task_both_get_its_result(shop: Shop):
    with world(shop.app) as here:
        first = chord([shop.add.s(1, 1).set(task_id="one"), shop.add.s(1, 2)], shop.total.s()).delay()
        second = chord([shop.add.s(1, 1).set(task_id="one"), shop.add.s(2, 2)], shop.total.s()).delay()
        here.drain()
        third = chord([shop.add.s(1, 1).set(task_id="one"), shop.add.s(3, 3)], shop.total.s()).delay()
        here.drain()
        assert (first.get(), second.get(), third.get()) == (5, 6, 8)


@pytest.mark.parametrize(
    "make",
    [
        lambda shop: group(shop.add.s(1, 1).set(task_id="one"), shop.add.s(2, 2).set(task_id="one")),
        lambda shop: chord([shop.add.s(1, 1).set(task_id="one")], shop.total.s().set(task_id="one")),
        lambda shop: chain(shop.add.s(1, 1).set(task_id="one"), shop.pack.s(), shop.label.s().set(task_id="one")),
    ],
    ids=["group", "chord", "chain"],
)
def test_one_id_for_two_tasks_of_a_canvas_is_refused(shop: Shop, make):
    with world(shop.app), pytest.raises(CanvasError, match="two tasks of this canvas have the id one; give each its own"):
        make(shop).apply_async()


def test_what_replaces_a_task_cannot_have_another_id(shop: Shop):
    @shop.app.task(name="replaced", retry=False)
    def replaced() -> int:
        raise replaced.replace(shop.add.s(1, 1).set(task_id="other"))

    with world(shop.app), pytest.raises(RemoteError, match="it cannot be other; leave out task_id"):
        replaced.delay().get()
