"""What cannot be read of a stream is set aside whole, counted and shown; the others go on, and it is taken once more when it can be."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from sedano import Sedano
from sedano import testing as worlds
from sedano.cli import main
from sedano.engine.parked.redrive import parked, planned, redrive
from sedano.errors import OptionError, Unavailable
from sedano.host.sources import reading
from sedano.memory.stream_records import kinesis_record
from sedano.ports import PARKED
from sedano.streams import TableChange
from tests.stories.depot import APP, app, follow, order, take, told
from tests.stories.forge import app as forge
from tests.stories.opening import opened_depot
from tests.stories.refusing import away


@pytest.fixture
def world() -> Iterator[worlds.World]:
    """The depot's app in memory."""
    with opened_depot() as built:
        yield built


UNREADABLE: list[dict[str, Any]] = [
    {}, {"body": "x"}, order(1, "a", 1) | {"eventName": "RENAME"}, order(1, "a", 1) | {"eventID": None},
    order(1, "a", 1) | {"dynamodb": {"SequenceNumber": "1", "Keys": {"id": {"?": 5}}}},
]  # fmt: skip


@pytest.mark.parametrize("unreadable", UNREADABLE)
def test_what_cannot_be_read_is_set_aside_whole_and_the_others_go_on(world: worlds.World, unreadable: dict[str, Any]) -> None:
    assert take(world, "orders", [order(1, "a", 1), unreadable, order(2, "b", 2)], lambda queue, message: None) == 3
    world.drain()
    assert sorted(told) == [(1, "a"), (2, "b")]
    (found,) = world.parked()
    assert (found.attributes["reason"], found.attributes["queue"]) == ("stream", "stream:orders")
    assert json.loads(found.body) == unreadable
    assert world.telemetry.counted("MessagesParked") == 1


def test_what_can_neither_be_read_nor_set_aside_stays_in_the_stream(world: worlds.World) -> None:
    records = [order(1, "a", 1), {**order(2, "b", 2), "eventName": "RENAME"}, order(3, "c", 3)]
    assert take(world, "orders", records, lambda q, m: away(q, m) if q == PARKED else None) == 1
    with pytest.raises(Unavailable, match="could not be parked"):
        take(world, "orders", records[1:], lambda q, m: away(q, m) if q == PARKED else None)
    assert take(world, "orders", records[1:], lambda queue, message: None) == 2
    world.drain()
    assert sorted(told) == [(1, "a"), (3, "c")]
    assert len(world.parked()) == 1


