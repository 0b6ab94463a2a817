"""Stories of polls: each item is called once, however often it is read, wherever a process dies; an unchanged source costs nothing."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from sedano import Sedano, cron, every, testing
from sedano.api.polls import again, polling
from sedano.engine.parked.redrive import parked, planned, redrive
from sedano.engine.sources.polls import BEHIND, HELD, WAITS, read_state
from sedano.errors import ConfigurationError, MessageRefused, SourceBusy, Unavailable
from sedano.model import refusals, states
from sedano.model.memos import Memo, memo_name
from sedano.model.sources.polls import POLL, PollState, item_of, text_of
from sedano.polls import Polled, call_id
from sedano.ports import PARKED, Outgoing, command_queue
from sedano.testing import World
from sedano.testing.crash_points import CrashWatch, Point, place, points
from tests.stories.refusing import Refusing

HOUR = 3_600.0
ORDERS = [{"id": number, "customer": number % 2} for number in range(1, 8)]


class Shop:
    """Orders of another shop, in pages of three; `rows` is what its API has, and `ran` what the task did with them."""

    def __init__(self, rows: Sequence[dict[str, Any]] = (), **options: Any) -> None:
        self.app = Sedano("shop", queues=("default", "orders.fifo"))
        self.rows, self.ran, self.asked = [*rows], list[Any](), list[Any]()
        self.ordered = self.app.task(name="ordered", ignore_result=True, **options)(self._ordered)
        self.app.poll("orders", every(300), self.page, identity="id")(self.ordered)

    def _ordered(self, order: dict[str, Any]) -> None:
        self.ran.append(order["id"])

    def page(self, cursor: Any) -> Polled | None:
        """Return the orders after the one that *cursor* names."""
        self.asked.append(cursor)
        rows = [row for row in self.rows if row["id"] > (cursor or 0)]
        return Polled(rows[:3], rows[:3][-1]["id"], more=len(rows) > 3) if rows else None


def state(world: World) -> PollState:
    """The state of the poll of orders."""
    return read_state(world.ports, "orders")[1]


def test_each_item_is_a_call_and_the_next_poll_begins_after_the_last_one() -> None:
    shop = Shop(ORDERS)
    with testing.world(shop.app) as world:
        world.elapse(301)
        assert shop.ran == [1, 2, 3, 4, 5, 6, 7]
        assert shop.asked == [None, 3, 6]
        assert (state(world).cursor, state(world).published, state(world).by) == (7, 7, "")
        shop.rows.append({"id": 8})
        world.elapse(300)
        assert (shop.ran[7:], shop.asked[3:]) == ([8], [7])
        assert shop.app.result(call_id("orders", "ordered", "id/8")).state == states.SUCCESS
        assert world.parked() == []


def test_a_source_that_has_not_changed_costs_no_publication_and_no_write_of_the_state() -> None:
    shop = Shop(ORDERS[:2])
    watch = CrashWatch()
    with testing.world(shop.app, watch=watch) as world:
        world.elapse(301)
        before = len(watch.calls)
        world.elapse(HOUR)
        assert len(shop.asked) == 13
        calls = [call.name for call in watch.calls[before:] if call.body == "poll.orders"]
        assert set(calls) == {"memos.read"}
        assert len(world.sent("ordered")) == 2


def play(watch: CrashWatch | None) -> tuple[list[int], PollState, list[Outgoing]]:
    """Poll four orders in two pages, then one more; return what ran, the state, and what is parked."""
    shop = Shop(ORDERS[:4])
    with testing.world(shop.app, watch=watch) as world:
        world.elapse(301)
        shop.rows.append({"id": 8})
        world.elapse(1_300)
        return sorted({*shop.ran}), state(world)._replace(at=0.0, published=0, seen=""), world.parked()


def test_whatever_call_a_process_dies_at_each_item_is_called_once_and_the_cursor_moves() -> None:
    watch = CrashWatch()
    whole = play(watch)
    assert whole == ([1, 2, 3, 4, 8], PollState(cursor=8), [])
    names = {call.name for call in watch.calls if call.body == "poll.orders"}
    assert names == {"memos.read", "memos.change", "queues.send"}
    for point in points(watch.calls):
        again_watch = CrashWatch(point)
        assert play(again_watch) == whole, place(point, watch.calls)
        assert again_watch.fired, place(point, watch.calls)


def test_a_death_in_the_poll_itself_runs_no_body_of_an_item_twice() -> None:
    watch = CrashWatch()
    play(watch)
    for point in points(watch.calls):
        call = watch.calls[point.at or 0]
        if call.body == "poll.orders":
            shop, dying = Shop(ORDERS[:4]), CrashWatch(point)
            with testing.world(shop.app, watch=dying) as world:
                world.elapse(301)
                shop.rows.append({"id": 8})
                world.elapse(1_300)
            assert sorted(shop.ran) == [1, 2, 3, 4, 8], place(point, watch.calls)


def test_messages_that_all_come_twice_call_each_item_once() -> None:
    assert play(CrashWatch(Point(None))) == play(None)


def test_a_feed_without_a_cursor_publishes_only_what_it_did_not_have_before() -> None:
    app, ran = Sedano("shop"), list[Any]()
    feed = [{"id": 1, "step": "new"}, {"id": 2, "step": "new"}]
    task = app.task(name="seen")(lambda item: ran.append((item["id"], item["step"])))
    app.poll("feed", cron("0 * * * *"), lambda cursor: Polled(list(feed)))(task)
    with testing.world(app) as world:
        world.elapse(HOUR)
        feed[0] = {"id": 1, "step": "paid"}
        feed.append({"id": 3, "step": "new"})
        world.elapse(24 * HOUR)
        assert ran == [(1, "new"), (2, "new"), (1, "paid"), (3, "new")], "without a key a changed item is a new one"
        assert len(world.sent("seen")) == 4, "an item of the last page is not published again"


def test_an_item_that_is_twice_on_a_page_and_a_page_in_disorder_are_one_call_each() -> None:
    shop = Shop()
    with testing.world(shop.app) as world:
        pages = iter([Polled([{"id": 3}, {"id": 1}, {"id": 3}], "a"), Polled([{"id": 2}, {"id": 1}], "b"), Polled([{"id": 3}], "c")])
        world.reads("orders", lambda cursor: next(pages))
        world.elapse(901)
        assert shop.ran == [3, 1, 2]
        assert (state(world).cursor, state(world).published) == ("c", 4), "3 was published again, and its claim absorbed it"


def test_the_source_of_a_test_is_put_back_when_the_world_ends() -> None:
    shop = Shop(ORDERS)
    before = shop.app.polls["orders"]
    with testing.world(shop.app) as world:
        world.reads("orders", lambda cursor: None)
        world.reads("orders", lambda cursor: Polled([{"id": 9}]))
        world.elapse(301)
        assert (shop.ran, shop.asked) == ([9], [])
    assert shop.app.polls["orders"] == before


def test_two_pollers_with_one_page_publish_it_once() -> None:
    shop = Shop(ORDERS[:3])
    with testing.world(shop.app) as world:
        poll, polls, inner = shop.app.polls["orders"], polling(shop.app), list[str]()
        deadline = world.clock.now() + 900

        def slow(cursor: Any, _: Callable[[str], str]) -> Polled | None:
            page = shop.page(cursor)
            inner.append(polls.run(poll, "other", deadline).note)  # the other reads, publishes and moves the cursor meanwhile
            return page

        done = polls.run(poll._replace(read=slow), "one", deadline)
        assert (done.published, done.note, inner) == (0, HELD, [""])
        world.drain()
        assert shop.ran == [1, 2, 3]
        assert len(world.sent("ordered")) == 3


def test_a_page_that_another_publishes_is_left_to_it_until_its_claim_ends_and_then_taken_over() -> None:
    shop = Shop(ORDERS[:2])
    with testing.world(shop.app) as world:
        poll, polls, now = shop.app.polls["orders"], polling(shop.app), world.clock.now()
        name = memo_name(POLL, "orders")
        world.ports.memos.change(Memo(name, text_of(PollState(by="dead", until=now + 120)), "n1"), Memo(name))
        assert polls.run(poll, "one", now + 900).note == HELD
        assert shop.asked == [], "the source is not asked"
        assert polls.run(poll, "dead", now + 900).published == 2, "its own next delivery continues at once"
        world.ports.memos.change(Memo(name, text_of(PollState(by="dead", until=now + 120)), "n2"), read_state(world.ports, "orders")[0])
        world.clock.advance(121)
        assert polls.run(poll, "one", now + 900).published == 2
        world.drain()
        assert shop.ran == [1, 2]


def test_a_poller_that_wakes_up_after_another_took_its_page_over_does_not_move_the_cursor_back() -> None:
    shop = Shop(ORDERS[:2])
    with testing.world(shop.app) as world:
        poll, now = shop.app.polls["orders"], world.clock.now()
        asleep = list[bool]()

        def refuses(queue: str, _: Outgoing) -> None:
            if not asleep and queue == command_queue("default"):
                asleep.append(True)
                world.clock.advance(121)
                shop.rows.append({"id": 3})
                polling(shop.app).run(poll, "two", now + 900)

        real = world.ports.queues
        shop.app.attach(replace(world.ports, queues=Refusing(real, refuses)))
        assert polling(shop.app).run(poll, "one", now + 900).note == BEHIND
        assert (state(world).cursor, state(world).published) == (3, 3)
        shop.app.attach(world.ports)
        world.drain()
        assert shop.ran == [1, 2, 3]


def test_items_keep_their_order_in_a_queue_that_keeps_it() -> None:
    shop = Shop(ORDERS, queue="orders.fifo", serial_key="{order[customer]}")
    with testing.world(shop.app) as world:
        world.elapse(301)
        assert [one for one in shop.ran if one % 2] == [1, 3, 5, 7]
        assert [one for one in shop.ran if not one % 2] == [2, 4, 6]


def test_a_source_that_asks_to_wait_gets_no_request_until_then_and_the_poll_does_not_fail() -> None:
    shop = Shop(ORDERS[:1])
    answers: list[Any] = [SourceBusy(700)]

    def busy(cursor: Any) -> Polled | None:
        shop.asked.append(world.clock.now())
        if answers:
            raise answers.pop()
        return Polled([{"id": 1}], 1)

    with testing.world(shop.app) as world:
        world.reads("orders", busy)
        began = world.clock.now()
        world.elapse(1201)
        assert [round(at - began) for at in shop.asked] == [300, 1200], "the polls at 600 and 900 s do not ask"
        assert (world.telemetry.counted("PollsFailed"), world.telemetry.counted("PollsPutOff")) == (0, 1)
        assert (shop.ran, state(world).wait) == ([1], 0.0)


def test_the_result_of_a_poll_says_what_it_did() -> None:
    shop = Shop(ORDERS)
    with testing.world(shop.app) as world:
        poll = shop.app.polls["orders"]
        done = polling(shop.app).run(poll, "one", world.clock.now() + 900)
        assert done._asdict() == {"pages": 3, "published": 7, "parked": 0, "note": ""}
        world.reads("orders", _busy)
        poll = shop.app.polls["orders"]
        assert polling(shop.app).run(poll, "one", world.clock.now() + 900).note == WAITS
        assert polling(shop.app).run(poll, "one", world.clock.now() + 900).note == WAITS


def _busy(cursor: Any) -> Polled | None:
    raise SourceBusy(60)


def test_a_source_that_is_away_fails_the_poll_which_is_tried_again_and_counted_when_it_gives_up() -> None:
    shop = Shop()

    def away(cursor: Any) -> Polled | None:
        shop.asked.append(cursor)
        raise Unavailable("the source does not answer")

    with testing.world(shop.app) as world:
        world.reads("orders", away)
        world.elapse(590)
        assert len(shop.asked) == 4
        assert world.telemetry.counted("PollsFailed") == 1
        assert state(world) == PollState()


NO_PAGES: list[Any] = ["text", [1], Polled("text"), Polled([], cursor=object()), Polled([0] * 5_001)]


@pytest.mark.parametrize("returned", NO_PAGES)
def test_a_source_that_returns_no_page_fails_the_poll_with_what_it_should_return(returned: Any) -> None:
    shop = Shop()
    with testing.world(shop.app) as world:
        world.reads("orders", lambda cursor: returned)
        world.elapse(590)
        assert world.telemetry.counted("PollsFailed") >= 1
        assert state(world) == PollState()


def test_an_item_that_the_task_cannot_take_is_parked_whole_and_the_next_ones_are_not_delayed() -> None:
    shop = Shop()
    rows: list[Any] = [{"id": 1}, {"name": "no id"}, {"id": [2]}, {"id": 3}]
    with testing.world(shop.app) as world:
        world.reads("orders", lambda cursor: Polled(rows))
        world.elapse(HOUR)
        assert shop.ran == [1, 3]
        told = [(one.attributes["reason"], one.attributes["field"], one.attributes["queue"]) for one in world.parked()]
        assert told == [(refusals.STREAM, "identity", "poll:orders")] * 2, "they are parked once, not with each poll"
        assert [one.body for one in world.parked()] == ['{"name":"no id"}', '{"id":[2]}']


def test_an_item_without_identity_is_called_by_its_content_when_it_is_sent_again_and_is_not_counted_before() -> None:
    shop = Shop()
    shop.ordered = shop.app.task(name="named", ignore_result=True)(lambda item: shop.ran.append(dict(item)))
    shop.app.poll("names", every(300), lambda cursor: Polled([{"id": 1}, {"name": "no id"}], 1), identity="id")(shop.ordered)
    with testing.world(shop.app) as world:
        world.elapse(301)
        assert read_state(world.ports, "names")[1].published == 1
        (one,) = parked(world.ports, lambda _: True)
        assert redrive(world.ports, planned(world.ports, [one]), repoll=lambda name, text: again(shop.app, name, text)) == [None]
        world.drain()
        assert shop.ran == [{"id": 1}, {"name": "no id"}]
        assert shop.app.result(call_id("names", "named", item_of({"name": "no id"}, None).id)) is not None


def test_an_item_that_is_not_json_is_parked_and_the_poll_continues() -> None:
    shop = Shop()
    with testing.world(shop.app) as world:
        world.reads("orders", lambda cursor: Polled([{"id": 1}, {"id": 2, "of": {2}}, {"id": 3}], 1))
        world.elapse(301)
        assert (shop.ran, state(world).cursor) == ([1, 3], 1)
        (one,) = parked(world.ports, lambda _: True)
        assert (one.field, one.delivery.body) == ("items", "not JSON: {'id': 2, 'of': {2}}")
        assert one.detail == "items[1] is not JSON: Object of type set is not JSON serializable"
        (error,) = redrive(world.ports, planned(world.ports, [one]), repoll=lambda name, text: again(shop.app, name, text))
        assert isinstance(error, MessageRefused)


def test_a_parked_item_is_published_when_it_is_sent_again() -> None:
    app, ran = Sedano("shop", queues=("default", "orders.fifo")), list[Any]()
    task = app.task(name="ordered", queue="orders.fifo", serial_key="{order[customer]}")(lambda order: ran.append(order["id"]))
    app.poll("orders", every(300), lambda cursor: Polled([{"id": 1}]), identity="id")(task)
    with testing.world(app) as world:
        world.elapse(301)
        (one,) = parked(world.ports, lambda _: True)
        assert (one.reason, one.queue) == (refusals.STREAM, "poll:orders")
        (error,) = redrive(world.ports, planned(world.ports, [one], app.registry), repoll=lambda name, text: again(app, name, text))
        assert "customer" in str(error)
        again(app, "orders", '{"customer": 4, "id": 1}')
        world.drain()
        assert ran == [1]
        with pytest.raises(ConfigurationError, match="poll other: this app does not declare it"):
            again(app, "other", "{}")


@pytest.mark.parametrize("queue", [command_queue("default"), PARKED])
def test_a_queue_that_is_away_leaves_the_cursor_and_nothing_is_lost(queue: str) -> None:
    shop = Shop([*ORDERS[:2], {"id": 3, "customer": 1}])
    with testing.world(shop.app) as world:
        real, away = world.ports.queues, [True]
        fails = Refusing(real, lambda to, one: Unavailable("away") if away and to == queue and '"poll.' not in one.body else None)
        shop.app.attach(replace(world.ports, queues=fails))
        world.reads("orders", lambda cursor: Polled([{"id": 1}, {"wrong": 2}, {"id": 3}], "end"))
        with pytest.raises(Unavailable):
            polling(shop.app).run(shop.app.polls["orders"], "one", world.clock.now() + 900)
        assert state(world)._replace(seen="") == PollState(), "the claim is given back at once"
        away.clear()
        assert polling(shop.app).run(shop.app.polls["orders"], "two", world.clock.now() + 900).parked == 1
        world.drain()
        assert sorted(shop.ran) == [1, 3]
        assert len(world.parked()) in (1, 2)


def test_a_poll_stops_between_pages_when_the_time_of_its_task_ends_and_the_next_continues() -> None:
    shop = Shop(ORDERS)
    with testing.world(shop.app) as world:
        poll, polls = shop.app.polls["orders"], polling(shop.app)
        done = polls.run(poll, "one", world.clock.now() + 5)
        assert (done.pages, done.published, state(world).cursor) == (1, 3, 3)
        assert polls.run(poll, "two", world.clock.now() + 900).published == 4


def test_a_damaged_state_fails_the_poll_and_is_not_overwritten() -> None:
    shop = Shop(ORDERS)
    with testing.world(shop.app) as world:
        name = memo_name(POLL, "orders")
        world.ports.memos.change(Memo(name, '{"v":2}', "n"), Memo(name))
        world.elapse(590)
        assert (shop.ran, world.telemetry.counted("PollsFailed") >= 1) == ([], True)
        assert world.ports.memos.read([name])[name].text == '{"v":2}'
