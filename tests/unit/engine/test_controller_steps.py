"""The controller alone: what it reads, which limits it knows, and what it counts and leaves alone when it acts."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.cluster.controller import Controller, ControllerRound
from sedano.engine.health import RegisteredCheck
from sedano.errors import MessageRefused, Unavailable
from sedano.model import budgets as budget
from sedano.model.budgets import Budget, Level
from sedano.model.cluster.controller import Decisions, Lost, QueueBudget, Scale, Stuck
from sedano.model.cluster.members import ACTIVE, LOST, MemberRecord
from sedano.model.cluster.worker_report import LAMBDA, WorkerReport, text_of
from sedano.model.health import HealthCheck
from sedano.model.memos import BUDGET, HEALTH, Memo, MemoChanged, memo_name
from sedano.model.messages.lamport import LamportClock
from sedano.model.schedules.agenda import Agenda, Periodic, ScheduledCall
from sedano.model.schedules.schedule import Schedule, State
from sedano.model.schedules.timetable import Every
from sedano.ports import Outgoing, Ports, command_queue
from tests.unit.engine.gated import Noted, advance, asked

QUEUES = ("default", "mail")
RULE = QueueBudget(Budget(least=5, most=100))
NOTHING = Decisions((), (), (), (), ())


class Unset(memory.MemoryConsumers):
    """Consumers of which some have no limit."""

    unset: tuple[str, ...] = ()
    away = False

    def limit(self, queue: str) -> int | None:
        """Return none for these."""
        return None if queue in self.unset else super().limit(queue)

    def set_limit(self, queue: str, limit: int) -> None:
        """Set it, unless the control plane is away."""
        if self.away:
            raise Unavailable("away")
        super().set_limit(queue, limit)


class Once(memory.MemoryMemos):
    """Memos that are away after so many changes."""

    left = 99

    def change(self, memo: Memo, seen: Memo) -> MemoChanged:
        """Change, or be away."""
        self.left -= 1
        if self.left < 0:
            raise Unavailable("away")
        return super().change(memo, seen)


class Damaged(memory.MemorySchedules):
    """Schedules whose first agenda cannot be read."""

    def read(self) -> list[Agenda | MessageRefused]:
        """Return its refusal, and the other agendas."""
        return [MessageRefused("no-json", "agenda", "damaged"), *super().read()[1:]]


class Away:
    """A port that does not answer."""

    def __getattr__(self, operation: str) -> Any:
        """Return the operation."""

        def called(*_: Any) -> Any:
            raise Unavailable("away")

        return called


class Stage:
    """A controller over ports in memory."""

    def __init__(self, budgets: Mapping[str, QueueBudget] | None = None, checks: tuple[HealthCheck, ...] = (), **ports: Any) -> None:
        """Look after two queues."""
        base = memory.ports(QUEUES)
        queues: Any = base.queues
        self.consumers, self.memos = Unset(queues), Once()
        noted: dict[str, Any] = {name: Noted(getattr(base, name)) for name in ("ledger", "schedules")}
        self.ports: Ports = replace(base, consumers=self.consumers, **{"memos": Noted(self.memos), **noted, **ports})
        self.announced: list[str] = []
        self.registered = {check.name: RegisteredCheck(check) for check in checks}
        self.budgets = {"default": RULE} if budgets is None else budgets
        self.step = self.controller()

    def controller(self) -> Controller:
        """Another controller."""
        return Controller(self.ports, LamportClock(lambda: 1), QUEUES, self.budgets, self.registered, self.announced.append)

    def wish(self, **wished: int) -> None:
        """Scale queues."""
        seen = self.ports.control.read()
        self.ports.control.change(seen._replace(wished=wished, nonce="n", clock=seen.clock + 1), seen)

    def logged(self, level: str) -> list[str]:
        """The messages of this level."""
        telemetry: Any = self.ports.telemetry
        return [line.message for line in telemetry.lines if line.level == level]

    def counted(self, metric: str, **labels: str) -> float:
        """What was counted."""
        telemetry: Any = self.ports.telemetry
        return float(telemetry.counted(metric, **labels))

    def level(self, queue: str = "default") -> Level:
        """The level that is kept."""
        return budget.from_text(self.ports.memos.read([memo_name(BUDGET, queue)])[memo_name(BUDGET, queue)].text)


def test_a_cluster_without_members_budgets_or_scaled_queues_costs_no_read_of_tasks_schedules_and_memos() -> None:
    stage = Stage({})
    seen = stage.step.look()
    assert (seen.records, seen.levels, seen.limits, seen.bursts, seen.wished) == ({}, {}, {}, {}, {})
    assert [asked(port, "read") for port in (stage.ports.ledger, stage.ports.schedules, stage.ports.memos)] == [[], [], []]
    assert stage.logged("warning") == []


def test_what_waits_and_what_is_in_flight_is_counted_by_queue() -> None:
    stage = Stage()
    from_queue = command_queue("mail")
    queues: Any = stage.ports.queues
    queues.send(from_queue, [Outgoing("body")] * 3)
    queues.receive(from_queue, 1)
    stage.step.look()
    assert (stage.counted("MessagesWaiting", queue="mail"), stage.counted("MessagesInFlight", queue="mail")) == (2, 1)


def test_only_checks_that_the_whole_cluster_shares_are_asked_for() -> None:
    stage = Stage(checks=(HealthCheck("shared", shared=True), HealthCheck("own")))
    assert [*stage.step.look().health] == ["shared"]
    assert stage.step.round().asked == 1
    assert stage.announced == ["shared_expired"]


def test_a_check_that_another_controller_has_asked_for_is_left_as_it_is() -> None:
    stage = Stage(checks=(HealthCheck("shared", shared=True, every=60.0),))
    other = stage.controller()
    decided = other.decided(other.look())
    stage.step.round()
    before = stage.ports.memos.read([memo_name(HEALTH, "shared")])
    advance(stage.ports, 1.0)
    assert (other.act(decided).asked, stage.announced) == (0, ["shared_expired"])
    assert stage.ports.memos.read([memo_name(HEALTH, "shared")]) == before


def test_of_scaled_queues_those_of_this_app_that_lambda_serves_have_a_share() -> None:
    stage = Stage()
    stage.consumers.unset = (command_queue("mail"),)
    stage.wish(default=7, mail=9, other=3)
    seen = stage.step.look()
    assert (dict(seen.wished), dict(seen.limits)) == ({"default": 7}, {"default": 10, "mail": None})
    assert seen.levels["default"] == Level(10)
    assert stage.logged("warning") == [], "nothing is asked about a queue of another app"
    report = text_of(WorkerReport(host=LAMBDA, queues=("mail", "other")))
    stage.ports.members.beat(MemberRecord("f", 1, ACTIVE, 0, stage.ports.clock.now(), (), "", report))
    seen = stage.step.look()
    assert (dict(seen.wished), seen.levels["mail"]) == ({"default": 7, "mail": 9}, Level(2)), "the smallest limit that AWS allows"
    assert [*seen.bursts] == ["default"], "schedules raise the limits of budgets alone"


def test_a_queue_without_a_limit_begins_at_the_least_of_its_budget() -> None:
    stage = Stage()
    stage.consumers.unset = (command_queue("default"),)
    assert stage.step.look().levels["default"] == Level(5)


def test_schedules_that_cannot_be_read_raise_no_limit_and_are_asked_for_again() -> None:
    stage = Stage(schedules=Noted(Away()))
    assert stage.step.look().bursts == {}
    assert stage.logged("warning") == ["the schedules are not known; limits follow what waits"]
    stage.step.look()
    assert len(asked(stage.ports.schedules, "read")) == 2


def test_an_agenda_that_cannot_be_read_does_not_hide_the_others() -> None:
    stage = Stage(schedules=Damaged())
    often = Periodic(Schedule("often", Every(10, 0)), ScheduledCall("send", "default"), State(0))
    assert stage.ports.schedules.change(Agenda(3, {"often": often}, "n"), Agenda(3)).done
    assert stage.step.look().bursts == {"default": 6}
    assert stage.logged("warning") == []


def test_stuck_claims_are_counted_one_by_one() -> None:
    stage = Stage()
    done = stage.step.act(NOTHING._replace(stuck=(Stuck("t", "w", 1.0), Stuck("u", "w", 1.0))))
    assert (done, stage.counted("ClaimsStuck")) == (ControllerRound(stuck=2), 2)


def test_a_lost_worker_is_written_down_after_its_last_heartbeat_and_counted() -> None:
    stage = Stage()
    now = stage.ports.clock.now()
    stage.ports.members.beat(MemberRecord("w", 500, ACTIVE, 1, now - 600.0))
    assert stage.step.act(NOTHING._replace(lost=(Lost("w", now, 500),))).lost == 1
    (member,) = stage.ports.members.read()
    assert (member.state, member.clock, stage.counted("WorkersLost")) == (LOST, 501, 1)
    away = Stage(members=Away())
    assert away.step.act(NOTHING._replace(lost=(Lost("w", now, 500),))).lost == 0
    assert away.logged("warning") == ["the controller could not do something; the next round decides anew"]


def to(limit: int, *, applied: bool = False) -> Decisions:
    """Let the queue go to this limit."""
    return NOTHING._replace(scale=(Scale("default", Level(10), Level(limit, applied=applied)),))


def test_a_limit_is_written_set_marked_as_applied_and_counted() -> None:
    stage = Stage()
    stage.step.look()
    assert stage.step.act(to(20)).scaled == 1
    assert (stage.level(), stage.consumers.limit(command_queue("default"))) == (Level(20), 20)
    assert stage.counted("LimitsChanged", queue="default") == 1


def test_a_level_whose_limit_stays_is_only_written() -> None:
    stage = Stage()
    stage.step.look()
    assert stage.step.act(to(10, applied=True)).scaled == 0
    assert (stage.level(), stage.consumers.changes) == (Level(10), 0)


def test_a_limit_that_could_not_be_set_is_not_marked_as_applied() -> None:
    stage = Stage()
    stage.step.look()
    stage.consumers.away = True
    assert stage.step.act(to(20)).scaled == 0
    assert stage.level() == Level(20, applied=False)


def test_a_limit_that_could_not_be_marked_as_applied_is_not_counted() -> None:
    stage = Stage()
    stage.step.look()
    stage.memos.left = 1
    assert stage.step.act(to(20)).scaled == 0
    assert (stage.consumers.limit(command_queue("default")), stage.counted("LimitsChanged", queue="default")) == (20, 0)


def test_a_level_that_another_controller_wrote_is_left_alone_for_the_rest_of_the_round() -> None:
    stage = Stage()
    other = stage.controller()
    stage.step.look()
    other.look()
    assert other.act(to(30)).scaled == 1
    both = to(20)._replace(apply=to(40).scale)
    assert stage.step.act(both).scaled == 0
    assert stage.level() == Level(30)


@pytest.mark.parametrize("queue", QUEUES)
def test_the_level_that_is_kept_counts_more_than_the_limit_in_force(queue: str) -> None:
    stage = Stage({queue: RULE})
    name = memo_name(BUDGET, queue)
    stage.ports.memos.change(Memo(name, budget.to_text(Level(33)), "n"), Memo(name))
    assert stage.step.look().levels == {queue: Level(33)}
