"""Foreign queues: each message is one call of the tasks that read it, however often it comes and whoever dies; none is lost."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from sedano import Sedano, testing
from sedano.engine.parked.redrive import parked, planned, redrive
from sedano.errors import ConfigurationError, OptionError, SedanoError, Unavailable
from sedano.host.sources import reading
from sedano.memory.stream_records import queue_record, s3_notification
from sedano.ports import Outgoing
from sedano.streams import BusEvent, ObjectChange, QueueMessage, TopicMessage, call_id
from sedano.testing import World
from tests.stories.refusing import Refuses, Refusing

ARNS = {"uploads": "arn:aws:sqs:eu-central-1:123456789012:uploads"}


class Archive:
    """Two tasks read the changes of a bucket, and one the messages of another program."""

    def __init__(self) -> None:
        self.app = Sedano("archive", queues=("default", "bulk"))
        self.seen: list[Any] = []
        self._declare("store", self._store, "uploads", reads="s3")
        self._declare("index", self._index, "uploads", reads="s3", queue="bulk")
        self._declare("heard", self._heard, "legacy")

    def _declare(self, name: str, body: Callable[..., Any], stream: str, *, reads: Any = None, queue: str = "default") -> None:
        self.app.stream(stream, reads=reads)(self.app.task(name=name, queue=queue)(body))

    def _store(self, change: ObjectChange) -> str:
        self.seen.append(("store", change["event"], change["key"]))
        return change["key"]

    def _index(self, change: ObjectChange) -> None:
        self.seen.append(("index", change["event"], change["key"]))

    def _heard(self, message: QueueMessage) -> None:
        self.seen.append(("heard", message["body"], message["attributes"]))


def uploaded(number: int, key: str) -> dict[str, Any]:
    """The message, as Lambda delivers it, of an object that was put at *key*."""
    return queue_record(number, 1.8e9, s3_notification(number, 1.8e9, "incoming", key, "ObjectCreated:Put", 3), {})


def take(archive: Archive, world: World, records: Sequence[Mapping[str, Any]], refuses: Refuses) -> int:
    """Let the stream function take *records* while the queues refuse; return how many are finished."""
    refusing: Any = Refusing(world.ports.queues, refuses)
    archive.app.attach(replace(world.ports, queues=refusing))
    try:
        return reading(archive.app).take("uploads", records, world.clock.now() + 60.0)
    finally:
        archive.app.attach(world.ports)


def test_each_change_of_an_object_is_one_call_of_each_task_however_often_it_comes() -> None:
    archive = Archive()
    with testing.world(archive.app) as world:
        for number in (1, 2, 1):
            world.object_changed("uploads", "incoming", f"a b/{number}.csv", size=3, number=number)
            world.drain()
        world.object_changed("uploads", "incoming", "a b/1.csv", event="ObjectRemoved:Delete", size=None)
        world.drain()
    created = [(name, "ObjectCreated", f"a b/{number}.csv") for number in (1, 2) for name in ("index", "store")]
    assert sorted(archive.seen) == sorted([*created, *((name, "ObjectRemoved", "a b/1.csv") for name in ("index", "store"))])


def test_one_change_that_two_messages_report_is_one_call() -> None:
    archive = Archive()
    with testing.world(archive.app) as world:
        for number in (7, 8):
            world.message("uploads", s3_notification(1, 1.8e9, "incoming", "k", "ObjectCreated:Put", 3), number=number)
        world.drain()
        (record,) = {one["args"][0]["id"] for one in world.sent("store")}
        assert world.ports.ledger.read([call_id("uploads", "store", record)])
    assert sorted(archive.seen) == [("index", "ObjectCreated", "k"), ("store", "ObjectCreated", "k")]


def test_a_message_of_another_program_is_a_call_with_its_text() -> None:
    archive = Archive()
    with testing.world(archive.app) as world:
        world.message("legacy", "tea", attributes={"kind": "order"})
        world.message("legacy", "")
        world.drain()
    assert archive.seen == [("heard", "tea", {"kind": "order"}), ("heard", "", {})]


@pytest.mark.parametrize("dies_after", range(7))
def test_whatever_call_the_function_dies_at_each_message_is_one_call(dies_after: int) -> None:
    """The function dies after some sends, so that Lambda delivers the whole batch again."""
    archive, sends = Archive(), iter(range(100))
    records = [uploaded(number, f"{number}.csv") for number in range(1, 4)]

    def dies(queue: str, message: Outgoing) -> SedanoError | None:
        if next(sends) >= dies_after:
            raise KeyboardInterrupt
        return None

    with testing.world(archive.app) as world:
        with suppress(KeyboardInterrupt):
            take(archive, world, records, dies)
        assert take(archive, world, records, lambda queue, message: None) == 3
        world.drain()
    assert sorted(archive.seen) == sorted((name, "ObjectCreated", f"{number}.csv") for number in range(1, 4) for name in ("store", "index"))


def test_while_a_queue_is_away_the_messages_go_back_and_come_once() -> None:
    archive = Archive()
    records = [uploaded(number, f"{number}.csv") for number in range(1, 5)]
    with testing.world(archive.app) as world:
        with pytest.raises(Unavailable):
            take(archive, world, records, lambda queue, message: Unavailable("away") if queue == "commands:bulk" else None)
        assert take(archive, world, records, lambda queue, message: None) == 4
        world.drain()
    assert sorted(archive.seen) == sorted((name, "ObjectCreated", f"{number}.csv") for number in range(1, 5) for name in ("store", "index"))


def test_what_is_not_a_notification_is_parked_whole_and_a_redrive_reads_it_again() -> None:
    archive = Archive()
    with testing.world(archive.app) as world:
        world.message("uploads", '{"Records": [{"eventName": "ObjectCreated:Put"}]}')
        world.object_changed("uploads", "incoming", "good.csv", size=3)
        world.message("uploads", '{"Event": "s3:TestEvent"}')
        world.drain()
        assert sorted(archive.seen) == [("index", "ObjectCreated", "good.csv"), ("store", "ObjectCreated", "good.csv")]
        (one,) = world.parked()
        assert (one.attributes["reason"], one.attributes["queue"]) == ("stream", "stream:uploads")
        assert one.attributes["field"] == "body.Records[0].s3"
        found = parked(world.ports, lambda each: True)
        (again,) = redrive(world.ports, planned(world.ports, found, archive.app.registry), restream=reading(archive.app).again)
        assert again is not None
        assert len(world.parked()) == 1, "it still cannot be read, so it stays"


DECLARATIONS: dict[str, Callable[[Sedano], object]] = {
    "reads='csv' is not a format": lambda app: app.stream("x", reads="csv")(app.task(name="t")(_takes)),  # type: ignore[arg-type]
    "only a table has operations, and reads= is the format of a queue's messages": lambda app: app.stream(
        "x", reads="s3", operations=["INSERT"]
    )(app.task(name="t")(_takes)),
    "another task reads it with reads=None": lambda app: app.stream("uploads", reads="s3")(app.task(name="t")(_takes)),
    "t is called with one argument, a record, which is a dict": lambda app: app.stream("x", reads="sns")(app.task(name="t")(_takes_none)),
}


def _takes(message: dict[str, Any]) -> None:
    """A body that takes any message."""


def _takes_none() -> None:
    """A body without an argument."""


@pytest.mark.parametrize("words", DECLARATIONS)
def test_a_declaration_that_cannot_be_honoured_is_refused_with_what_to_write(words: str) -> None:
    app = Sedano("wrong")
    app.stream("uploads")(app.task(name="first")(_takes))
    with pytest.raises(OptionError) as refused:
        DECLARATIONS[words](app)
    assert words in str(refused.value)


def test_a_task_may_take_the_messages_of_each_format() -> None:
    app = Sedano("formats")

    def any_of(message: QueueMessage | TopicMessage | ObjectChange | BusEvent) -> None:
        """A body."""

    task = app.task(name="t")(any_of)
    app.stream("topic", reads="sns")(task)
    app.stream("bus", reads="eventbridge")(task)
    app.stream("bucket", reads="s3")(task)
    app.stream("queue")(task)
    assert app.formats == {"topic": "sns", "bus": "eventbridge", "bucket": "s3"}


def test_a_place_that_is_not_a_queue_has_no_format() -> None:
    archive = Archive()
    with testing.world(archive.app):
        assert reading(archive.app, ARNS)
        with pytest.raises(ConfigurationError, match="stream uploads: only a queue has a format, and arn:aws:kinesis"):
            reading(archive.app, {"uploads": "arn:aws:kinesis:eu-central-1:123456789012:stream/uploads"})


def numbered(number: int, item: str) -> dict[str, Any]:
    """Message *number* about *item*, as Lambda delivers it from a queue that keeps order."""
    return queue_record(number, 1.8e9, str(number), {"item": item})


@pytest.mark.parametrize("refused", [1, 3, 6])
def test_the_messages_of_a_queue_that_keeps_order_reach_the_bodies_in_their_order(refused: int) -> None:
    app, seen = Sedano("shop", queues=("default", "orders.fifo")), list[tuple[str, int]]()

    @app.stream("ordered")
    @app.task(name="book", queue="orders.fifo", serial_key="{message[attributes][item]}")
    def book(message: QueueMessage) -> None:
        seen.append((message["attributes"]["item"], int(message["body"])))

    records = [numbered(number, "ab"[number % 2]) for number in range(1, 7)]
    times = count(1)

    def once(queue: str, message: Outgoing) -> SedanoError | None:
        return Unavailable("away") if queue == "commands:orders.fifo" and next(times) == refused else None

    with testing.world(app) as world:
        left = records
        while left:
            refusing: Any = Refusing(world.ports.queues, once)
            app.attach(replace(world.ports, queues=refusing))
            with suppress(Unavailable):
                left = left[reading(app).take("ordered", left, world.clock.now() + 60.0) :]
            app.attach(world.ports)
            world.drain()
    assert [number for item, number in seen if item == "a"] == [2, 4, 6]
    assert [number for item, number in seen if item == "b"] == [1, 3, 5]
