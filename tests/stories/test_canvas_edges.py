"""Canvases at their edges, found by random ones: nothing in a group, one in a chain, side branches of groups, stamps without a task."""

from collections import Counter

import pytest

from sedano import chain, chord, fork, group
from sedano.errors import CanvasError, RemoteError, TaskRevoked
from sedano.model import states
from sedano.testing import world
from tests.stories.kept import assert_view_agrees, told
from tests.stories.processes import Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage


@pytest.fixture
def processes(stage: Stage, shop: Shop) -> Processes:
    """The processes of the shop."""
    return Processes(stage, shop.app)


def test_a_frozen_callback_keeps_its_id_when_it_is_linked(shop: Shop, processes: Processes) -> None:
    callback, branch, first = shop.pack.s(), shop.label.s(), shop.add.s(1, 1)
    packed, labelled = callback.freeze(), branch.freeze()
    first.link(callback)
    result = (first | fork(branch)).delay()
    processes.drain()
    assert (result.get(), packed.get() is not None, labelled.state) == (2, True, "SUCCESS")
    assert packed.id in {child.id for child in result.children}


def test_the_last_step_of_a_chain_keeps_its_id(shop: Shop, processes: Processes) -> None:
    step = shop.pack.s()
    known = step.freeze()
    result = (shop.add.s(1, 1) | step).delay()
    assert result.id == known.id
    processes.drain()
    assert known.get() == result.get()
    assert (shop.add.s(1, 1) | shop.pack.s().set(task_id="p-1")).freeze().id == "p-1"


def test_a_last_step_that_cannot_keep_its_id_is_refused(shop: Shop, processes: Processes) -> None:
    with pytest.raises(CanvasError, match="cannot be p-1 as well as whole"):
        (shop.add.s(1, 1) | shop.pack.s().set(task_id="p-1")).apply_async(task_id="whole")


def test_an_error_callback_with_an_id_of_its_own_is_refused(shop: Shop, processes: Processes) -> None:
    errback = shop.mail.s()
    errback.freeze()
    with pytest.raises(CanvasError, match="each failed task calls it once"):
        shop.add.s(1, 1).link_error(errback)


def test_groups_without_tasks_have_as_many_empty_lists_as_they_have_groups() -> None:
    for nothing, lists in ((group(), []), (group(group(), group(group())), [[], [[]]]), (group() | group(group()), [[]])):
        assert nothing.delay().get() == lists
        assert nothing.freeze().get() == lists
        assert nothing.delay().ready()


def test_what_is_linked_to_an_empty_group_is_handed_the_empty_list(shop: Shop, processes: Processes) -> None:
    empty = group()
    empty.link(shop.pack.s())
    result = empty.delay()
    chain(group(), fork(shop.label.s())).delay()
    processes.drain()
    assert (result.get(), shop.ran) == ([], {"pack": 1, "label": 1})


def test_an_empty_group_at_the_end_of_a_chain_waits_for_what_comes_before(shop: Shop, processes: Processes) -> None:
    good, bad = (shop.add.s(1, 1) | group()).delay(), chord([shop.fails.s()], group()).delay()
    assert (good.ready(), bad.ready()) == (False, False)
    processes.drain()
    assert (good.get(), good.ready(), bad.ready()) == ([], True, True)
    with pytest.raises(RemoteError, match="out of stock"):
        bad.get()
    assert isinstance(good.progress().total, int)


def test_a_chain_of_one_is_that_one(shop: Shop, processes: Processes) -> None:
    """So its error callbacks are those of the task itself: as the body of a chord it has them called when the header fails."""
    assert chain(shop.add.s(1, 1)).tree == shop.add.s(1, 1).tree
    body = chain(shop.total.s())
    body.link_error(shop.mail.s())
    chord([shop.fails.s()], body).delay()
    processes.drain()
    assert shop.ran["mail"] == 1


