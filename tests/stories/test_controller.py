"""Stories of the controller: each of its rounds may be had twice at once, or die anywhere, and does no more than one would."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from sedano import Sedano, at, testing
from sedano.engine.cluster.controller import Controller, ControllerRound
from sedano.errors import ConfigurationError, OptionError
from sedano.memory import MemoryConsumers
from sedano.model import budgets as budget
from sedano.model.budgets import Budget, Level, Load
from sedano.model.cluster.members import ACTIVE, LOST
from sedano.model.ledger.records import Claim
from sedano.model.memos import Memo
from sedano.model.messages.lamport import LamportClock
from sedano.ports import MemberRecord, Outgoing, Ports, command_queue
from tests.stories.taps import Crash, Watch, away, tapped

COMMANDS = command_queue("default")
HOUR = 3_600.0


def _report() -> None:
    """Report nothing."""


class Office:
    """An app with a budget and a shared check, in memory, and controllers over it."""

    def __init__(self) -> None:
        self.app, self.controllers = Sedano("office", queues=("default", "bulk")), 0
        self.app.budget("default", least=2, most=100, cooldown=60)
        self.report = self.app.task(name="office.report")(_report)
        self.check = self.app.health_check("mail", every=120, shared=True)

    def controller(self, ports: Ports | None = None) -> Controller:
        """Another controller."""
        registry, outlet = self.app.registry, self.app.outlet
        self.controllers += 1
        ahead = self.controllers  # the clocks of two machines never show the same microsecond
        clock = LamportClock(lambda: int(outlet.ports.clock.now() * 1_000_000) + ahead)
        return Controller(
            ports or outlet.ports, clock, self.app.queues, registry.budgets, registry.checks, lambda name: outlet.announce(name, {})
        )


office = Office()


@pytest.fixture
def world() -> Iterator[testing.World]:
    """The office in memory."""
    with testing.world(office.app) as world:
        yield world


def consumers(world: testing.World) -> MemoryConsumers:
    """What consumes the world's queues."""
    found: Any = world.ports.consumers
    return found


def fill(world: testing.World, number: int) -> None:
    """Let so many messages wait."""
    world.ports.queues.send(COMMANDS, [Outgoing(f"body {n}") for n in range(number)])


def test_a_backlog_grows_the_limit_once_a_cooldown(world: testing.World) -> None:
    fill(world, 450)
    assert office.controller().round() == ControllerRound(scaled=1, asked=1)
    assert consumers(world).limit(COMMANDS) == 55, "ten as it was, and 45 invocations for what waits"
    world.clock.advance(59)
    assert office.controller().round().scaled == 0
    fill(world, 1_000)
    world.clock.advance(1)
    assert office.controller().round().scaled == 1
    assert (consumers(world).limit(COMMANDS), consumers(world).changes) == (100, 2)
    assert world.telemetry.counted("MessagesWaiting", queue="default") == 450 + 450 + 1_450


def test_what_is_not_needed_is_given_back_and_a_paused_queue_takes_part_in_nothing(world: testing.World) -> None:
    office.app.control.pause(queue="default")
    assert office.controller().round().scaled == 0
    office.app.control.resume(queue="default")
    assert office.controller().round().scaled == 1
    assert consumers(world).limit(COMMANDS) == 2


def test_two_controllers_at_once_do_what_one_would(world: testing.World) -> None:
    fill(world, 450)
    one, other = office.controller(), office.controller()
    seen, also = one.look(), other.look()
    done = [one.act(one.decided(seen)), other.act(other.decided(also))]
    assert sorted((d.scaled, d.asked) for d in done) == [(0, 0), (1, 1)]
    assert consumers(world).changes == 1
    assert world.queues.depth("events") == 1


