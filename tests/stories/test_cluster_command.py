"""`python -m sedano cluster`: who works now and what was worked on, for a person and as JSON."""

import json
from collections.abc import Iterator

import pytest

from sedano import testing
from sedano.cli import main
from tests.stories import bakery

APP = "tests.stories.bakery:app"


@pytest.fixture
def world() -> Iterator[testing.World]:
    """The bakery in memory, with one task done."""
    with testing.world(bakery.app) as world:
        bakery.mix.delay(2)
        world.drain()
        yield world


def test_it_tells_a_person_the_workers_and_the_latest_tasks(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "--app", APP]) == 0
    told = capsys.readouterr().out
    assert "memory.1.00000000" in told
    assert "ACTIVE" in told
    assert "by state: SUCCESS 1" in told
    assert "mix" in told


def test_it_tells_a_program_the_same(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "--app", APP, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [member["state"] for member in told["members"]] == ["ACTIVE"]
    assert told["by_state"] == {"SUCCESS": 1}
    assert [task["state"] for task in told["latest"]] == ["SUCCESS"]


def test_what_was_worked_on_three_days_ago_is_counted_only_when_it_is_asked_for(
    world: testing.World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.clock.advance(3 * 86_400.0)
    found = []
    for days in ("2", "4"):
        assert main(["cluster", "--app", APP, "--json", "--days", days]) == 0
        found.append(json.loads(capsys.readouterr().out)["by_state"])
    assert found == [{}, {"SUCCESS": 1}]


@pytest.mark.parametrize(("option", "number"), [("--latest", "-1"), ("--days", "0"), ("--days", "two")])
def test_a_number_that_makes_no_sense_is_said(option: str, number: str, capsys: pytest.CaptureFixture[str], world: testing.World) -> None:
    assert main(["cluster", "--app", APP, option, number]) == 2
    assert f"Invalid value for '{option}': {number}: give a whole number" in capsys.readouterr().err
