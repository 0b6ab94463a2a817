"""Stories of effects in the record's transaction: duplicates, zombies and crashes leave no half effect and no double one."""

from collections.abc import Callable
from typing import Any

import pytest

from sedano import Retry, Sedano, chord, current, testing
from sedano.errors import OptionError, SedanoError, TooLarge
from sedano.model import states
from tests.stories.kitchen import COMMANDS, SETTINGS, another_worker, deliver
from tests.stories.taps import OUTSIDE, SIDES, Crash, Side, Watch, away, tapped

WATCHED = OUTSIDE | {"effects"}
ORDERS = range(3)
SOLD = [{"id": "lager", "sold": 3}]
BOOKED = [{"id": f"order-{number}", "paid": True} for number in ORDERS]


class Shop:
    """Each order is booked once and counted once, whatever happens; the first try of one order fails after it has collected."""

    def __init__(self, delivery: str = "claimed") -> None:
        self.app = Sedano("shop", retry=Retry(max_retries=5, interval_start=1, jitter=False))
        self.app.table("orders", key="id")
        self.app.table("stock", key="id")
        self.tries = 0
        self.sell = self.app.task(name="sell", delivery=delivery)(self._sell)
        self.note = self.app.task(name="note", ignore_result=True)(lambda number: number)

    def _sell(self, number: int) -> int:
        self.tries += 1
        effects = current().effects
        effects.put("orders", {"id": f"order-{number}", "paid": True})
        effects.update("stock", {"id": "lager"}, add={"sold": 1})
        if self.tries == 1:
            raise ConnectionError("the till is jammed")
        self.note.delay(number)
        return number


def shopping(function: Callable[..., Any], **options: Any) -> tuple[Sedano, Any]:
    """An app with the tables and one task."""
    app = Sedano("shop", retry=Retry(max_retries=2, interval_start=1, jitter=False))
    app.table("orders", key="id")
    return app, app.task(name="work", **options)(function)


def play(watch: Watch, delivery: str = "claimed") -> tuple[Any, ...]:
    """Sell every order, delivered twice, under *watch*; every worker that dies is replaced. Return the states, the tables and the notes."""
    shop = Shop(delivery)
    with testing.world(shop.app, settings=SETTINGS) as world:
        results = [shop.sell.delay(number) for number in ORDERS]
        for one in world.queues.receive(COMMANDS):
            world.queues.duplicate(one)
            world.queues.hold(one, 0)
        worker = another_worker(world, tapped(world.ports, watch))
        for _ in range(2_000):
            deliveries = world.ports.queues.receive(COMMANDS)
            if not deliveries and world.queues.depth(COMMANDS) == 0:
                break
            if not deliveries:
                world.clock.advance(1)
                continue
            try:
                back = {d.message_id for d in worker.work(deliveries, world.clock.now() + 10)}
            except Crash:
                worker = another_worker(world)
                continue
            world.ports.queues.delete([d for d in deliveries if d.message_id not in back])
        notes = {note["args"][0] for note in world.sent("note")}
        return [result.state for result in results], world.table("orders"), world.table("stock"), len(world.parked()), notes


GOOD = ([states.SUCCESS] * 3, BOOKED, SOLD, 0, set(ORDERS))


@pytest.mark.parametrize("side", SIDES)
def test_whatever_call_a_worker_dies_at_each_order_has_its_effects_once_and_whole(side: Side) -> None:
    counted = Watch(-1, side, ports=WATCHED)
    assert play(counted) == GOOD
    assert counted.calls.count("effects.record") >= 3
    for at in range(len(counted.calls)):
        watch = Watch(at, side, ports=WATCHED)
        assert play(watch) == GOOD, f"{side} {counted.calls[at]} ({at})"
        assert watch.fired


@pytest.mark.parametrize("side", SIDES)
def test_an_effects_call_that_is_not_answered_is_no_end_of_its_task(side: Side) -> None:
    counted = Watch(-1, side, error=away, ports=frozenset({"effects"}))
    assert play(counted) == GOOD
    for at in range(len(counted.calls)):
        watch = Watch(at, side, error=away, ports=frozenset({"effects"}))
        assert play(watch) == GOOD, f"{side} {at}"
        assert watch.fired