@pytest.mark.parametrize("after", [2, 3, 4, 5])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_controller_that_dies_anywhere_leaves_a_limit_that_a_later_round_applies(
    world: testing.World, after: int, when: Any
) -> None:
    fill(world, 450)
    watch = Watch(after, when, ports=frozenset({"memos", "consumers"}))
    with pytest.raises(Crash):
        office.controller(tapped(world.ports, watch)).round()
    for _ in range(3):
        world.clock.advance(61)
        office.controller().round()
    text = world.ports.memos.read(["budget:default"])["budget:default"].text
    level = budget.from_text(text)
    assert level.applied
    assert consumers(world).limit(COMMANDS) == level.limit == 45, "450 messages, ten an invocation"


def test_a_limit_that_a_late_call_or_a_deployment_set_is_put_right_once(world: testing.World) -> None:
    fill(world, 450)
    office.controller().round()
    consumers(world).set_limit(COMMANDS, 10)
    world.clock.advance(29)
    assert office.controller().round().scaled == 0, "the call that it made may not be heard of yet"
    world.clock.advance(2)
    one, other = office.controller(), office.controller()
    seen, also = one.look(), other.look()
    assert sorted(c.act(c.decided(s)).scaled for c, s in ((one, seen), (other, also))) == [0, 1]
    assert (consumers(world).limit(COMMANDS), consumers(world).changes) == (55, 3)
    assert office.controller().round().scaled == 0


def test_a_limit_that_cannot_be_asked_for_is_left_alone(world: testing.World) -> None:
    fill(world, 450)
    office.controller().round()
    consumers(world).set_limit(COMMANDS, 10)
    world.clock.advance(40)
    watch = Watch(2, "before", away, ports=frozenset({"consumers"}))
    assert office.controller(tapped(world.ports, watch)).round().scaled == 0
    assert watch.calls == ["consumers.load", "consumers.load", "consumers.limit"]
    assert "the limit in force is not known" in [line.message for line in world.telemetry.lines]


def test_two_controllers_whose_clocks_differ_a_little_ask_for_a_check_once(world: testing.World) -> None:
    class Behind:
        monotonic, sleep = world.clock.monotonic, world.clock.sleep

        def now(self) -> float:
            return world.clock.now() - 2

    clock: Any = Behind()
    behind = office.controller(replace(world.ports, clock=clock))
    seen = behind.look()
    assert office.controller().round().asked == 1
    assert behind.act(behind.decided(seen)).asked == 0
    assert world.queues.depth("events") == 1


def test_a_worker_whose_claim_ran_out_is_written_down_as_lost_once(world: testing.World) -> None:
    now = world.clock.now()
    world.ports.members.beat(MemberRecord("w-1", 1, ACTIVE, 1, now, ("t",)))
    world.ports.ledger.claim([Claim("t", 0, "m", "n", now + 60, 1, "work", owner="w-1")])
    assert office.controller().round().lost == 0
    world.clock.advance(600)
    one, other = office.controller(), office.controller()
    seen, also = one.look(), other.look()
    assert (one.act(one.decided(seen)).lost, other.act(other.decided(also)).lost) == (1, 0)
    assert [member.state for member in world.ports.members.read()] == [LOST]
    assert office.controller().round().lost == 0


def test_a_claim_that_no_message_takes_over_is_told_as_stuck(world: testing.World) -> None:
    now = world.clock.now()
    world.ports.members.beat(MemberRecord("w-1", 1, ACTIVE, 1, now, ("t",)))
    world.ports.ledger.claim([Claim("t", 0, "m", "n", now + 60, 1, "work", owner="w-1")])
    world.clock.advance(HOUR + 61)
    assert office.controller().round().stuck == 1
    (line,) = [line for line in world.telemetry.lines if line.message == "a claim ran out and no message takes it over"]
    assert (line.level, line.fields["task_id"], line.fields["owner"]) == ("error", "t", "w-1")


