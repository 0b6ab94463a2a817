"""Streams: each record is a call of the tasks that stand on it, once however often it comes, in order where order is kept; none is lost."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from sedano import Sedano
from sedano import testing as worlds
from sedano.cli import main
from sedano.errors import ConfigurationError, OptionError, SedanoError, Unavailable
from sedano.host.sources import reading
from sedano.memory.stream_records import table_record
from sedano.ports import Outgoing
from sedano.streams import TableChange, call_id
from tests.stories.depot import APP, app, count, fails, order, take, told
from tests.stories.opening import opened_depot
from tests.stories.refusing import Refuses, Refusing, away

FIFO = "commands:orders.fifo"


@pytest.fixture
def world() -> Iterator[worlds.World]:
    """The depot's app in memory."""
    with opened_depot() as built:
        yield built


def test_a_change_of_a_table_runs_the_tasks_that_stand_on_its_stream(world: worlds.World) -> None:
    world.change("orders", keys={"id": 7}, new={"id": 7, "step": "paid"})
    world.change("orders", keys={"id": 7}, old={"id": 7, "step": "paid"})
    world.drain()
    assert sorted(told, key=str) == [("gone", 7, False), (7, "paid"), (7, None)]
    (paid, gone) = world.sent("tests.stories.depot.follow")
    assert (paid["args"][0]["operation"], gone["args"][0]["old"]) == ("INSERT", {"id": 7, "step": "paid"})


def test_a_record_of_kinesis_runs_the_tasks_of_its_stream_alone(world: worlds.World) -> None:
    world.record("clicks", '{"page": "grün"}', partition_key="visitor")
    world.record("returns", b'{"page": 2}')
    world.drain()
    assert told == [("clicks", {"page": "grün"}), ("returns", {"page": 2}), 1]


def test_a_record_that_comes_again_calls_nothing_again(world: worlds.World) -> None:
    for number in (1, 2, 1, 2):
        world.change("orders", keys={"id": 7}, new={"id": 7, "step": number}, number=number)
        world.drain()
    world.change("orders", keys={"id": 7}, new={"id": 7, "step": 3})
    world.drain()
    assert told == [(7, 1), (7, 2), (7, 3)]


def test_the_call_has_an_id_that_is_known_beforehand_and_a_result(world: worlds.World) -> None:
    world.record("clicks", '"a"')
    world.drain()
    (first,) = world.sent(count.name)
    assert first["args"][0]["id"].startswith("shardId-000000000000:")
    call = call_id("clicks", count.name, first["args"][0]["id"])
    assert {json.loads(body)["taskid"] for body in world.queues.sent if f'"{count.name}"' in body} == {call}
    assert app.result(call).get() == first["args"][0]["id"]


def test_a_batched_task_may_get_a_record_again_and_knows_it_by_its_id() -> None:
    """Its calls are received at least once: there is no record of each by which a copy would be known."""
    own = Sedano("own")
    got: list[str] = []
    own.stream("clicks")(own.task(name="sum", batch=(10, "5s"))(lambda calls: got.extend(call.id for call in calls)))
    with worlds.world(own) as built:
        for _ in range(2):
            built.record("clicks", "a", number=1)
            built.drain()
    assert got == [call_id("clicks", "sum", f"shardId-000000000000:{1:056}")] * 2


@pytest.mark.parametrize("seed", range(12))
def test_a_queue_that_keeps_order_keeps_it_from_the_table_to_the_body_whatever_fails(world: worlds.World, seed: int) -> None:
    """Batches are cut anywhere, queues are away for single messages and for all, bodies fail, and Lambda hands over again what stays."""
    draw = random.Random(seed)
    reached = {which: list(range(12)) for which in range(3)}
    records = [order(which, f"{which}.{step}", number) for number, (which, step) in enumerate(_woven(reached, draw), 1)]
    fails.update({f"{draw.randrange(3)}.{draw.randrange(12)}": draw.randrange(1, 3) for _ in range(4)})
    at, calm = 0, 0
    while at < len(records):
        calm += 1
        share = draw.choice([0.0, 0.2, 1.0]) if calm < 60 else 0.0
        with suppress(Unavailable):
            at += take(world, "orders", records[at : at + draw.randrange(1, 20)], _often(draw, share))
        if draw.random() < 0.5:
            world.step()
    world.drain()
    assert {which: [step for one, step in told if one == which] for which in reached} == {
        which: [f"{which}.{step}" for step in steps] for which, steps in reached.items()
    }
    assert world.parked() == []


