"""A sender does not choose its budget: above the stage's ceiling a budget counts only with a mark by one of the stage's keys."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sedano import Retry, Sedano, current, group, testing
from sedano.errors import OptionError, Unavailable
from sedano.memory import MemoryKeyStore
from sedano.model import refusals
from sedano.model.messages.attributes import MAX_INT32
from sedano.model.messages.lineage import DEFAULT_BUDGET, MAX_HOPS
from sedano.ports import EVENTS, Outgoing, command_queue
from sedano.ports.seals import Seals

COMMANDS = command_queue("default")
CEILING = 60
HOUR_S = 3_600.0

Forge = Callable[[testing.World], str | None]


class Away(MemoryKeyStore):
    """A store of keys that does not answer, and counts who asked."""

    asked = 0

    def read(self) -> str | None:
        """Answer nothing."""
        self.asked += 1
        raise Unavailable("no way to the store")


def budget() -> int:
    """What the running task may still cause."""
    return current().command.lineage.budget


@pytest.fixture
def seen() -> list[tuple[str, int]]:
    """The tasks that ran, each with its budget."""
    return []


@pytest.fixture
def app(seen: list[tuple[str, int]]) -> Sedano:
    """Tasks that say their budgets, one that publishes itself twice, and one that asks for more than the ceiling."""
    made = Sedano("ceiling")

    @made.task(name="look")
    def look(*_: Any) -> None:
        seen.append(("look", budget()))

    @made.task(name="hand_on")
    def hand_on() -> None:
        seen.append(("hand_on", budget()))
        look.delay()

    @made.task(name="double")
    def double() -> None:
        seen.append(("double", budget()))
        double.delay()
        double.delay()

    @made.task(name="spread")
    def spread(number: int) -> None:
        seen.append(("spread", budget()))
        group(look.s() for _ in range(number)).apply_async()

    @made.event
    class Said:
        what: str

    Said.subscribe(made.task(name="hear")(lambda what: seen.append(("hear", budget()))))
    return made


@pytest.fixture
def world(app: Sedano) -> Iterator[testing.World]:
    """The app in a stage with a low ceiling."""
    with testing.world(app, most_budget=CEILING) as built:
        yield built


def stranger(world: testing.World) -> Seals:
    """What signs by a key of somebody else's stage."""
    return Seals(MemoryKeyStore('{"sign":"k1","keys":{"k1":"' + "00" * 32 + '"}}'), world.clock, world.ports.entropy, world.telemetry)


def send(world: testing.World, name: str, args: list[Any] | None = None, **attributes: Any) -> None:
    """Send a command as a stranger who may send to the queue does."""
    body = {"specversion": "1.0", "type": "sedano.command.v1", "source": "stranger", "subject": name, "id": "stranger-1"}
    world.queues.send(COMMANDS, [Outgoing(json.dumps({**body, **attributes, "data": {"args": args or []}}))])


