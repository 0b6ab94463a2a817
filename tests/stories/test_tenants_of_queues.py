"""Which tenant takes a queue's time? On the page, on a terminal and as JSON, from the last hour of the history."""

import json
from collections.abc import Iterator

import pytest

from sedano import Sedano, testing
from sedano.cli import main
from sedano.cli.exits import Exit
from sedano.views.panels import ScreenQuery
from sedano.views.queues import queues
from sedano.views.screens import screen
from tests.stories.terminals import items, on_terminal

app = Sedano("market")
APP = ("--app", "tests.stories.test_tenants_of_queues:app")


@app.task(name="market.weigh")
def weigh(seconds: float) -> None:
    """Take some time."""
    app.outlet.ports.clock.sleep(seconds)


@pytest.fixture
def world() -> Iterator[testing.World]:
    """The app in memory: acme took 30 s in three tasks, zeta 3 s in one, and someone without a tenant 1 s."""
    with testing.world(app) as world:
        for seconds, tenant in ((10.0, "acme"), (10.0, "acme"), (10.0, "acme"), (3.0, "zeta"), (1.0, None)):
            weigh.apply_async((seconds,), tenant=tenant)
            world.drain()
        yield world


def test_the_tenants_are_listed_by_their_share_and_the_noisy_one_is_marked(world: testing.World) -> None:
    loads = queues(app, tenants=True).tenants
    assert [(one.queue, one.tenant, one.tasks, one.ran, one.noisy) for one in loads] == [
        ("default", "acme", 3, 30.0, True), ("default", "zeta", 1, 3.0, False), ("default", "", 1, 1.0, False),
    ]  # fmt: skip
    assert queues(app).tenants == ()
    world.clock.advance(3_700)
    assert queues(app, tenants=True).tenants == (), "they are those of the last hour"


def test_page_verb_and_json_agree(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(screen(app, ScreenQuery("queues")).tables) == 1
    table = screen(app, ScreenQuery("queues", query="tenants")).tables[1]
    assert [(row[1].text, row[2].text, row[3].text, row[6].text) for row in table.rows] == [
        ("acme", "≈ 3", "≈ 88%", "noisy"), ("zeta", "≈ 1", "≈ 9%", ""), ("(none)", "≈ 1", "≈ 3%", ""),
    ]  # fmt: skip
    assert table.rows[0][1].link == "tenant:acme queue:default"
    assert main(["queues", *APP, "--tenants", "--json"]) == Exit.DONE
    assert [(one["tenant"], one["noisy"]) for one in items(capsys.readouterr().out)] == [("acme", True), ("zeta", False), ("", False)]
    assert "88%" in on_terminal(["queues", *APP, "--tenants"], NO_COLOR="1")


def test_a_search_finds_the_tasks_of_a_tenant(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", *APP, "tenant:acme", "queue:default", "--json"]) == Exit.DONE
    assert len(items(capsys.readouterr().out)) == 3
    assert main(["list", *APP, "tenant:a*", "state:FAILURE", "--json"]) == Exit.DONE
    assert json.loads(capsys.readouterr().out)["items"] == []


def test_yesterday_is_read_in_the_first_hour_of_a_day(world: testing.World) -> None:
    world.clock.advance(86_400 - 1_800)
    weigh.apply_async((1.0,), tenant="late")
    world.drain()
    world.clock.advance(1_700)
    assert [one.tenant for one in queues(app, tenants=True).tenants] == ["late"]
