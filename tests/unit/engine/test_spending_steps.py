"""The spending of a day, step by step: which roll-ups are read, what counts, and what a round decides, does and reports."""

from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.cluster.control import Controlling
from sedano.engine.spending import DaySpending, SpendingControl, SpendingRound, add
from sedano.errors import Unavailable
from sedano.memory import MemoryTelemetry, VirtualClock
from sedano.memory.memos import MemoryMemos
from sedano.memory.rollups import MemoryRollups
from sedano.model.history.cost_shares import Share, SharePlace
from sedano.model.history.rollups import Rollup, Sums, rollup
from sedano.model.memos import Memo, MemoChanged
from sedano.model.messages.lamport import LamportClock
from sedano.model.pauses import Pause, PauseCause, cause_name, cause_of
from sedano.model.spending import SpendingMark

DAY = 1_767_225_600
"""The first second of 2026-01-01."""
MINUTE = DAY // 60


class Rollups(MemoryRollups):
    """Roll-ups that note which minutes are read; `away` and `absent` say how they answer."""

    def __init__(self) -> None:
        """Note nothing yet."""
        super().__init__()
        self.asked: list[tuple[int, int]] = []
        self.away = self.absent = False

    def read(self, since: int, until: int) -> Any:
        """Note the minutes, from that of DAY, and answer."""
        self.asked.append((since - MINUTE, until - MINUTE))
        if self.away:
            raise Unavailable("dynamodb.Query: away")
        return None if self.absent else super().read(since, until)


class Telemetry(MemoryTelemetry):
    """Telemetry that keeps each count and each line."""

    def __init__(self) -> None:
        """Start empty."""
        super().__init__()
        self.counts: list[str] = []
        self.logged: list[tuple[str, str, dict[str, Any]]] = []

    def count(self, metric: str, value: float = 1, **dimensions: str) -> None:
        """Keep the metric."""
        self.counts.append(metric)

    def log(self, level: str, message: str, /, **fields: Any) -> None:
        """Keep the line."""
        self.logged.append((level, message, fields))


class World:
    """Ports in memory at a time after DAY, and the control of some limits."""

    def __init__(self, limits: dict[str, int] | None = None, at: float = 43_200.0) -> None:
        """Have *limits* (nanodollars by tenant)."""
        self.clock, self.rollups, self.telemetry = VirtualClock(DAY + at), Rollups(), Telemetry()
        self.ports = replace(memory.ports(), clock=self.clock, rollups=self.rollups, telemetry=self.telemetry, memos=MemoryMemos())
        self.lamport = LamportClock(lambda: 1)
        self.control = SpendingControl(self.ports, self.lamport, ("default", "mail"), limits or {})

    def spend(self, name: str, nanos: int, minute: int = 0, **tenants: int) -> None:
        """Add a roll-up of a minute of the day."""
        shares = {SharePlace("pay", tenant, MINUTE + minute): Share(1, part) for tenant, part in tenants.items()}
        made = rollup(name, Sums({}, {("worker", MINUTE + minute): nanos}, 0, shares))
        assert made is not None
        self.rollups.put(made)

    def paused(self) -> set[str]:
        """Return the pauses of the control record."""
        return set(self.ports.control.read().paused)


def at(seconds: float) -> tuple[DaySpending, World]:
    """Return the spending of a day at this second of it."""
    world = World(at=seconds)
    return DaySpending(world.ports), world


def test_the_first_read_is_of_the_day_and_later_ones_are_of_the_last_minutes() -> None:
    day, world = at(36_000.0)
    for seconds in (0.0, 60.0, 3_539.5, 0.5, 1.0):
        world.clock.advance(seconds)
        day.read()
    assert world.rollups.asked == [(0, 605), (590, 606), (591, 664), (0, 665), (650, 665)]


def test_what_lies_before_the_day_or_after_it_is_not_read() -> None:
    day, world = at(300.0)
    day.read()
    day.read()
    late, other = at(86_340.0)
    late.read()
    other.clock.advance(59.0)
    late.read()
    other.clock.advance(1.0)
    late.read()
    assert world.rollups.asked == [(0, 10), (0, 10)]
    assert other.rollups.asked == [(0, 1_439), (1_429, 1_439), (1_440, 1_445)]


