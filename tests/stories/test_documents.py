"""Stories of documents and their sinks: each document reaches each of its sinks once, and a sink that is away delays nothing else."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from sedano import Retry, Sedano, current, testing
from sedano.engine.parked.redrive import parked, planned, redrive
from sedano.errors import ConfigurationError, NotAccepted, Unavailable
from sedano.model import refusals, states
from sedano.model.messages import codec
from sedano.model.messages.message import Document
from sedano.ports import EVENTS, Outgoing
from sedano.testing import World
from sedano.testing.crash_points import CrashWatch, Point, place, points

HOUR, DAY = 3_600.0, 86_400.0
AWAY = Unavailable("the sink does not answer")


class Observatory:
    """Averages go to two sinks and to a task; each average also publishes a price, which goes to one sink and to the same task."""

    def __init__(self) -> None:
        self.app = Sedano("observatory", retry=Retry(max_retries=3, interval_start=1, jitter=False))
        self.bi, self.dashboard = self.app.sink("bi"), self.app.sink("dashboard")
        self.price = self.app.document("price", sinks=[self.bi])
        self.seen: list[Mapping[str, Any]] = []
        self.average = self.app.task(name="average", sinks=[self.bi, self.dashboard])(self._average)
        self.look = self.app.task(name="look", on=[self.price, self.average], ignore_result=True)(self._look)

    def _average(self, user: int) -> dict[str, Any]:
        self.price.publish({"user": user}, id=f"user-{user}")
        if user == 7 and not current().attempt:
            raise ConnectionError("the database is away")
        return {"user": user, "mean": user / 4}

    def _look(self, document: dict[str, Any]) -> None:
        self.seen.append(document)


def held(world: World) -> dict[str, list[str]]:
    """The ids of the documents in each sink."""
    return {sink: sorted(one["id"] for one in world.documents(sink)) for sink in ("bi", "dashboard")}


def test_a_result_and_an_object_reach_their_sinks_and_the_tasks_that_are_declared_on_them() -> None:
    shop = Observatory()
    with testing.world(shop.app) as world:
        result = shop.average.delay(3)
        world.drain()
        (mine,) = world.documents("dashboard")
        assert mine == {
            "id": mine["id"], "name": "average", "task_id": result.id, "source": mine["source"], "time": "2026-01-01T00:00:00.000000Z",
            "value": {"user": 3, "mean": 0.75},
        }  # fmt: skip
        price, average = sorted(world.documents("bi"), key=lambda one: str(one["name"]), reverse=True)
        assert average == mine
        assert (price["id"], price["name"], price["value"], price["task_id"]) == ("price/user-3", "price", {"user": 3}, result.id)
        assert sorted(shop.seen, key=lambda one: str(one["name"]), reverse=True) == [price, average]
        assert result.get() == {"user": 3, "mean": 0.75}
        found = result.document()
        assert found is not None
        assert (found.id, found.value) == (mine["id"], mine["value"])
        assert world.sent("price") == [{"id": "price/user-3", "value": {"user": 3}}]


def test_a_program_publishes_an_object_without_a_task() -> None:
    shop = Observatory()
    with testing.world(shop.app) as world:
        ids = [shop.price.publish([1, 2]), shop.price.publish([1, 2]), shop.price.publish("x", id="x"), shop.price.publish("y", id="x")]
        world.drain()
        assert len(set(ids)) == 3
        assert ids[2:] == ["price/x", "price/x"]
        assert [one["value"] for one in world.documents("bi")] == [[1, 2], [1, 2], "x"]
        assert [one["task_id"] for one in world.documents("bi")] == ids[:3]


def test_a_failed_attempt_publishes_no_document_of_its_result_and_each_task_one() -> None:
    shop = Observatory()
    with testing.world(shop.app) as world:
        results = [shop.average.delay(user) for user in (7, 8)]
        world.drain()
        assert [result.state for result in results] == [states.SUCCESS] * 2
        assert {one["task_id"] for one in world.documents("dashboard")} == {result.id for result in results}
        assert len(world.documents("dashboard")) == 2
        assert held(world)["bi"][-2:] == ["price/user-7", "price/user-8"]
        assert len(shop.seen) == 4, "an attempt that fails publishes nothing"


def play(watch: CrashWatch | None) -> tuple[Any, ...]:
    """Publish three averages under *watch*, and return what the sinks hold and what is parked."""
    shop = Observatory()
    with testing.world(shop.app, watch=watch) as world:
        for user in (3, 4, 7):
            shop.average.delay(user)
        world.drain()
        return held(world), {one["id"] for one in shop.seen}, world.parked()


def test_whatever_call_a_process_dies_at_each_document_is_in_each_sink_once() -> None:
    watch = CrashWatch()
    whole = play(watch)
    assert [len(ids) for ids in whole[0].values()] == [6, 3]
    assert sum(call.name == "sinks.write" for call in watch.calls) >= 9
    for point in points(watch.calls):
        again = CrashWatch(point)
        assert play(again) == whole, place(point, watch.calls)
        assert again.fired, place(point, watch.calls)


def test_messages_that_all_come_twice_leave_each_document_in_each_sink_once() -> None:
    assert play(CrashWatch(Point(None))) == play(None)


@pytest.mark.parametrize("error", [AWAY, ConfigurationError("the table does not exist")])
def test_a_sink_that_is_away_for_an_hour_delays_nothing_else_and_loses_nothing(error: Exception) -> None:
    shop = Observatory()
    with testing.world(shop.app) as world:
        world.sink_fails("dashboard", error)
        for user in range(20):
            shop.average.delay(user)
        world.elapse(2)
        assert len(world.documents("bi")) == 40, "the other sink and the tasks are served at once"
        assert len(shop.seen) >= 40
        world.elapse(HOUR)
        shop.average.delay(99)
        world.elapse(2)
        assert (len(world.documents("bi")), world.documents("dashboard")) == (42, [])
        world.sink_fails("dashboard", None)
        world.elapse(HOUR)
        assert len(world.documents("dashboard")) == 21
        assert world.parked() == []


def test_the_circuit_of_a_sink_asks_a_dead_sink_seldom() -> None:
    shop, asked = Observatory(), list[float]()
    with testing.world(shop.app) as world:
        sinks: Any = world.ports.sinks

        def count(_: object) -> None:
            asked.append(world.clock.now())
            raise AWAY

        sinks.failing["dashboard"] = count
        for user in range(50):
            shop.average.delay(user)
        world.elapse(60)
        assert 3 <= len(asked) <= 30, "fifty deliveries and their retries would be more than a hundred calls"


def redriven(app: Sedano, world: World) -> list[Any]:
    """Send all parked messages again, as `sedano redrive --all` does."""
    return redrive(world.ports, planned(world.ports, parked(world.ports, lambda one: True), app.registry))


def test_a_document_that_a_sink_refuses_is_parked_at_once_and_a_redrive_delivers_it() -> None:
    shop, asked = Observatory(), list[object]()

    def refuse(content: object) -> None:
        asked.append(content)
        raise NotAccepted("the document is not valid here")

    with testing.world(shop.app) as world:
        sinks: Any = world.ports.sinks
        sinks.failing["dashboard"] = refuse
        shop.average.delay(3)
        world.drain()
        assert len(asked) == 1, "a document that is refused for good is not sent again"
        (one,) = world.parked()
        assert one.attributes["reason"] == refusals.REJECTED
        assert "sink dashboard: the document is not valid here" in one.attributes["detail"]
        world.sink_fails("dashboard", None)
        assert redriven(shop.app, world) == [None]
        world.drain()
        assert len(world.documents("dashboard")) == 1
        assert world.documents("dashboard")[0] in world.documents("bi")
        assert world.parked() == []


def test_a_sink_that_is_away_for_a_day_leaves_its_deliveries_parked_and_a_redrive_delivers_each_once() -> None:
    shop = Observatory()
    with testing.world(shop.app) as world:
        world.sink_fails("dashboard", AWAY)
        for user in range(3):
            shop.average.delay(user)
        world.elapse(DAY)
        assert [one.attributes["reason"] for one in world.parked()] == [refusals.REJECTED] * 3
        world.sink_fails("dashboard", None)
        assert redriven(shop.app, world) == [None] * 3
        world.drain()
        assert len(world.documents("dashboard")) == 3
        assert {one["id"] for one in world.documents("dashboard")} <= {one["id"] for one in world.documents("bi")}


def test_a_large_document_travels_by_the_blob_store() -> None:
    app = Sedano("shop")
    lake = app.sink("lake")
    value = {"text": "é" * 200_000}

    @app.task(name="large", sinks=lake)
    def large() -> dict[str, str]:
        return value

    with testing.world(app) as world:
        large.delay()
        world.drain()
        assert [one["value"] for one in world.documents("lake")] == [value]
        assert all(len(body) < 70_000 for body in world.queues.sent)


def test_a_success_whose_effect_is_refused_publishes_no_document() -> None:
    app = Sedano("shop", retry=Retry(max_retries=0))
    app.table("orders", key="id")
    bi = app.sink("bi")

    @app.task(name="sell", sinks=[bi])
    def sell() -> int:
        current().effects.put("orders", {"id": "1"}, condition={"paid": True})
        return 1

    with testing.world(app) as world:
        result = sell.delay()
        world.drain()
        assert (result.state, world.documents("bi")) == (states.FAILURE, [])


@pytest.mark.parametrize("delivery", ["claimed", "record_once", "at_least_once"])
def test_every_delivery_publishes_documents(delivery: Any) -> None:
    app = Sedano("shop")
    bi = app.sink("bi")
    task: Any = app.task(name="work", delivery=delivery, ignore_result=True, sinks=bi)(_double)
    with testing.world(app, watch=CrashWatch(Point(None))) as world:
        task.delay(4)
        world.drain()
        assert [one["value"] for one in world.documents("bi")] == [8]


def _double(number: int) -> int:
    return 2 * number


def test_a_task_may_be_a_sink_and_its_own_failures_are_retried() -> None:
    app, taken = Sedano("shop", retry=Retry(max_retries=3, interval_start=1, jitter=False)), list[Any]()

    @app.task(name="crm")
    def crm(document: dict[str, Any]) -> None:
        if not current().attempt:
            raise ConnectionError("away")
        taken.append(document["value"])

    double: Any = app.task(name="double", sinks=[crm])(_double)
    with testing.world(app) as world:
        double.delay(2)
        world.drain()
    assert taken == [4]


def message(**changes: Any) -> str:
    """A document as another program may send it."""
    return codec.encode(Document("d-1", "t-1", "price", "crm", 1.9e9, 0, value={"user": 1})._replace(**changes))


@pytest.mark.parametrize(("time", "seen"), [(1.9e9, "2030-03-17T17:46:40.000000Z"), (0.0, "2026-01-01T00:00:00.000000Z")])
def test_a_document_without_a_time_has_that_at_which_its_message_was_sent(time: float, seen: str) -> None:
    shop = Observatory()
    with testing.world(shop.app) as world:
        world.ports.queues.send(EVENTS, [Outgoing(message(time=time))])
        world.elapse(HOUR)
        world.drain()
        (document,) = world.documents("bi")
        assert document["time"] == seen


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"task": "prices"}, refusals.UNKNOWN_EVENT),
        ({"state": states.FAILURE}, refusals.SCHEMA),
        ({"state": states.FAILURE, "error": ("ValueError", "no", "")}, refusals.SCHEMA),
    ],
)
def test_a_document_that_has_no_sinks_here_is_parked(change: dict[str, Any], reason: str) -> None:
    shop = Observatory()
    with testing.world(shop.app) as world:
        world.ports.queues.send(EVENTS, [Outgoing(message(**change)), Outgoing(message())])
        world.drain()
        assert [one.attributes["reason"] for one in world.parked()] == [reason]
        assert [one["id"] for one in world.documents("bi")] == ["d-1"]
        assert redriven(shop.app, world)[0] is None or change.get("task") == "prices"


def test_a_document_carries_tenant_stamps_and_trace_of_its_task() -> None:
    app, seen = Sedano("shop"), list[Any]()
    double: Any = app.task(name="double")(_double)

    @app.task(name="look", on=double)
    def look(document: dict[str, Any]) -> None:
        seen.append((current().tenant, dict(current().stamps), current().span.trace_id, current().root_id))

    with testing.world(app) as world:
        result = double.apply_async(args=(1,), tenant="acme", stamps={"team": "core"})
        world.drain()
    ((tenant, stamps, _, root),) = seen
    assert (tenant, stamps, root) == ("acme", {"team": "core"}, result.id)


def delivered(declare: Callable[[Sedano], Any]) -> list[Any]:
    """What `bi` holds after the task that *declare* returns has run."""
    app = Sedano("shop")
    app.sink("bi")
    task = declare(app)
    with testing.world(app) as world:
        task.delay(1)
        world.drain()
        return [one["value"] for one in world.documents("bi")]


def test_a_sink_is_named_by_itself_by_its_name_or_in_a_list() -> None:
    assert delivered(lambda app: app.task(name="a", sinks="bi")(_double)) == [2]
    assert delivered(lambda app: app.task(name="a", sinks=("bi", "bi"))(_double)) == [2]
    assert delivered(lambda app: app.task(name="a", sinks=[])(_double)) == []
