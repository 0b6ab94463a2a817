"""`sedano trace`: a canvas with a retry, a pause and a chord as one tree, from any of its ids, on every kind of ports."""


import pytest

from sedano import Sedano, chord, current, testing
from sedano.cli import main
from sedano.cli.exits import Exit
from tests.stories.terminals import items, on_terminal

app = Sedano("traced")
APP = ("--app", "tests.stories.test_trace_command:app")
NASTY = "\x1b[2J\u202e\nx"


@app.task(name="traced.part")
def part(n: int) -> int:
    """Fail the first time if told to."""
    if n and current().attempt == 0:
        raise OSError(NASTY)
    return n


@app.task(name="traced.total")
def total(parts: list[int]) -> int:
    """Add them."""
    return sum(parts)


def run(world: testing.World) -> str:
    """Run a chord of two parts, one of which is tried again, and return the id of its body."""
    made = chord([part.s(0).set(task_id="p-0"), part.s(1).set(task_id="p-1")], total.s()).apply_async()
    for _ in range(5):
        world.drain()
        world.clock.advance(60)
    assert made.get() == 1
    return made.id


def traced(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, object]]:
    """The spans that a call prints as JSON."""
    capsys.readouterr()
    assert main(["trace", *APP, "--json", *arguments]) == Exit.DONE
    return items(capsys.readouterr().out)


def test_every_id_of_a_canvas_leads_to_the_same_tree(capsys: pytest.CaptureFixture[str]) -> None:
    with testing.world(app) as world:
        body = run(world)
        found = traced(capsys, body)
        assert traced(capsys, "p-0") == traced(capsys, "p-1") == found
    names = [one["label"] for one in found if one["kind"] == "task"]
    assert sorted(map(str, names)) == ["sedano.launch", "traced.part", "traced.part", "traced.total"]
    retried = [one["kind"] for one in found if one["task"] == "p-1"]
    assert retried == ["task", "queue", "attempt", "body", "retry", "attempt", "body"]
    assert [one["state"] for one in found if one["kind"] == "attempt" and one["task"] == "p-1"] == ["RETRY", "SUCCESS"]


def test_the_tree_is_inert_and_says_its_price(capsys: pytest.CaptureFixture[str]) -> None:
    with testing.world(app) as world:
        body = run(world)
        assert main(["trace", *APP, body]) == Exit.DONE
        out, err = capsys.readouterr()
    assert "\x1b" not in out
    assert "OSError" in out
    assert "4 tasks of the canvas" in err
    assert "a million views on AWS" in err
    assert any("█" in line and "body" in line for line in out.splitlines())


def test_a_terminal_and_a_pipe_get_the_same_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with testing.world(app) as world:
        body = run(world)
        assert main(["trace", *APP, body]) == Exit.DONE
        assert capsys.readouterr().out == on_terminal(["trace", *APP, body]) != ""


def test_an_unknown_id_is_not_found_and_says_where_else_to_look(capsys: pytest.CaptureFixture[str]) -> None:
    with testing.world(app):
        assert main(["trace", *APP, "nobody"]) == Exit.NOT_FOUND
        out, err = capsys.readouterr()
        assert out == ""
        assert "sedano explain nobody" in err