def test_a_check_that_expired_is_asked_for_once_in_its_period(world: testing.World) -> None:
    looked: list[float] = []
    check = office.app.registry.checks["mail"]
    check.functions[:] = [lambda: looked.append(world.clock.now()) or "healthy"]  # type: ignore[func-returns-value] # it says when, too
    for _ in range(6):
        office.controller().round()
        world.drain()
        world.clock.advance(60)
    assert len(looked) == 3
    assert office.check.read().state == "healthy"


def test_a_strategy_of_the_users_own_takes_the_place_of_the_built_in_one() -> None:
    app = Sedano("k")

    def eager(rule: Budget, level: Level, load: Load, now: float) -> Level:
        return Level(rule.most, 0, 0, now, now + 60) if load.waiting else level

    app.budget("default", most=50, strategy=eager)
    with testing.world(app) as world:
        fill(world, 1)
        outlet = app.outlet
        Controller(world.ports, LamportClock(lambda: 1), app.queues, app.registry.budgets, {}, outlet.announce).round()
        assert consumers(world).limit(COMMANDS) == 50


@pytest.mark.parametrize(("strategy", "limit"), [("cep", 6), ("tracking", 4)])
def test_a_strategy_is_asked_for_by_its_name(strategy: str, limit: int) -> None:
    app = Sedano("k")
    app.budget("default", most=50, strategy=strategy)
    with testing.world(app) as world:
        consumers(world).set_limit(COMMANDS, 2)
        fill(world, 31)
        Controller(world.ports, LamportClock(lambda: 1), app.queues, app.registry.budgets, {}, app.outlet.announce).round()
        assert consumers(world).limit(COMMANDS) == limit


def test_a_memo_of_another_version_stops_the_round_and_says_so(world: testing.World) -> None:
    world.ports.memos.change(Memo("budget:default", "[]", "n"), Memo("budget:default"))
    with pytest.raises(Exception, match="a budget in the control table cannot be read"):
        office.controller().round()


@pytest.mark.parametrize(
    ("queue", "options", "message"),
    [
        ("mail", {}, "'mail' is not one of this app's queues"), ("default", {"least": 1}, "1 to 1000 invocations"),
        ("default", {"most": 2_000}, "2 to 2000"), ("default", {"speed": 1}, "speed: not an option of a budget"),
        ("default", {"strategy": "fast"}, "strategy: 'fast' is not a strategy; write one of cep, tracking"),
    ],
)  # fmt: skip
def test_a_budget_that_cannot_be_honoured_is_named(queue: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Sedano("k").budget(queue, **options)
    app = Sedano("k")
    app.budget("default")
    with pytest.raises(OptionError, match="already has one"):
        app.budget("default")


def test_periodic_tasks_that_are_about_to_come_raise_the_limit_before_they_do(world: testing.World) -> None:
    consumers(world).set_limit(COMMANDS, 2)
    comes = datetime.fromtimestamp(world.clock.now() + 150, UTC)
    for number in range(200):
        office.app.schedules.add(f"report {number}", at(comes), office.report.s())
    before = office.controller().look()
    assert before.bursts == {"default": 200}
    assert before.loads["default"] == Load(0, 0), "none of them waits yet"
    assert office.controller().round().scaled == 1
    assert consumers(world).limit(COMMANDS) == 20, "two hundred, ten an invocation"
    world.clock.advance(61)
    assert office.controller().round().scaled == 0, "nor is it given back before they came"
    world.clock.advance(150)
    assert office.controller().look().bursts == {"default": 0}


def test_a_deployment_without_a_scheduler_is_asked_for_schedules_once(world: testing.World) -> None:
    asked: list[str] = []

    class Without:
        def read(self) -> list[Any]:
            asked.append("read")
            raise ConfigurationError("SEDANO_SCHEDULER is not on")

    controller = office.controller(replace(world.ports, schedules=cast("Any", Without())))
    fill(world, 450)
    assert [controller.round().scaled, controller.round().scaled] == [1, 0]
    assert asked == ["read"]
    assert world.telemetry.messages("warning") == []