FORGERIES: dict[str, Forge] = {
    "none": lambda world: None,
    "a mac of zeros": lambda world: f"k1;{'0' * 32}",
    "an unknown key": lambda world: f"k9;{'0' * 32}",
    "another stage's key": lambda world: stranger(world).mark("budget", "stranger-1", "look", str(MAX_INT32)),
    "a mark of another message": lambda world: world.ports.seals.mark("budget", "stranger-2", "look", str(MAX_INT32)),
    "a mark of another task": lambda world: world.ports.seals.mark("budget", "stranger-1", "double", str(MAX_INT32)),
    "a mark of another budget": lambda world: world.ports.seals.mark("budget", "stranger-1", "look", "61"),
    "a mark of another kind": lambda world: world.ports.seals.mark("slot", "stranger-1", "look", str(MAX_INT32)),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_strangers_budget_is_reduced_to_the_ceiling_counted_and_logged(world: testing.World, seen: list[Any], forgery: str) -> None:
    mark = FORGERIES[forgery](world)
    send(world, "look", budget=MAX_INT32, hops=0, **({"budgetmark": mark} if mark else {}))
    world.drain()
    assert seen == [("look", CEILING)]
    assert world.telemetry.counted("BudgetsCapped") == 1
    assert world.telemetry.counted("MarksRefused", kind="budget") == (0 if mark is None else 1)
    (line,) = [line for line in world.telemetry.lines if "ceiling" in line.message]
    assert (line.fields["budget"], line.fields["most"]) == (MAX_INT32, CEILING)


def test_the_default_ceiling_is_the_default_budget(app: Sedano, seen: list[Any]) -> None:
    with testing.world(app) as world:
        send(world, "spread", [DEFAULT_BUDGET + 1], budget=MAX_INT32, hops=0)
        world.drain()
    assert seen == [("spread", DEFAULT_BUDGET)]


def test_a_loop_ends_within_the_ceiling_whatever_budget_and_hops_its_message_claims(world: testing.World, seen: list[Any]) -> None:
    send(world, "double", budget=MAX_INT32, hops=0)
    world.drain()
    assert 1 < len(seen) <= CEILING + 1


@pytest.mark.parametrize("hops", [-1, -(2**31), MAX_HOPS + 1, 2**31])
def test_hops_that_no_message_has_are_refused(world: testing.World, seen: list[Any], hops: int) -> None:
    send(world, "double", hops=hops)
    world.drain()
    assert seen == []
    (parked,) = world.parked()
    assert (parked.attributes["field"], parked.attributes["reason"]) == ("hops", refusals.HOPS if hops > 0 else refusals.SCHEMA)


def test_a_strangers_event_gives_its_subscribers_a_share_of_the_ceiling(world: testing.World, seen: list[Any], app: Sedano) -> None:
    (name,) = app.registry.subscriptions
    body = {"specversion": "1.0", "type": "sedano.event.v1", "source": "s", "subject": name, "id": "e-1", "budget": MAX_INT32}
    world.queues.send(EVENTS, [Outgoing(json.dumps({**body, "data": {"what": "x"}}))])
    world.drain()
    assert seen == [("hear", CEILING - 1)]
    assert world.telemetry.counted("BudgetsCapped") == 1


def planned(hops: int) -> dict[str, Any]:
    """A message whose plan says that a chain goes on with the largest budget behind the task that it stands in for."""
    back = json.dumps({"item": {"chain": [{"task": "look"}, {"task": "look"}]}}, separators=(",", ":"))
    plan = {"item": {"chain": [{"task": "look"}], "resume": [1, ["whole", "0", back], hops, MAX_INT32]}}
    return {"canvasid": "whole", "canvasnode": "0", "canvasplan": json.dumps(plan, separators=(",", ":"))}


def test_a_plan_gives_no_budget_above_the_ceiling_either(world: testing.World, seen: list[Any]) -> None:
    send(world, "look", **planned(0))
    world.drain()
    assert seen == [("look", CEILING)] * 2
    assert world.telemetry.counted("BudgetsCapped") == 1


def test_a_plan_with_more_hops_than_any_message_has_is_refused(world: testing.World, seen: list[Any]) -> None:
    send(world, "look", **planned(MAX_HOPS + 1))
    world.drain()
    assert seen == []
    assert [parked.attributes["field"] for parked in world.parked()] == ["canvasplan"]


@pytest.mark.parametrize("options", [{}, {"countdown": 2 * HOUR_S}, {"countdown": 60}])
def test_a_program_with_the_keys_may_ask_for_more_and_its_workers_hand_it_on(
    world: testing.World, app: Sedano, seen: list[Any], options: dict[str, Any]
) -> None:
    app.signature("hand_on").set(budget=500, **options).apply_async()
    world.drain()
    assert seen == [("hand_on", 500), ("look", 499)]
    assert world.telemetry.counted("BudgetsCapped") == 0


def test_a_task_that_is_tried_again_keeps_what_was_proven(world: testing.World, app: Sedano, seen: list[Any]) -> None:
    @app.task(name="late", retry=Retry(interval_start=0.1))
    def late() -> None:
        seen.append(("late", budget()))
        if len(seen) < 3:
            raise ConnectionError

    late.s().set(budget=500).apply_async()
    world.drain()
    assert seen == [("late", 500)] * 3


def test_a_program_without_the_keys_is_told_at_the_call(world: testing.World, app: Sedano, seen: list[Any]) -> None:
    world.ports.seals.store = Away()
    with pytest.raises(OptionError, match=r"^budget: 61 is more than 60, .*most_budget"):
        app.signature("look").set(budget=CEILING + 1, dedup_key="one", on_duplicate="raise").apply_async()
    assert world.sent("look") == []
    app.signature("look").set(budget=CEILING, dedup_key="one", on_duplicate="raise").apply_async()
    world.drain()
    assert seen == [("look", CEILING)]


def test_up_to_the_ceiling_no_key_is_read_and_the_message_says_nothing_more(world: testing.World, app: Sedano, seen: list[Any]) -> None:
    world.ports.seals.store = store = Away()
    app.signature("hand_on").set(budget=CEILING).apply_async()
    app.send_task("look")
    world.drain()
    assert sorted(seen) == [("hand_on", CEILING), ("look", CEILING - 1), ("look", CEILING)]
    assert store.asked == 0
    assert not [body for body in world.queues.sent if "budgetmark" in body]
    assert world.telemetry.counted("BudgetsCapped") == 0
