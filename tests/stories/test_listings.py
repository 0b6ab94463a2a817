"""Lists from the command line: a terminal and a pipe get the same table, a program gets JSON with the same facts."""

import json
from collections.abc import Iterator

import pytest

from sedano import Breaker, Sedano, every, testing
from sedano.cli import main
from sedano.cli.exits import Exit
from tests.stories.terminals import on_terminal

app = Sedano("shelf", queues=("default", "mail"))
APP = ("--app", "tests.stories.test_listings:app")
NASTY = "\x1b[2J\u202e\nx"
HARMLESS = "\\x1b[2J\\u202e\\nx"


@app.task(name="shelf.fill", retry=False, circuit=Breaker(failures=100, shared=True))
def fill(n: int) -> int:
    """Fill the shelf; an odd number does not fit."""
    if n % 2:
        raise ValueError(f"{n} {NASTY}")
    return n


@app.task(name="shelf.break", retry=False)
def fall() -> None:
    """Fall off the wall."""
    raise OSError(NASTY)


@app.periodic(every(3_600), name="shelf.dust")
def dust() -> None:
    """Dust it."""


@pytest.fixture
def world() -> Iterator[testing.World]:
    """The app in memory after five tasks, three of which failed."""
    with testing.world(app) as world:
        for n in range(4):
            fill.apply_async((n,), task_id=f"t-{n}")
            world.clock.advance(1)
            world.drain()
        fall.delay()
        world.drain()
        with app.lock("nightly", duration=60):
            yield world


def piped(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = Exit.DONE) -> str:
    """What a verb writes to a pipe."""
    capsys.readouterr()
    assert main([*arguments, *APP]) == code
    return capsys.readouterr().out


LISTS = (["queues"], ["workers"], ["locks", "nightly"], ["circuits"], ["schedules"], ["list"], ["failures"])


@pytest.mark.parametrize("verb", LISTS, ids=[verb for verb, *_ in LISTS])
def test_a_terminal_and_a_pipe_get_the_same_and_json_has_the_same_rows(
    verb: list[str], world: testing.World, capsys: pytest.CaptureFixture[str]
) -> None:
    table = piped(capsys, *verb)
    assert on_terminal([*verb, *APP]) == table
    head, *rows = table.splitlines()
    found = [*map(json.loads, piped(capsys, *verb, "--json").splitlines())]
    assert len(rows) == len(found) > 0
    assert head.split()[0] == next(iter(found[0])).upper() or verb == ["circuits"]
    for row, one in zip(rows, found, strict=True):
        assert row.split()[0] == str(next(iter(one.values())))


def test_tasks_are_listed_by_state_and_name_the_latest_first(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    def ids(*arguments: str) -> list[str]:
        return [json.loads(line)["id"] for line in piped(capsys, "list", "--json", *arguments).splitlines()]

    assert ids("--task", "shelf.fill") == ["t-3", "t-2", "t-1", "t-0"]
    assert ids("--task", "fill", "--limit", "2") == ["t-3", "t-2"]
    assert ids("--state", "failure", "--task", "fill") == ["t-3", "t-1"]
    assert ids("--state", "RETRY") == []
    table = piped(capsys, "list", "--state", "FAILURE")
    assert len(table.splitlines()) == 4, "an error of two lines forges none"
    assert "ValueError('3 \\x1b[2J" in table


def test_what_happened_days_ago_is_listed_when_it_is_asked_for(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    world.clock.advance(3 * 86_400)
    assert piped(capsys, "list") == ""
    assert len(piped(capsys, "list", "--days", "4").splitlines()) == 6


def test_failures_are_grouped_by_task_and_kind_of_error(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = map(json.loads, piped(capsys, "failures", "--json").splitlines())
    assert (first["task"], first["error"], first["number"], first["example"]) == ("shelf.fill", "ValueError", 2, "t-3")
    assert (second["task"], second["error"], second["number"]) == ("shelf.break", "OSError", 1)
    assert first["first"] < first["last"]
    assert piped(capsys, "failures", "--fail", code=Exit.PROBLEMS) == piped(capsys, "failures")


def test_a_day_without_failures_is_exit_0(capsys: pytest.CaptureFixture[str]) -> None:
    with testing.world(app):
        assert main(["failures", "--fail", *APP]) == 0
    assert capsys.readouterr() == ("", "sedano failures: there is nothing to list\n")


def test_a_lock_is_shown_with_its_owner_and_its_token(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = map(json.loads, piped(capsys, "locks", "nightly", "--json").splitlines())
    record = world.ports.leases.read(["lock/nightly"])["lock/nightly"]
    assert (found["lock"], found["held"], found["owner"], found["token"]) == ("nightly", True, record.owner, record.token)
    assert found["expires"] == world.clock.now() + 60
    assert piped(capsys, "locks", "lock/nightly", "--json").replace("lock/nightly", "nightly") == json.dumps(found) + "\n"
    world.clock.advance(61)
    assert json.loads(piped(capsys, "locks", "nightly", "--json"))["held"] is False
    capsys.readouterr()
    assert main(["locks", NASTY, *APP]) == Exit.NOT_FOUND
    assert capsys.readouterr().err.startswith(f"sedano locks: {HARMLESS} was never taken")
