"""A poll under the hands of a person: it is paused, triggered, found among the failures, stopped by its circuit, and renamed."""

from typing import Any

from sedano import Breaker, Retry, Sedano, every, testing
from sedano.api.polls import polling
from sedano.errors import Unavailable
from sedano.model import states
from sedano.polls import Polled, call_id
from sedano.views.failures import failures
from tests.stories.test_polls import ORDERS, Shop


def away(cursor: Any) -> Polled | None:
    """Return nothing: the source does not answer."""
    raise Unavailable("the source does not answer")


def test_a_poll_that_is_paused_asks_for_nothing_and_continues_at_its_cursor_when_it_is_resumed() -> None:
    shop = Shop(ORDERS[:2])
    with testing.world(shop.app) as world:
        world.elapse(301)
        shop.app.control.pause(task="poll.orders")
        shop.rows.append({"id": 8})
        world.elapse(3_600)
        assert (shop.ran, shop.asked) == ([1, 2], [None])
        shop.app.control.resume(task="poll.orders")
        world.elapse(600)
        assert (shop.ran, shop.asked[:2]) == ([1, 2, 8], [None, 2])


def test_a_poll_whose_schedule_is_paused_is_not_published() -> None:
    shop = Shop(ORDERS[:2])
    with testing.world(shop.app) as world:
        shop.app.schedules.pause("poll.orders")
        world.elapse(3_600)
        assert (shop.asked, world.sent("poll.orders")) == ([], [])
        shop.app.schedules.resume("poll.orders")
        world.elapse(600)
        assert shop.ran == [1, 2]


def test_a_poll_that_is_triggered_runs_now_and_its_result_says_what_it_did() -> None:
    shop = Shop(ORDERS)
    with testing.world(shop.app) as world:
        result = shop.app.schedules.trigger("poll.orders")
        world.drain()
        assert result.get() == {"pages": 3, "published": 7, "parked": 0, "note": ""}
        assert shop.ran == [1, 2, 3, 4, 5, 6, 7]
        world.elapse(301)
        assert (len(shop.ran), shop.asked[3:]) == (7, [7]), "the timetable goes on after the cursor"


def test_a_poll_that_failed_is_among_the_failures_with_its_reason() -> None:
    shop = Shop()
    with testing.world(shop.app) as world:
        world.reads("orders", away)
        world.elapse(590)
        (group,) = failures(shop.app, 1).groups
        assert (group.task, group.number) == ("poll.orders", 1)
        assert group.error == "Unavailable"


def test_the_circuit_of_a_poll_spares_a_source_that_is_away_and_closes_when_it_answers() -> None:
    app, asked = Sedano("shop"), list[Any]()
    healthy = list[bool]()

    def source(cursor: Any) -> Polled | None:
        asked.append(cursor)
        return Polled([{"id": 1}], 1) if healthy else away(cursor)

    rule = Breaker(failures=2, window=3_600, open_for=1_800)
    ran = list[Any]()
    app.poll("orders", every(60), source, identity="id", retry=Retry(max_retries=0), circuit=rule)(app.task(name="ordered")(ran.append))
    with testing.world(app) as world:
        world.elapse(1_200)
        assert len(asked) == 2, "the third poll finds the circuit open"
        healthy.append(True)
        world.elapse(1_800)
        assert (len(asked) > 2, ran) == (True, [{"id": 1}])


def test_a_poll_that_is_renamed_begins_anew_and_its_calls_have_other_ids() -> None:
    shop = Shop(ORDERS[:2])
    with testing.world(shop.app) as world:
        world.elapse(301)
        release = Sedano("shop")
        release.poll("purchases", every(300), shop.page, identity="id")(release.task(name="ordered")(lambda order: None))
        release.attach(world.ports)
        assert polling(release).run(release.polls["purchases"], "one", world.clock.now() + 900).published == 2
        world.drain()
        assert (shop.asked, shop.ran) == ([None, None], [1, 2, 1, 2])
        ids = [call_id(poll, "ordered", "id/1") for poll in ("orders", "purchases")]
        assert [world.ports.ledger.read([one])[one].state for one in ids] == [states.SUCCESS] * 2
        release.attach(None)