def _often(draw: random.Random, share: float) -> Refuses:
    return lambda queue, message: away(queue, message) if draw.random() < share else None


def _woven(lines: Mapping[int, Sequence[int]], draw: random.Random) -> Iterator[tuple[int, int]]:
    """All of *lines*, each in its own order."""
    left = {which: list(steps) for which, steps in lines.items()}
    while left:
        which = draw.choice(sorted(left))
        yield which, left[which].pop(0)
        if not left[which]:
            del left[which]


def test_while_a_queue_is_away_the_rest_stays_in_the_stream(world: worlds.World) -> None:
    records = [order(which, "paid", which) for which in range(1, 6)]
    third = json.dumps(f"{3:032x}")
    assert take(world, "orders", records, lambda q, m: away(q, m) if third in m.body else None) == 2
    assert world.telemetry.counted("StreamsStopped") == 1
    (line,) = [line for line in world.telemetry.lines if "the rest of the batch stays" in line.message]
    assert (line.fields["done"], line.fields["next"], line.fields["stream"]) == (2, f"{3:021}", "orders")
    assert take(world, "orders", records[2:], lambda queue, message: None) == 3
    world.drain()
    assert sorted(told) == [(which, "paid") for which in range(1, 6)], "what had been sent beyond the third is known downstream"


def test_while_one_queue_is_away_the_others_are_not_sent_the_same_again_and_again(world: worlds.World) -> None:
    """One process, as Lambda keeps it, and many invocations."""
    gone = [table_record(number, 0.0, {"id": number}, None, {"id": number}) for number in range(1, 51)]
    state = {"away": True}
    refusing: Any = Refusing(world.ports.queues, lambda q, m: away(q, m) if state["away"] and q == "commands:default" else None)
    app.attach(replace(world.ports, queues=refusing))
    streams = reading(app)
    app.attach(world.ports)
    for _ in range(20):
        with pytest.raises(Unavailable):
            streams.take("orders", gone, world.clock.now() + 60)
    assert len(world.sent("tests.stories.depot.follow")) == 50, "once, before it was known which queue is away"
    state["away"] = False
    assert streams.take("orders", gone, world.clock.now() + 60) == 50
    world.drain()
    assert len(told) == 100


@pytest.mark.parametrize("error", [Unavailable("away"), ConfigurationError("denied")])
def test_when_nothing_can_be_sent_the_invocation_fails_and_nothing_is_lost(world: worlds.World, error: SedanoError) -> None:
    records = [order(1, "paid", 1), order(2, "paid", 2), {"unreadable": True}]
    with pytest.raises(type(error)):
        take(world, "orders", records, lambda queue, message: error)
    assert (world.queues.peek(FIFO), world.parked()) == ([], [])
    assert world.telemetry.counted("StreamsStopped") == 1
    assert take(world, "orders", records, lambda queue, message: None) == 3
    world.drain()
    assert (sorted(told), len(world.parked())) == ([(1, "paid"), (2, "paid")], 1)


def test_a_long_record_travels_beside_the_queue_and_a_longer_one_is_parked_whole(world: worlds.World) -> None:
    world.change("orders", keys={"id": 1}, new={"id": 1, "step": "x" * 390_000}, old={"id": 1, "step": "y" * 390_000})
    world.drain()
    assert [len(step) for _, step in told] == [390_000]
    take(world, "clicks", [{"body": "x" * 1_500_000}], lambda queue, message: None)
    (found,) = world.parked()
    assert found.body.startswith("blob:")