def test_record_once_has_its_effects_once_however_often_its_body_runs() -> None:
    shop = Shop("record_once")
    with testing.world(shop.app, settings=SETTINGS) as world:
        shop.tries = 1
        result = shop.sell.delay(0)
        (one,) = world.queues.receive(COMMANDS)
        world.queues.duplicate(one)
        world.queues.hold(one, 0)
        for _ in range(2):
            (delivery,) = world.queues.receive(COMMANDS, most=1)
            worker = another_worker(world)
            assert worker.work([delivery], world.clock.now() + 10) == []
            world.queues.delete([delivery])
        assert (result.state, world.table("stock")) == (states.SUCCESS, [{"id": "lager", "sold": 1}])


def test_a_zombies_effects_are_refused_with_its_record() -> None:
    app, runs = Sedano("shop"), list[int]()
    app.table("orders", key="id")

    @app.task(name="slow")
    def slow() -> str:
        runs.append(len(runs))
        mine = len(runs)
        effects = current().effects
        effects.put("orders", {"id": "a", "by": mine})
        effects.update("orders", {"id": "sum"}, add={"runs": 1})
        if mine == 1:
            world.clock.advance(120)
            deliver(world, another_worker(world))
        return f"run {mine}"

    with testing.world(app, settings=SETTINGS) as world:
        result = slow.delay()
        (first,) = world.queues.receive(COMMANDS)
        world.queues.duplicate(first)
        assert another_worker(world).work([first], world.clock.now() + 10) == [first]
        assert (runs, result.get()) == ([0, 1], "run 2")
        assert world.table("orders") == [{"id": "a", "by": 2}, {"id": "sum", "runs": 1}]


def test_an_item_that_is_deleted_is_no_longer_in_its_table() -> None:
    def work(kind: str) -> None:
        effects = current().effects
        if kind == "put":
            effects.put("orders", {"id": "a"})
            effects.put("orders", {"id": "b"})
        else:
            effects.delete("orders", {"id": "a"})

    app, task = shopping(work)
    with testing.world(app, settings=SETTINGS) as world:
        for kind in ("put", "delete", "delete"):
            task.delay(kind).get()
        assert world.table("orders") == [{"id": "b"}]


def test_a_refused_effect_fails_the_attempt_and_the_body_reads_anew() -> None:
    tries = list[int]()

    def work() -> str:
        tries.append(1)
        effects = current().effects
        effects.put("orders", {"id": "b"})
        if len(tries) < 3:
            effects.put("orders", {"id": "a", "by": "late"}, condition=effects.ABSENT)
        return "booked"

    app, task = shopping(work)

    @app.task(name="first")
    def first() -> None:
        current().effects.put("orders", {"id": "a", "by": "first"}, condition=current().effects.ABSENT)

    with testing.world(app) as world:
        first.delay()
        world.drain()
        result = task.delay()
        assert result.get() == "booked"
        assert (len(tries), world.table("orders")) == (3, [{"id": "a", "by": "first"}, {"id": "b"}])


def test_a_task_whose_effect_is_refused_to_the_last_try_fails_by_its_name_and_leaves_nothing() -> None:
    def work() -> None:
        current().effects.put("orders", {"id": "b"})
        current().effects.delete("orders", {"id": "a"}, condition={"paid": True})

    app, task = shopping(work)
    with testing.world(app) as world:
        result = task.delay()
        world.drain()
        world.elapse(60)
        record = world.ports.ledger.read([result.id])[result.id]
        assert (record.state, world.table("orders")) == (states.FAILURE, [])
        assert record.error is not None
        assert record.error.type_name == "EffectRefused"
        assert record.error.message.startswith('effect 1, orders {"id":"a"}: paid does not have the value of the condition')


def test_effects_go_with_a_chord_whose_body_sees_every_result() -> None:
    app, task = shopping(lambda number: current().effects.put("orders", {"id": f"o-{number}"}) or number)
    total = app.task(name="total")(sum)
    with testing.world(app) as world:
        result = chord([task.s(number) for number in range(4)])(total.s())
        assert result.get() == 6
        assert world.table("orders") == [{"id": f"o-{number}"} for number in range(4)]