def test_a_record_without_the_key_of_a_call_is_set_aside_and_called_when_it_has_one(
    world: worlds.World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.change("orders", keys={"number": 7}, old={"number": 7})
    world.drain()
    (found,) = world.parked()
    assert "serial_key" in found.attributes["detail"]
    assert told == [], "of the calls of a record all are published or none"
    assert main(["parked", "redrive", "--why", "stream", "--yes", "--app", APP]) == 1
    assert "stays parked: stream: call: " in capsys.readouterr().err
    spec = app.registry.tasks[follow.name]
    app.registry.tasks[follow.name] = spec._replace(serial_key=lambda args, kwargs: "any")
    try:
        assert main(["parked", "list", "--app", APP]) == 0
        assert "stream:orders" in capsys.readouterr().out
        assert main(["parked", "redrive", "--why", "stream", "--yes", "--app", APP]) == 0
    finally:
        app.registry.tasks[follow.name] = spec
    assert "sent to stream:orders" in capsys.readouterr().out
    assert world.parked() == []
    assert len(world.sent("tests.stories.depot.forget")) == 1


def test_the_command_line_shows_a_record_whole_and_says_where_it_is_taken_once_more(
    world: worlds.World, capsys: pytest.CaptureFixture[str]
) -> None:
    unreadable = order(1, "a", 41) | {"eventName": "RENAME"}
    take(world, "orders", [unreadable], lambda queue, message: None)
    assert main(["parked", "show", unreadable["dynamodb"]["SequenceNumber"], "--app", APP]) == 0
    first, _, body = capsys.readouterr().out.splitlines()
    assert first == f"record {41:021}: stream, eventName: is not one of INSERT, MODIFY, REMOVE"
    assert json.loads(body) == unreadable
    forge.attach(world.ports)
    try:
        assert main(["parked", "redrive", "--all", "--yes", "--app", "tests.stories.forge:app"]) == 1
    finally:
        forge.attach(None)
    assert "stays parked: stream orders: this app does not declare it; name the app that does with --app" in capsys.readouterr().err


def test_what_was_set_aside_is_called_once_although_it_is_taken_once_more(world: worlds.World) -> None:
    tired = lambda q, m: OptionError("tenant: 'é' is none") if "depot.count" in m.body else None  # noqa: E731 - a queue's refusal for good
    assert take(world, "clicks", [kinesis_record(1, 0.0, b'"a"', "-")], tired) == 1
    world.drain()
    assert (told, len(world.parked())) == ([1], 1)
    assert redrive(world.ports, planned(world.ports, parked(world.ports, lambda one: True)), None, reading(app).again) == [None]
    world.drain()
    assert told[:2] == [1, ("clicks", "a")]
    assert world.parked() == []


def test_a_parked_record_of_a_stream_that_is_no_more_stays_parked(world: worlds.World) -> None:
    take(world, "clicks", [{}], lambda queue, message: None)
    other = Sedano("other")
    other.attach(world.ports)
    (stays,) = redrive(world.ports, planned(world.ports, parked(world.ports, lambda one: True)), None, reading(other).again)
    assert "this app does not declare it" in str(stays)
    assert len(world.parked()) == 1


def test_a_record_that_goes_deeper_than_anybody_reads_holds_up_nobody(world: worlds.World) -> None:
    deep: dict[str, Any] = {"S": "bottom"}
    for _ in range(320):
        deep = {"L": [deep]}
    bottomless = order(2, "b", 2)
    bottomless["dynamodb"]["NewImage"]["step"] = deep
    assert take(world, "orders", [order(1, "a", 1), bottomless, order(3, "c", 3)], lambda queue, message: None) == 3
    world.drain()
    assert sorted(told) == [(1, "a"), (3, "c")]
    assert [found.attributes["reason"] for found in world.parked()] == ["stream"]


def leaves(record: TableChange) -> str:
    """A key's function that ends its process at one record."""
    return sys.exit("enough") if record["keys"]["id"] == 2 else "any"


def test_a_key_that_cannot_be_had_sets_its_record_aside_and_never_ends_the_function() -> None:
    """Lambda would begin it again with the same record, until the stream forgets it and all that stand behind."""
    own = Sedano("own", queues=("default", "orders.fifo"))
    own.stream("orders")(own.task(name="a", queue="orders.fifo", serial_key=leaves)(lambda record: None))
    own.stream("other")(own.task(name="b", queue="orders.fifo", serial_key="{record[new][id]}")(lambda record: None))
    with worlds.world(own) as built:
        assert reading(own).take("orders", [order(1, "a", 1), order(2, "b", 2), order(3, "c", 3)], built.clock.now() + 60) == 3
        built.change("other", keys={"id": 7}, old={})
        assert [found.attributes["detail"] for found in built.parked()] == [
            "SystemExit: enough",
            "ArgumentError: serial_key: LookupError: '{record[new][id]}' is not in the arguments: 'NoneType' object is not subscriptable",
        ]
        assert len(built.sent("a")) == 2


def test_behind_a_record_that_was_set_aside_those_of_its_item_go_on_and_it_runs_when_it_is_taken_once_more(world: worlds.World) -> None:
    unreadable = order(7, "b", 2) | {"eventName": "RENAME"}
    assert take(world, "orders", [order(7, "a", 1), unreadable, order(7, "c", 3)], lambda queue, message: None) == 3
    world.drain()
    assert told == [(7, "a"), (7, "c")]
    (found,) = world.parked()
    mended = found.body.replace("RENAME", "MODIFY")
    assert reading(app).again("orders", mended) == 1
    world.drain()
    assert told == [(7, "a"), (7, "c"), (7, "b")]
