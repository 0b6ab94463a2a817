"""`sedano tail`: each event of the history once, in causal order, with the reads that it took."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from sedano import Sedano, testing
from sedano.cli import main
from sedano.cli.exits import Exit
from sedano.ports import Ports
from tests.stories.terminals import on_terminal

app = Sedano("stream")
APP = ("--app", "tests.stories.test_tail_command:app")
NASTY = "\x1b[2J\u202e\nx"


@app.task(name="stream.swim", retry=False)
def swim(n: int) -> int:
    """Swim; an odd fish fails."""
    if n % 2:
        raise ValueError(f"{n} {NASTY}")
    return n


@pytest.fixture
def world() -> Iterator[testing.World]:
    """The app in memory after two tasks, one of which failed."""
    with testing.world(app) as world:
        for n in range(2):
            swim.apply_async((n,), task_id=f"t-{n}")
            world.clock.advance(1)
            world.drain()
        yield world


def tailed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, object]]:
    """The events that a call prints as JSON."""
    capsys.readouterr()
    assert main(["tail", *APP, "--json", *arguments]) == Exit.DONE
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_events_are_in_causal_order_and_each_is_there_once(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    found = tailed(capsys)
    clocks = [one["clock"] for one in found]
    assert clocks == sorted(clocks)  # type: ignore[type-var]
    of_first = [one["type"] for one in found if one["id"] == "t-0"]
    assert of_first.index("task-started") < of_first.index("task-succeeded")
    assert len({json.dumps(one) for one in found}) == len(found) > 4
    assert not any(one["late"] for one in found)


def test_they_are_chosen_by_type_id_and_name(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    (failed,) = tailed(capsys, "task-failed")
    assert (failed["id"], str(failed["error"]).startswith("ValueError")) == ("t-1", True)
    assert {one["id"] for one in tailed(capsys, "t-0")} == {"t-0"}
    assert {one["name"] for one in tailed(capsys, "stream.swim")} == {"stream.swim"}
    assert tailed(capsys, "--limit", "1") == tailed(capsys)[-1:]


def test_it_says_how_far_back_how_live_and_what_it_read(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tail", *APP]) == Exit.DONE
    out, err = capsys.readouterr()
    assert "events of 1 day (UTC), today included, in causal order; a deployed stage writes them up to 60 s after they occurred" in err
    assert "sedano tail: live; $5.80 a million views on AWS; read 2 s3.GetObject, 1 s3.ListObjectsV2\n" in err
    assert "ValueError" in out
    assert "\x1b" not in out
    assert len(out.splitlines()) == len(tailed(capsys)), "an error of two lines forges none"


class Later:
    """A history in which a newer and then an older event arrive between two looks."""

    def __init__(self, ports: Ports) -> None:
        """Show all but the last event at first."""
        self._lines = [line for blob in ports.events.read("") for line in blob.splitlines()]
        self._lines.sort(key=lambda line: json.loads(line)["clock"])
        self.looks = 0

    def read(self, since: str = "") -> Iterator[bytes]:
        """Yield what the recorder has written by now."""
        self.looks += 1
        shown = [self._lines[:-1][1:], self._lines[1:], [*self._lines, b"{"]][min(self.looks, 3) - 1]
        yield b"\n".join(shown)


def test_following_prints_new_events_once_and_marks_late_ones(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    whole = tailed(capsys)
    later = Later(world.ports)
    app.attach(replace(world.ports, events=later))  # type: ignore[arg-type]
    found = tailed(capsys, "--every", "10", "--for", "30s")
    assert later.looks == 4
    assert [one["clock"] for one in found] == [one["clock"] for one in [*whole[1:-1], whole[-1], whole[0]]]
    assert [one["late"] for one in found] == [False] * (len(whole) - 1) + [True]
    later.looks = 2
    main(["tail", *APP])
    assert "1 lines cannot be read" in capsys.readouterr().err


def test_looks_without_a_pause_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tail", *APP, "--follow", "--every", "0"]) == Exit.USAGE
    assert "--every: give one second or more" in capsys.readouterr().err


def test_a_pipe_gets_every_cell_and_a_terminal_those_that_have_something(
    world: testing.World, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tail", *APP, "task-succeeded", "--header"]) == Exit.DONE
    assert capsys.readouterr().out == (
        "at\ttype\ttask\tid\tworker\terror\tlate\n2026-01-01T00:00:01.000000Z\ttask-succeeded\tstream.swim\tt-0\tmemory.1.00000000\t\t\n"
    )
    written = on_terminal(["tail", *APP, "task-succeeded", "--header"])
    assert written == "2026-01-01 00:00:01Z  task-succeeded  stream.swim  t-0  memory.1.00000000\n"