@pytest.mark.parametrize(("back", "whole"), [(0.0, False), (0.25, True), (0.5, True), (2.0, True)])
def test_a_clock_that_was_set_back_reads_the_day_again(back: float, whole: bool) -> None:
    day, world = at(36_000.5)
    day.read()
    world.clock = VirtualClock(DAY + 36_000.5 - back)
    object.__setattr__(day, "_ports", replace(world.ports, clock=world.clock))
    day.read()
    assert world.rollups.asked[1][0] == (0 if whole else 590)


def test_each_roll_up_counts_once_in_a_day_and_for_its_tenants() -> None:
    day, world = at(36_000.0)
    assert day.read() == {}
    world.spend("one", 100, 595, acme=60, blue=30)
    world.rollups.put(Rollup("odd", MINUTE + 600, "{"))
    assert day.read() == {"": 100, "acme": 60, "blue": 30}
    world.clock.advance(1_200.0)
    assert day.read() == {"": 100, "acme": 60, "blue": 30}
    world.spend("two", 7, 615, acme=5)
    assert day.read() == {"": 107, "acme": 65, "blue": 30}
    world.clock.advance(3_600.0)
    assert day.read() == {"": 107, "acme": 65, "blue": 30}
    world.clock.advance(86_400.0 - 40_800.0)
    world.spend("three", 1, 1_440)
    assert day.read() == {"": 1}


def test_shares_without_a_tenant_belong_to_the_app_only() -> None:
    spent: dict[str, int] = {"": 5}
    shares = {SharePlace("pay", "", 1): Share(1, 3), SharePlace("pay", "a", 1): Share(1, 4), SharePlace("b", "a", 2): Share(1, 5)}
    add(spent, [Sums({}, {("worker", 1): 6, ("router", 1): 7}, 0, shares), Sums({}, {})])
    assert spent == {"": 18, "a": 9}


def test_a_deployment_without_an_index_of_roll_ups_counts_nothing() -> None:
    world = World({"": 1})
    world.rollups.absent = True
    assert world.control.round() == SpendingRound()
    words = "spending is not counted: the table has no index of roll-ups; deploy the stage again"
    assert world.telemetry.logged == [("warning", words, {})]
    world.rollups.absent, world.rollups.away = False, True
    assert world.control.round() == SpendingRound()
    assert world.telemetry.logged[1:] == [
        ("warning", "spending limits not checked; the next round checks them", {"error": "dynamodb.Query: away"})
    ]
    assert world.rollups.asked == [(0, 725), (0, 725)], "nothing was counted, so the whole day is read again"
    none = World()
    assert (none.control.round(), none.rollups.asked) == (SpendingRound(), [])


OWN = {one.text for one in (Pause("queue", name, DAY, DAY + 86_400) for name in ("default", "mail"))}
TENANT = Pause("tenant", "acme", DAY, DAY + 86_400)
WORDS = "spending reached its limit; tasks are paused until the end of the UTC day"


def test_a_round_warns_pauses_and_reports_each_limit_once() -> None:
    world = World({"": 1_000_000_000, "acme": 500_000_000})
    world.spend("one", 800_000_000, acme=400_000_000)
    assert world.control.round() == SpendingRound(warned=2)
    near = {"spent": "0.80 USD", "limit": "1.00 USD", "tenant": "", "percent": 80}
    assert world.telemetry.logged == [
        ("warning", "spending", near), ("warning", "spending", {**near, "spent": "0.40 USD", "limit": "0.50 USD", "tenant": "acme"}),
    ]  # fmt: skip
    assert (world.telemetry.counts, world.paused(), world.control.round()) == (["SpendingNear"] * 2, set(), SpendingRound())
    world.spend("two", 100_000_000, 716, acme=100_000_000)
    assert world.control.round() == SpendingRound(paused=1)
    assert world.telemetry.logged[2:] == [
        ("warning", WORDS, {"spent": "0.50 USD", "limit": "0.50 USD", "tenant": "acme", "percent": 100})
    ]
    assert (world.telemetry.counts[2:], world.paused()) == (["SpendingReached"], {TENANT.text})
    world.spend("three", 100_000_000, 717)
    assert world.control.round() == SpendingRound(paused=1)
    assert (world.paused(), world.telemetry.counts[3:]) == ({TENANT.text, *OWN}, ["SpendingReached"])
    assert world.control.round() == SpendingRound()