def test_what_takes_too_long_goes_on_in_the_next_invocation(world: worlds.World) -> None:
    records = [order(number, "a", number) for number in range(1, 251)]

    def slow(queue: str, message: Outgoing) -> None:
        world.clock.advance(0.3)

    assert take(world, "orders", records, slow, 30.0) == 100
    assert take(world, "orders", records[100:], slow, 90.0) == 150
    world.drain()
    assert len(told) == 250


def test_where_two_services_are_away_it_begins_again_at_the_first_record_that_one_of_them_kept_back(world: worlds.World) -> None:
    class NoBlobs:
        def put(self, data: bytes) -> None:
            raise Unavailable("blobs are away")

    blobs: Any = NoBlobs()
    records = [order(1, "a", 1), order(2, "b", 2), order(3, "c" * 70_000, 3), order(4, "d", 4)]
    world.ports, before = replace(world.ports, blobs=blobs), world.ports
    assert take(world, "orders", records, lambda queue, message: None) == 2
    assert take(world, "orders", records, lambda q, m: away(q, m) if f"{2:032x}" in m.body else None) == 1
    world.ports = before
    assert take(world, "orders", records[1:], lambda queue, message: None) == 3
    world.drain()
    assert sorted(which for which, _ in told) == [1, 2, 3, 4]


def test_a_stream_that_nobody_declares_is_told_so(world: worlds.World) -> None:
    with pytest.raises(ConfigurationError, match="this app does not declare it"):
        world.record("nothing", "x")


def test_what_an_app_declares_names_its_streams_and_who_stands_on_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["discover", "--app", APP]) == 0
    said = capsys.readouterr().out
    assert "\nstream orders: tests.stories.depot.follow, tests.stories.depot.forget (REMOVE)\n" in said
    assert main(["discover", "--app", APP, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["streams"] == {
        "clicks": {"tests.stories.depot.count": [], "tests.stories.depot.sum_up": []},
        "orders": {"tests.stories.depot.follow": [], "tests.stories.depot.forget": ["REMOVE"]},
        "returns": {"tests.stories.depot.count": []},
    }


def test_a_task_stands_on_a_stream_as_far_as_that_can_be_honoured() -> None:
    plain = Sedano("plain")

    @plain.task
    def one(record: TableChange) -> None:
        """Nothing."""

    for name in ("Upper", "a/b", "", "a" * 41, "1", one):
        with pytest.raises(OptionError, match=r"is not a valid name; write @app\.stream"):
            plain.stream(name)  # type: ignore[arg-type] # what is refused
    with pytest.raises(OptionError, match=r"bare is not a task of this app; write @app.stream\('a'\) in the line above @app.task"):
        plain.stream("a")(bare)  # type: ignore[type-var] # what is refused
    with pytest.raises(OptionError, match="is not a task of this app"):
        plain.stream("a")(count)
    for operations in (["UPDATE"], "INSERT", ["INSERT", "INSERT"], [5], [["INSERT"]], None):
        with pytest.raises(OptionError, match="give some of"):
            plain.stream("a", operations=operations)(one)  # type: ignore[arg-type] # what is refused
    for takes in (lambda: None, lambda a, b: None, lambda *, a: None, number):
        with pytest.raises(OptionError, match="is called with one argument, a record"):
            plain.stream("a")(plain.task(name=f"plain.{id(takes)}")(takes))
    assert plain.streams == {}
    assert plain.stream("a")(one) is one
    assert plain.stream("b", operations=("REMOVE", "INSERT"))(one) is one
    assert plain.streams["b"] == {one.name: ("INSERT", "REMOVE")}
    with pytest.raises(OptionError, match="already reads it"):
        plain.stream("a", operations=["INSERT"])(one)


def test_a_key_with_quotes_which_no_record_has_is_refused_where_it_is_declared() -> None:
    plain = Sedano("plain", queues=("default", "orders.fifo"))
    with pytest.raises(OptionError, match=r"write names in brackets without quotes, as in '\{order\[id\]\}'"):
        plain.task(queue="orders.fifo", serial_key="{record['keys']['id']}")(bare)


def bare(record: TableChange) -> None:
    """No task."""


def number(record: int) -> None:
    """Takes something else."""
