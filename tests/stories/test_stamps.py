"""Stamps travel: whatever a stamped task causes bears its stamps, is told with them in the history, and can be revoked by them."""

from collections import Counter

import pytest

from sedano import chord, current, group
from sedano.errors import OptionError, TaskRevoked
from sedano.model import states
from tests.stories.kept import told
from tests.stories.processes import Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage

STAMPED = "cost_centre=a1"


@pytest.fixture
def processes(stage: Stage, shop: Shop) -> Processes:
    """The processes of the shop."""
    return Processes(stage, shop.app)


def borne(stage: Stage) -> Counter[tuple[str, str | None]]:
    """Return which tasks ran with which stamps, as the history tells it."""
    return Counter((task.fields["name"], task.fields["stamps"]) for task in told(stage).values())


def test_what_a_task_publishes_and_what_hears_its_events_bear_its_stamps(stage: Stage, shop: Shop, processes: Processes) -> None:
    shop.buy.s("tea").stamp(cost_centre="a1").delay()
    shop.add.delay(1, 1)
    processes.drain()
    everybody = Counter((name, STAMPED) for name in ("buy", "pack", "label", "mail", "count"))
    assert borne(stage) == everybody + Counter([("add", None)])


def test_a_retry_bears_the_stamps_of_the_first_attempt(stage: Stage, shop: Shop, processes: Processes) -> None:
    result = shop.flaky.apply_async((2,), stamps={"cost_centre": "a1"})
    processes.drain()
    assert result.get() == 2
    assert borne(stage) == {("flaky", STAMPED): 1, ("pack", STAMPED): 1}


def test_every_member_of_a_canvas_bears_its_own_stamps_and_inherits_those_of_the_task_that_built_it(
    stage: Stage, shop: Shop, processes: Processes
) -> None:
    shop.plan.s(2).stamp(cost_centre="a1").delay()
    chord([shop.add.s(1, 1).stamp(team="x")])(shop.total.s().stamp(team="y"))
    group(shop.pack.s("a").stamp(team="z"), shop.pack.s("b")).delay()
    processes.drain()
    found = borne(stage)
    assert found[("add", STAMPED)] == 2
    assert (found[("total", STAMPED)], found[("plan", STAMPED)]) == (1, 1)
    assert (found[("add", "team=x")], found[("total", "team=y")]) == (1, 1)
    assert (found[("pack", "team=z")], found[("pack", None)]) == (1, 1)


def test_an_error_callback_bears_and_is_told_the_stamps_of_the_task_that_failed(stage: Stage, shop: Shop, processes: Processes) -> None:
    told_of = []
    shop.task("alarm", lambda request, exc, traceback: told_of.append((request["stamps"], dict(current().stamps))))
    shop.fails.s().on_error(shop.app_sig("alarm")).stamp(cost_centre="a1").delay()
    processes.drain()
    assert told_of == [({"cost_centre": "a1"}, {"cost_centre": "a1"})]


def test_a_step_that_would_inherit_more_than_can_travel_bears_its_own(stage: Stage, shop: Shop, processes: Processes) -> None:
    (shop.pack.s("x").stamp(a="x" * 200) | shop.label.s().stamp(b="y" * 200) | shop.mail.s()).delay()
    processes.drain()
    assert borne(stage) == {("pack", f"a={'x' * 200}"): 1, ("label", f"b={'y' * 200}"): 1, ("mail", f"b={'y' * 200}"): 1}


def test_a_body_sees_its_stamps_and_its_own_win_over_inherited_ones(shop: Shop, processes: Processes) -> None:
    seen = []
    inner = shop.task("inner", lambda: seen.append(dict(current().stamps)))
    outer = shop.task("outer", lambda: inner.s().stamp(team="ü =,%", release="2").delay().id)
    outer.apply_async(stamps={"release": "1", "cost_centre": "a1"})
    processes.drain()
    assert seen == [{"cost_centre": "a1", "release": "2", "team": "ü =,%"}]


def test_a_task_that_stamps_more_than_can_travel_fails_and_says_so(shop: Shop, processes: Processes) -> None:
    outer = shop.task("outer", lambda: shop.add.s(1, 1).stamp(b="y" * 200).delay().id, retry=False)
    result = outer.apply_async(stamps={"a": "x" * 200})
    processes.drain()
    assert result.state == states.FAILURE
    with pytest.raises(Exception, match="OptionError: stamps: 405 characters"):
        result.get()


def test_a_stamp_that_is_none_is_refused_where_it_is_given(shop: Shop) -> None:
    wrongs: list[dict[str, object]] = [{"tenant": "x"}, {"a b": "x"}, {"a": 1}]
    for wrong in wrongs:
        with pytest.raises(OptionError, match=r"^stamps: "):
            shop.add.s(1, 1).set(stamps=wrong)
    with pytest.raises(OptionError, match=r"^stamps: expected a mapping"):
        shop.add.s(1, 1).set(stamps="a=b")


def test_tasks_are_revoked_by_their_stamps_and_so_is_what_they_would_have_caused(stage: Stage, shop: Shop, processes: Processes) -> None:
    doomed = chord([shop.add.s(n, n).stamp(cost_centre="a1") for n in range(2)])(shop.total.s().stamp(cost_centre="a1"))
    spared = shop.add.s(2, 2).stamp(cost_centre="a2").delay()
    revoked = shop.app.control.revoke_by_stamped_headers({"cost_centre": ["a1", "a3"], "team": "core"})
    assert revoked == {"cost_centre=a1", "cost_centre=a3", "team=core"}
    processes.restart()
    processes.drain()
    assert spared.get() == 4
    assert shop.ran == {"add": 1}
    assert shop.app.control.restore_by_header("cost_centre", "a1") == {"cost_centre=a3", "team=core"}
    assert doomed.state == states.REVOKED
    processes.restart()
    again = shop.add.s(3, 3).stamp(cost_centre="a1").delay()
    processes.drain()
    assert again.get() == 6
    late = shop.add.apply_async((1, 1), stamps={"team": "core"})
    processes.drain()
    with pytest.raises(TaskRevoked):
        late.get()