def test_a_higher_limit_ends_the_pauses_of_the_day_and_no_other() -> None:
    world = World({"": 100})
    world.spend("one", 100)
    assert world.control.round() == SpendingRound(paused=1)
    person = Pause("queue", "default", DAY + 1, 0).text
    change = Controlling(world.ports, world.lamport).change
    change(lambda record, clock, nonce: record._replace(paused=record.paused | {person}, clock=clock, nonce=nonce))
    higher = SpendingControl(world.ports, world.lamport, ("default", "mail"), {"": 200})
    assert higher.round() == SpendingRound(resumed=1)
    assert world.paused() == {person}
    fields = {"spent": "0.0000001 USD", "limit": "0.0000002 USD", "tenant": "", "percent": 0}
    assert world.telemetry.logged[-1] == ("info", "spending", fields)
    assert world.telemetry.counts == ["SpendingReached"]


def test_another_limit_is_judged_anew_also_where_nothing_was_spent() -> None:
    world, name = World({"": 200}), "spending:app"
    world.ports.memos.change(Memo(name, SpendingMark(DAY, 100, 80, 90).text, "n"), Memo(name))
    assert world.control.round() == SpendingRound()
    fields = {"spent": "0.00 USD", "limit": "0.0000002 USD", "tenant": "", "percent": 0}
    assert (world.telemetry.logged, world.telemetry.counts) == ([("info", "spending", fields)], [])
    assert world.ports.memos.read([name])[name].text == SpendingMark(DAY, 200, 0, 0).text


class Late(MemoryMemos):
    """Memos that another process changes first."""

    def change(self, memo: Memo, seen: Memo) -> MemoChanged:
        """Refuse the marks of limits."""
        return MemoChanged(False, seen) if memo.name.startswith("spending:") else super().change(memo, seen)


def test_of_two_processes_the_one_that_keeps_the_mark_reports_it() -> None:
    world = World({"acme": 100})
    world.ports = replace(world.ports, memos=Late())
    world.spend("one", 100, acme=100)
    control = SpendingControl(world.ports, world.lamport, (), {"acme": 100})
    assert control.round() == SpendingRound()
    assert (world.paused(), world.telemetry.logged, world.telemetry.counts) == ({TENANT.text}, [], [])


def test_the_mark_of_a_limit_is_kept_and_a_pause_has_its_cause_unless_another_one_is_there() -> None:
    world = World({"acme": 100})
    world.spend("one", 120, acme=120)
    assert world.control.round() == SpendingRound(paused=1)
    memos = world.ports.memos.read(["spending:tenant=acme"])
    mark = SpendingMark(DAY, 100, 100, 120)
    assert memos["spending:tenant=acme"].text == mark.text
    assert cause(world, "tenant", "acme") == PauseCause("spending", "0.00000012 USD of 0.0000001 USD spent in this UTC day")
    both = World({"": 100})
    person = Pause("queue", "mail", DAY + 1, 0).text
    change = Controlling(both.ports, both.lamport).change
    change(lambda record, clock, nonce: record._replace(paused=frozenset({person}), clock=clock, nonce=nonce))
    both.spend("one", 100)
    assert both.control.round() == SpendingRound(paused=1)
    assert both.paused() == {person, *OWN}
    assert [cause(both, "queue", name).by for name in ("default", "mail")] == ["spending", ""]


def cause(world: World, kind: str, name: str) -> PauseCause:
    """Return the kept cause of a pause."""
    memo = cause_name(kind, name)
    return cause_of(world.ports.memos.read([memo]).get(memo, Memo(memo)).text)


def test_a_new_day_begins_with_nothing_spent() -> None:
    day, world = at(86_370.0)
    world.spend("one", 100, 1_438)
    assert day.read() == {"": 100}
    world.clock.advance(60.0)
    assert day.read() == {}
