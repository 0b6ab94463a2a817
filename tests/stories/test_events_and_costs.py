"""Two questions to the history: what happened last, and what does it cost? On a page, on a terminal and as JSON they agree."""

import json
from collections.abc import Iterator

import pytest

from sedano import Sedano, group, testing
from sedano.cli import main
from sedano.cli.exits import Exit
from sedano.model.history.invocation_prices import GB_SECONDS, INVOCATIONS
from sedano.views.costs import costs
from sedano.views.panels import ScreenQuery
from sedano.views.screens import screen
from sedano.views.tail import events
from tests.stories.terminals import on_terminal

app = Sedano("mill")
APP = ("--app", "tests.stories.test_events_and_costs:app")
ALONE = round((0.5 * GB_SECONDS + INVOCATIONS) * 1_000)
"""The nanodollars of one second on Lambda, estimated."""


@app.task(name="mill.grind", retry=False)
def grind(seconds: float) -> None:
    """Take some time."""
    app.outlet.ports.clock.sleep(seconds)


@app.task(name="mill.deliver")
def deliver() -> None:
    """Publish two tasks."""
    group(grind.s(1.0) for _ in range(2)).apply_async()


@pytest.fixture
def world() -> Iterator[testing.World]:
    """The app in memory after a canvas of three tasks, and one task of a tenant."""
    with testing.world(app) as world:
        deliver.apply_async(task_id="order")
        grind.apply_async((3.0,), task_id="blue", tenant="blue", stamps={"team": "core"})
        world.drain()
        yield world


def test_the_latest_events_are_first_and_a_filter_knows_types_ids_and_names(world: testing.World) -> None:
    every = events(app, 1)
    clocks = [one.clock for one in every.events]
    assert clocks == sorted(clocks, reverse=True)
    assert every.found == len(every.events) > 8
    assert {one.type for one in events(app, 1, ["mill.deliver"]).events} == {"task-sent", "task-received", "task-started", "task-succeeded"}
    assert [one.type for one in events(app, 1, ["blue"], most=1).events] == ["task-succeeded"]
    assert events(app, 1, ["task-failed"]).found == 0


def test_costs_are_told_by_task_and_tenant_and_by_canvas(world: testing.World) -> None:
    view = costs(app, 1)
    by_tenant = {(one.name, one.tenant): one for one in view.tasks if one.tasks}
    assert {key: (one.tasks, one.attempts) for key, one in by_tenant.items()} == {
        ("mill.grind", "blue"): (1, 1), ("mill.grind", ""): (2, 2), ("mill.deliver", ""): (1, 1),
    }  # fmt: skip
    assert [(one.root, one.name, one.tasks) for one in view.canvases] == [("order", "mill.deliver", 3)]
    assert view.nanodollars == sum(one.nanodollars for one in view.tasks)


def test_the_command_prints_what_the_page_shows(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    view = costs(app, 2)
    assert main(["cost", *APP, "--days", "2", "--json"]) == Exit.DONE
    told = json.loads(capsys.readouterr().out)
    assert [one["nanodollars"] for one in told["items"]] == [one.nanodollars for one in view.tasks]
    assert (told["schema"], told["canvases"][0]["root"]) == ("sedano.cost/1", "order")
    written = on_terminal(["cost", *APP, "--days", "2"], NO_COLOR="1")
    shown = screen(app, ScreenQuery("cost"))
    assert shown.command == "sedano cost --days 2"
    for row in shown.tables[0].rows:
        assert row[0].text in written


def test_costs_of_two_kinds_are_not_asked_for_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", *APP, "--days", "2", "--history", "x"]) == Exit.USAGE
    assert "exclude each other" in capsys.readouterr().err
