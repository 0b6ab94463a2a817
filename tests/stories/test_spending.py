"""Stories of spending limits: the cost of a day pauses a tenant, or the app, until the day ends, and no person's pause is changed."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sedano import Sedano, testing
from sedano.cli import main
from sedano.cli.exits import Exit
from sedano.engine.spending import SpendingControl, SpendingRound
from sedano.errors import OptionError
from sedano.host import one_file
from sedano.host.engine_process import EngineProcess, ProcessSettings
from sedano.memory import START, MemoryRollups, MemoryTelemetry
from sedano.model.history.rollups import Rollup
from sedano.model.messages.lamport import LamportClock
from sedano.model.pauses import parsed
from sedano.model.spending import DAY_S, day_of
from sedano.views.costs import costs
from sedano.views.now import now
from sedano.views.panels import ScreenQuery
from sedano.views.screens import screen
from tests.stories.taps import Crash, Watch, tapped

app = Sedano("kiln", queues=("default", "bulk"))
app.spending("0.001 USD", tenant="acme")
app.spending("0.002 USD")
APP = ("--app", f"{__name__}:app")


@app.task(name="kiln.fire", retry=False)
def fire(seconds: float) -> None:
    """Take some time: a second costs about 6 700 nanodollars."""
    clock: Any = app.outlet.ports.clock
    clock.advance(seconds)


@app.task(name="kiln.glaze", queue="bulk", retry=False)
def glaze() -> None:
    """Take no time."""


@pytest.fixture
def world() -> Iterator[testing.World]:
    """The app in memory, at noon."""
    with testing.world(app) as world:
        world.clock.advance(day_of(START) + DAY_S * 1.5 - START)
        yield world


def paused() -> set[tuple[str, str]]:
    """The kind and name of each pause."""
    return {(one.kind, one.name) for one in map(parsed, app.control.hello().paused) if one is not None}


def spend(world: testing.World, seconds: float, tenant: str | None = "acme") -> None:
    """Let tasks of *tenant* run for so long, and their costs be counted."""
    fire.apply_async((seconds,), tenant=tenant)
    world.elapse(seconds + 180)


def control(world: testing.World, **limits: int) -> SpendingControl:
    """Another process that looks after *limits* by tenant."""
    return SpendingControl(world.ports, LamportClock(lambda: int(world.clock.now() * 1_000_000)), app.queues, limits)


def test_a_tenant_that_reaches_its_limit_waits_until_the_day_ends_and_others_do_not(world: testing.World) -> None:
    spend(world, 80)
    assert paused() == set()
    spend(world, 50)
    assert (world.telemetry.counted("SpendingNear"), world.telemetry.counted("SpendingReached")) == (1, 0)
    spend(world, 30)
    assert (world.telemetry.counted("SpendingNear"), world.telemetry.counted("SpendingReached")) == (1, 1)
    assert paused() == {("tenant", "acme")}
    late, other = fire.apply_async((1.0,), tenant="acme"), fire.apply_async((1.0,), tenant="blue")
    world.elapse(180)
    assert (late.state, other.state) == ("PENDING", "SUCCESS")
    assert "paused: tenant acme (by spending: 0.001" in app.control.explain(late.id).sentence
    assert any("the tenant acme is paused until" in one.sentence and "0.001 USD spent" in one.sentence for one in now(app).needs)
    world.elapse(day_of(world.clock.now()) + DAY_S + 60 - world.clock.now())
    assert late.state == "SUCCESS"
    assert costs(app, 1).limits[1].spent == 0 or not costs(app, 1).limits[1].paused


def test_what_is_counted_is_the_cost_that_the_history_shows(world: testing.World) -> None:
    for number in range(30):
        fire.apply_async((number % 7 / 2,), tenant=("acme", "blue", None)[number % 3])
        glaze.apply_async(tenant="acme")
        world.elapse(20)
    world.elapse(240)
    view = costs(app, 1)
    of_acme = sum(one.nanodollars for one in view.tasks if one.tenant == "acme")
    assert {one.tenant: one.spent for one in view.limits} == {
        "": pytest.approx(view.nanodollars, rel=0.1), "acme": pytest.approx(of_acme, rel=0.1),
    }  # fmt: skip
    assert of_acme > 100_000


def test_the_limit_of_the_app_pauses_each_of_its_queues(world: testing.World) -> None:
    spend(world, 310, None)
    assert paused() == {("queue", "default"), ("queue", "bulk")}
    glaze.delay()
    world.elapse(60)
    late = glaze.delay()
    world.elapse(60)
    assert "bulk until" in app.control.explain(late.id).sentence
    assert "(by spending: 0.002" in app.control.explain(late.id).sentence
    world.elapse(DAY_S)
    assert late.state == "SUCCESS"


def test_a_raised_limit_resumes_and_no_pause_of_a_person_is_changed(world: testing.World) -> None:
    app.control.pause(tenant="blue", by="ana", reason="a bad import")
    spend(world, 80)
    assert control(world, acme=500_000, blue=1).round().paused == 1
    assert control(world, acme=900_000).round() == SpendingRound(resumed=1)
    assert paused() == {("tenant", "blue")}


def test_a_person_s_pause_of_a_target_that_a_limit_pauses_too_keeps_its_cause(world: testing.World) -> None:
    app.control.pause(tenant="acme", by="ana", reason="a bad import")
    before = app.control.hello().paused
    spend(world, 0.001)
    assert control(world, acme=1).round().paused == 0, "the tasks of a paused tenant cost nothing"
    spend(world, 0.001, "blue")
    assert control(world, **{"": 1}).round().paused == 1
    assert control(world, **{"": 10**9}).round().resumed == 1
    assert app.control.hello().paused == before
    app.control.resume(tenant="acme")
    world.elapse(900)
    assert control(world, acme=1).round().paused == 1
    app.control.pause(tenant="acme", by="ana", reason="a bad import")
    assert control(world, acme=10**9).round().resumed == 1
    assert paused() == {("tenant", "acme")}, "the person's pause took the place of the limit's"


def test_a_pause_that_a_person_ends_is_not_made_again_until_the_limit_changes(world: testing.World) -> None:
    spend(world, 180)
    assert paused() == {("tenant", "acme")}
    app.control.resume(tenant="acme")
    spend(world, 20)
    assert paused() == set()
    assert control(world, acme=900_000).round().paused == 1


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("after", [1, 2, 3, 4, 5])
def test_a_round_that_dies_anywhere_is_completed_by_a_later_one(world: testing.World, after: int, when: str) -> None:
    spend(world, 80)
    ports = tapped(world.ports, Watch(after, when, ports=frozenset({"memos", "control"})))  # type: ignore[arg-type]
    with pytest.raises(Crash):
        SpendingControl(ports, LamportClock(lambda: 1), app.queues, {"acme": 500_000}).round()
    control(world, acme=500_000).round()
    assert paused() == {("tenant", "acme")}
    assert any("by spending: 0.0005" in one.sentence for one in now(app).needs)


def test_two_rounds_at_once_report_a_limit_once(world: testing.World) -> None:
    spend(world, 80)
    one, other = control(world, acme=500_000), control(world, acme=500_000)
    assert (one.round().paused, other.round().paused) == (1, 0)
    assert world.telemetry.counted("SpendingReached") == 1


def test_a_roll_up_of_earlier_minutes_is_counted_within_the_hour_and_none_twice(world: testing.World) -> None:
    spend(world, 10, "blue")
    watch = control(world, **{"": 10**9})
    watch.round()
    minute = int(world.clock.now()) // 60 - 60
    world.ports.rollups.put(Rollup("late", minute, json.dumps({"v": 1, "again": 0, "runs": [], "spent": [["worker", minute, 2 * 10**9]]})))
    world.clock.advance(60)
    assert watch.round() == SpendingRound()
    world.clock.advance(3_600)
    assert watch.round() == SpendingRound(paused=1)


def test_a_stage_without_an_index_or_without_an_answer_pauses_nothing_and_logs_why(world: testing.World) -> None:
    class Unindexed(MemoryRollups):
        def read(self, since: int, until: int) -> None:  # type: ignore[override]
            return None

    ports = replace(world.ports, rollups=Unindexed())
    assert SpendingControl(ports, LamportClock(lambda: 1), app.queues, {"": 1}).round() == SpendingRound()
    assert world.telemetry.messages("warning") == ["spending is not counted: the table has no index of roll-ups; deploy the stage again"]
    app.attach(ports)
    assert [one.spent for one in costs(app, 1).limits] == [None, None]


def test_the_command_the_document_and_the_page_show_limit_and_spending(
    world: testing.World, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    spend(world, 180)
    assert main(["cost", *APP, "--days", "1"]) == Exit.DONE
    written = capsys.readouterr().err
    assert "sedano cost: the tenant acme has spent 0.0012" in written
    assert "of 0.001 USD in this UTC day (120 %); its tasks are paused until the end of the day" in written
    assert main(["cost", *APP, "--days", "1", "--json"]) == Exit.DONE
    found = json.loads(capsys.readouterr().out)["limits"]
    assert [(one["tenant"], one["limit"], one["paused"]) for one in found] == [("", 2_000_000, False), ("acme", 1_000_000, True)]
    panel = screen(app, ScreenQuery("cost", days=1)).tables[0]
    assert [[cell.text for cell in row][:2] for row in panel.rows] == [["(the whole app)", "0.002 USD"], ["acme", "0.001 USD"]]
    assert panel.rows[1][-1].text == "paused"


def test_an_app_without_a_limit_shows_none_and_counts_no_shares() -> None:
    plain = Sedano("plain")
    with testing.world(plain) as world:
        assert costs(plain, 1).limits == ()
        assert world.spending.round() == SpendingRound()


@pytest.mark.parametrize(
    ("amount", "options", "message"),
    [
        ("0.5", {}, "'0.5' is not an amount in US dollars; write '0.5 USD'"), ("1 EUR", {}, "write '1 USD'"),
        ("-1 USD", {}, "'-1 USD' is not an amount in US dollars; write '0.50 USD'"), (0.5, {}, "0.5 is not an amount"),
        ("0 USD", {}, "0 USD is not more than 0"), ("1000001 USD", {}, "at most 1000000 USD"),
        ("1 USD", {"per": "week"}, "'week' is not a period of spending; write per='day', the UTC day"),
        ("1 USD", {"tenant": "a b"}, "tenant: 'a b' is not 1 to 256 characters"),
    ],
)  # fmt: skip
def test_a_limit_that_cannot_be_honoured_is_refused_with_what_to_write(amount: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Sedano("k").spending(amount, **options)


def test_a_limit_is_declared_once_for_each_tenant() -> None:
    app = Sedano("k")
    app.spending("1 USD", tenant="acme")
    with pytest.raises(OptionError, match="the tenant acme has a limit already; declare it once"):
        app.spending("2 USD", tenant="acme")


def test_one_process_over_one_file_counts_and_pauses_too(tmp_path: Path) -> None:
    own = Sedano("stove")
    own.spending("0.000000001 USD", tenant="acme")
    own.spending("1 USD")
    burn = own.task(name="stove.burn")(print)
    ports = one_file.ports(tmp_path / "sedano.db", visibility=3_600.0, telemetry=MemoryTelemetry())
    for tenant in ("acme", "blue"):
        process = EngineProcess(own, ports, ProcessSettings())
        burn.apply_async((tenant,), tenant=tenant)
        assert process.drain(60.0)
    assert ("tenant", "acme") in {(one.kind, one.name) for one in map(parsed, own.control.hello().paused) if one is not None}
    whole, acme = costs(own, 2).limits
    assert (whole.paused, acme.paused) == (False, True)
    assert whole.spent is not None
    assert whole.spent > (acme.spent or 0) > 0