def test_a_result_beyond_an_item_and_an_async_body_have_their_effects() -> None:
    async def work() -> str:
        current().effects.put("orders", {"id": "a"})
        return "x" * 200_000

    app, task = shopping(work)
    with testing.world(app) as world:
        assert (len(task.delay().get()), world.table("orders")) == (200_000, [{"id": "a"}])


@pytest.mark.parametrize(
    ("collect", "error", "words"),
    [
        (lambda e: e.put("users", {"id": "a"}), OptionError, r"'users' is not a declared table \(orders\); declare it: app.table\('users'"),
        (lambda e: e.put("orders", {"name": "a"}), OptionError, "the key is id; give exactly these"),
        (lambda e: e.put("orders", {"id": ""}), OptionError, "the key id must be a non-empty string or a whole number"),
        (lambda e: e.put("orders", {"id": "a", "price": 1.5}), OptionError, "float is not kept exactly"),
        (lambda e: e.put("orders", {"id": "a", "n": 10**38}), OptionError, "more than 38 digits"),
        (lambda e: e.put("orders", {"id": "a", "n": ["\ud800"]}), OptionError, "half of a surrogate pair"),
        (lambda e: e.put("orders", {"id": "a", "n": {"": 1}}), OptionError, "'' is not the name of an attribute"),
        (lambda e: e.put("orders", {"id": "a", "n": "x" * 409_600}), TooLarge, "an item may have 409600"),
        (lambda e: e.update("orders", {"id": "a"}), OptionError, "it does not change anything"),
        (lambda e: e.update("orders", {"id": "a"}, set={"id": "b"}), OptionError, "id is in the key, or in two"),
        (lambda e: e.update("orders", {"id": "a"}, set={"n": 1}, remove=["n"]), OptionError, "n is in the key, or in two"),
        (lambda e: e.update("orders", {"id": "a"}, add={"n": True}), OptionError, "add: n must be a whole number"),
        (lambda e: [e.put("orders", {"id": "a"}), e.delete("orders", {"id": "a"})], OptionError, "combine the two writes"),
        (lambda e: [e.put("orders", {"id": f"{n}"}) for n in range(100)], OptionError, "a run may have at most 99"),
        (lambda e: [e.put("orders", {"id": f"{n}", "n": "x" * 400_000}) for n in range(10)], TooLarge, "a run may have at most 3784704"),
    ],
)  # fmt: skip
def test_an_effect_beyond_a_limit_is_refused_at_the_call_with_words(collect: Any, error: type[Exception], words: str) -> None:
    def work() -> str:
        with pytest.raises(error, match=words):
            collect(current().effects)
        return "told"

    app, task = shopping(work, retry=Retry(max_retries=0))
    with testing.world(app):
        assert task.delay().get() == "told"


def test_a_task_that_leaves_no_record_has_no_effects() -> None:
    said = list[str]()

    def work() -> None:
        with pytest.raises(SedanoError, match='declare it with delivery="claimed" or "record_once"') as found:
            current().effects.put("orders", {"id": "a"})
        said.append(str(found.value))

    app, task = shopping(work, delivery="at_least_once", ignore_result=True)
    with testing.world(app) as world:
        task.delay()
        world.drain()
        assert (len(said), world.table("orders")) == (1, [])


def test_records_without_effects_never_touch_the_port() -> None:
    app, task = shopping(lambda number: number + 1)
    watch = Watch(-1, ports=frozenset({"effects"}))
    with testing.world(app, settings=SETTINGS) as world:
        results = [task.delay(number) for number in range(5)]
        deliver(world, another_worker(world, tapped(world.ports, watch)))
        assert ([result.get() for result in results], watch.calls) == ([1, 2, 3, 4, 5], [])


@pytest.mark.parametrize(
    ("name", "key", "words"),
    [("", "id", "not a name"), ("a", (), "key= is"), ("a", ("x", "x"), "key= is"), ("orders", "id", "is already declared")],
)
def test_a_table_that_cannot_be_declared_is_refused_with_words(name: str, key: Any, words: str) -> None:
    app = Sedano("shop")
    app.table("orders", key=("customer", "number"))
    with pytest.raises(OptionError, match=words):
        app.table(name, key=key)
