"""What a publication may ask for: one task per key, a time to begin, a time to end, no result."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sedano import Sedano, current, testing
from sedano.errors import DuplicateTask, NoResult, OptionError, ResultTimeout, TaskRevoked, UnknownQueue, WaitInsideTask
from sedano.model import states
from sedano.model.ledger.records import RESERVATION_S
from sedano.ports import EVENTS
from sedano.testing import world
from tests.stories.kept import assert_kept, succeeded
from tests.stories.processes import COMMANDS, Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage

KEY: dict[str, Any] = {"dedup_key": "order-7"}


def test_two_publications_of_one_key_are_one_task_with_one_result(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    first = shop.add.apply_async((1, 2), **KEY)
    second = shop.add.apply_async((1, 2), **KEY, on_duplicate="return")
    processes.drain()
    assert first.id == second.id
    assert first.get() == second.get() == 3
    assert shop.ran["add"] == 1
    assert_kept(stage, succeeded(add=1))


def test_a_key_belongs_to_its_task(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    ids = {shop.add.apply_async((1, 2), **KEY).id, shop.pack.apply_async(("x",), **KEY).id}
    processes.drain()
    assert len(ids) == 2
    assert_kept(stage, succeeded(add=1, pack=1))


@pytest.mark.parametrize("ended", [False, True])
def test_drop_publishes_nothing_for_a_key_that_is_known(stage: Stage, shop: Shop, ended: bool) -> None:
    processes = Processes(stage, shop.app)
    shop.add.apply_async((1, 2), **KEY, on_duplicate="drop")
    if ended:
        processes.drain()
    waiting = len(stage.peek(COMMANDS))
    again = shop.add.apply_async((1, 2), **KEY, on_duplicate="drop")
    assert len(stage.peek(COMMANDS)) == waiting
    processes.drain()
    assert again.get() == 3
    assert_kept(stage, succeeded(add=1))


def test_raise_names_the_task_that_holds_the_key(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    first = shop.add.apply_async((1, 2), **KEY, on_duplicate="raise")
    with pytest.raises(DuplicateTask) as refused:
        shop.add.apply_async((1, 2), **KEY, on_duplicate="raise")
    assert refused.value.task_id == first.id
    processes.drain()
    assert_kept(stage, succeeded(add=1))


def test_a_reservation_whose_task_never_came_lapses(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    result = shop.add.apply_async((1, 2), **KEY, on_duplicate="drop")
    stage.ports.queues.delete(stage.ports.queues.receive(COMMANDS))
    shop.add.apply_async((1, 2), **KEY, on_duplicate="drop")
    assert stage.peek(COMMANDS) == []
    stage.pass_time(RESERVATION_S + 1)
    shop.add.apply_async((1, 2), **KEY, on_duplicate="drop")
    processes.drain()
    assert result.get() == 3


def test_a_task_that_is_tried_again_meets_its_own_reservation(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)

    def order() -> None:
        shop.pack.apply_async(("tea",), **KEY, on_duplicate="drop")
        if current().attempt < 2:
            raise RuntimeError("not yet")

    shop.task("order", order)
    shop.app.send_task("order")
    processes.drain()
    assert_kept(stage, succeeded(order=1, pack=1))


def test_wait_returns_when_the_task_ended(shop: Shop) -> None:
    from_world = Shop()
    with world(from_world.app):
        result = from_world.add.apply_async((1, 2), **KEY, on_duplicate="wait")
        assert result.state == states.SUCCESS


def test_waiting_inside_a_batch_sends_what_is_waited_for(shop: Shop) -> None:
    with world(shop.app), shop.app.batch():
        assert shop.add.delay(1, 2).get(timeout=60) == 3
        shop.add.apply_async((1, 2), **KEY, on_duplicate="wait")
        assert shop.ran["add"] == 2


def test_waiting_inside_a_task_is_refused_and_publishes_nothing(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    refused: list[str] = []

    def impatient() -> None:
        for wait in (
            lambda: shop.add.delay(1, 2).get(),
            lambda: shop.add.apply_async((1, 2), **KEY, on_duplicate="wait"),
        ):
            with pytest.raises(WaitInsideTask, match="chord"):
                wait()
            refused.append("refused")

    shop.task("impatient", impatient)
    shop.app.send_task("impatient")
    processes.drain()
    assert refused == ["refused", "refused"]
    assert shop.ran["add"] == 1, "only what was published before the waiting"


@pytest.mark.parametrize("options", [{"countdown": 30}, {"eta": datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC)}])
def test_a_task_does_not_begin_before_its_time(stage: Stage, shop: Shop, options: dict[str, Any]) -> None:
    processes = Processes(stage, shop.app)
    began = stage.clock.now()
    shop.add.apply_async((1, 2), **options)
    assert processes.deliver() == []
    processes.drain()
    assert 29 < stage.clock.now() - began < 32
    assert_kept(stage, succeeded(add=1))


@pytest.mark.parametrize(
    "options", [{"countdown": 31_622_401}, {"eta": datetime(2028, 1, 2, tzinfo=UTC)}, {"countdown": -1}, {"eta": datetime(2026, 1, 1)}]  # noqa: DTZ001 - that is the point
)
def test_a_time_that_cannot_be_kept_is_refused_by_name(stage: Stage, shop: Shop, options: dict[str, Any]) -> None:
    Processes(stage, shop.app)
    with pytest.raises(OptionError, match=next(iter(options))):
        shop.add.apply_async((1, 2), **options)


def test_an_unknown_option_is_refused_by_name(shop: Shop, stage: Stage) -> None:
    Processes(stage, shop.app)
    with pytest.raises(OptionError, match="routing_key: not an option"):
        shop.add.apply_async((1, 2), routing_key="a")


def test_a_task_expires_by_its_own_setting_or_the_callers(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    shop.task("news", lambda: None, expires=60)
    moment = datetime.fromtimestamp(stage.clock.now(), UTC) + timedelta(seconds=200)
    short, late = shop.app.send_task("news"), shop.app.send_task("news", expires=moment)
    stage.pass_time(100.0)
    processes.drain()
    assert (short.state, late.state) == (states.EXPIRED, states.SUCCESS)
    with pytest.raises(TaskRevoked):
        short.get()


def test_a_task_without_a_result_says_so_when_asked(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    result = shop.add.apply_async((1, 2), ignore_result=True)
    with pytest.raises(NoResult):
        result.get()
    processes.drain()
    record = result.record()
    assert record is not None
    assert (record.state, record.result) == (states.SUCCESS, None)


def test_waiting_ends_with_the_time_that_the_caller_has(stage: Stage, shop: Shop) -> None:
    Processes(stage, shop.app)
    began = stage.clock.now()
    with pytest.raises(ResultTimeout, match="PENDING"):
        shop.add.delay(1, 2).get(timeout=5)
    assert stage.clock.now() - began == pytest.approx(5)


def test_forgetting_drops_the_result_and_a_late_copy_is_still_absorbed(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    result = shop.add.apply_async((1, 2), **KEY)
    processes.drain()
    result.forget()
    record = result.record()
    assert record is not None
    assert (record.state, record.result) == (states.SUCCESS, None)
    shop.add.apply_async((1, 2), **KEY)
    processes.restart()
    processes.drain()
    assert shop.ran["add"] == 1


def test_the_document_of_a_result_is_the_result_as_a_message(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    good, bad, pending = shop.add.delay(1, 2), shop.fails.delay(), shop.add.apply_async((1, 2), countdown=900)
    processes.deliver()
    document, failure = good.document(), bad.document()
    assert document is not None
    assert failure is not None
    assert (document.task, document.state, document.value) == ("add", states.SUCCESS, 3)
    assert failure.error is not None
    assert failure.error[:2] == ("ValueError", "out of stock")
    assert pending.document() is None


def test_a_tenant_is_inherited_by_what_follows(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    shop.buy.apply_async(("tea",), tenant="north")
    processes.deliver()
    follow_ups = [*stage.peek(COMMANDS), *stage.peek(EVENTS)]
    assert [message.tenant for message in follow_ups] == ["north"] * 3


@pytest.mark.parametrize("name", ["", "two words", "a" * 257])
def test_a_name_that_no_message_can_bear_is_refused_where_it_is_declared(name: str) -> None:
    with pytest.raises(OptionError, match="name: "):
        Sedano("shop").task(name=name)(lambda: None)


def test_a_queue_that_the_app_does_not_know_is_told_to_the_task_that_names_it(stage: Stage, shop: Shop) -> None:
    told: list[str] = []

    @shop.app.task(name="shop.astray")
    def astray() -> None:
        try:
            shop.add.apply_async((1, 2), queue="nowhere")
        except UnknownQueue as unknown:
            told.append(str(unknown))

    processes = Processes(stage, shop.app)
    astray.delay()
    processes.drain()
    assert told == [f"queue: 'nowhere' is not one of this app's queues {shop.app.queues}; add it to Sedano(queues=…)"]
    assert shop.ran["add"] == 0


def test_a_call_to_a_queue_that_the_app_does_not_know_was_not_sent() -> None:
    app = Sedano("shop", queues=("default", "mail"))
    greet = app.task(name="shop.greet")(lambda: None)
    with testing.world(app) as world:
        greet.apply_async(queue="mail")
        with pytest.raises(UnknownQueue):
            greet.apply_async(queue="nowhere")
        assert len(world.sent("shop.greet")) == 1