def test_members_of_a_group_that_was_never_launched_say_why(shop: Shop, processes: Processes) -> None:
    first, second = group(shop.fails.s(), shop.add.s(1, 1)), group(shop.pack.s(), shop.label.s() | shop.mail.s())
    result = (first | second | group(shop.count.s())).delay()
    processes.drain()
    for never in (result, result[0], result.parent[1], result.parent[0], result.parent[1].parent, result.parent):
        with pytest.raises(RemoteError, match="out of stock"):
            never.get()
        assert never.ready()


def test_the_side_branches_of_a_group_are_watched_by_the_chain_around_them(shop: Shop, processes: Processes) -> None:
    inner = chain(group(shop.add.s(1, 1)), fork(shop.fails.si()))
    inner.link_error(shop.mail.s())
    result = (chain(inner) | shop.total.s()).delay()
    processes.drain()
    assert (result.get(), shop.ran["mail"]) == (2, 1)


def test_stamps_reach_what_has_no_task_before_it(stage: Stage, shop: Shop, processes: Processes) -> None:
    empty, full = group(), group(shop.add.s(1, 1))
    empty.link(shop.pack.s())
    full.link(shop.label.s())
    chain(group(empty, full), fork(shop.mail.s())).stamp(team="x").delay()
    processes.drain()
    borne = Counter(task.fields["name"] for task in told(stage).values() if task.fields["stamps"] == "team=x")
    assert {name: borne[name] for name in ("add", "pack", "label", "mail")} == {"add": 1, "pack": 1, "label": 1, "mail": 1}


def test_a_step_may_expire_at_once_and_what_follows_tells_so(shop: Shop, processes: Processes) -> None:
    result = (shop.add.s(1, 1).set(expires=0) | shop.pack.s()).delay()
    processes.drain()
    with pytest.raises(TaskRevoked, match="expired"):
        result.get()
    assert shop.ran == {}


def test_a_body_that_is_too_late_tells_what_failed_in_its_header_before(shop: Shop, processes: Processes) -> None:
    result = chord([shop.fails.s()], shop.total.s().set(expires=0)).delay()
    processes.drain()
    assert result.state == states.EXPIRED
    with pytest.raises(RemoteError, match="out of stock"):
        result.get()


@pytest.mark.parametrize(
    "body",
    [
        lambda shop, told: group(told(shop.pack.s()), shop.label.s(), told(shop.mail.s())),
        lambda shop, told: group(told(shop.pack.s()), chain(told(shop.label.s()), shop.mail.s())),
        lambda shop, told: group(shop.pack.s(), group(told(shop.label.s()), told(shop.mail.s()))),
        lambda shop, told: group(shop.pack.s(), chord([told(shop.label.s()), told(shop.mail.s())], shop.label.s())),
        lambda shop, told: chain(group(told(shop.pack.s()), told(shop.mail.s())), shop.label.s()),
        lambda shop, told: group(told(shop.pack.s()) if n in (3, 699) else shop.label.s() for n in range(700)),
    ],
    ids=["group", "chain in it", "group in it", "chord in it", "followed", "pages"],
)
def test_the_error_callbacks_of_a_group_that_is_a_body_are_called_with_its_ids_when_the_header_failed(shop, body) -> None:
    calls: list[str] = []
    heard = shop.task("heard", lambda task_id: calls.append(task_id) or task_id)
    given = iter(("first", "second"))

    def told(sig):
        return sig.set(task_id=next(given)).on_error(heard.s())

    with world(shop.app) as here:
        result = chord([shop.fails.s(), shop.add.s(1, 1)], body(shop, told)).delay()
        here.drain()
        assert sorted(calls) == ["first", "second"]
        assert [shop.app.result(one).state for one in ("first", "second")] == [states.FAILURE] * 2
        with pytest.raises(RemoteError, match="out of stock"):
            result.get()
        assert here.parked() == []
        assert_view_agrees(here.ports)


def test_nothing_is_sent_for_the_members_of_a_body_that_tell_nobody(shop) -> None:
    with world(shop.app) as here:
        chord([shop.fails.s()], group(shop.pack.s() for _ in range(700))).delay()
        here.drain()
        assert len(here.sent("sedano.launch")) == 2  # of the header and of the body
