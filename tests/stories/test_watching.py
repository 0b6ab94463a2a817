"""`--watch`: a list, the failures and a task are read again, and what is new or has changed is written once."""

import json
from collections.abc import Callable, Iterator

import pytest

from sedano import Sedano, testing
from sedano.cli import main, watching
from sedano.cli.exits import Exit
from sedano.views.browser import FIRST_S
from sedano.views.reader import About
from sedano.views.reads import Reads
from sedano.views.tasks import TaskRow

app = Sedano("watched")
APP = ("--app", "tests.stories.test_watching:app")


@app.task(name="watched.check", retry=False)
def check(n: int) -> int:
    """Refuse an odd number."""
    if n % 2:
        raise ValueError(n)
    return n


@pytest.fixture
def world() -> Iterator[testing.World]:
    """The app in memory."""
    with testing.world(app) as found:
        yield found


class Sleeps:
    """What happens between two readings; after the last Ctrl-C is pressed."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        """Make one of *steps* in each pause."""
        self.steps, self.pauses = list(steps), list[float]()

    def __call__(self, seconds: float) -> None:
        """Make the next step."""
        self.pauses.append(seconds)
        if not self.steps:
            raise KeyboardInterrupt
        self.steps.pop(0)()


def task_row(name: str, state: str) -> TaskRow:
    """A task in a state."""
    return TaskRow(id=name, name=name, state=state, at=0.0, queue="", waited=None, ran=None, worker="", error="")


def test_a_record_is_written_when_it_is_new_or_has_changed_and_pauses_grow_while_nothing_does() -> None:
    readings = iter([["a"], ["a"], ["a"], ["a!", "b"]])
    written: list[str] = []
    sleeps = Sleeps(*[lambda: None] * 3)

    def read() -> watching.WatchedRecords:
        rows = [task_row(one[0], "SUCCESS" if "!" in one else "STARTED") for one in next(readings)]
        return watching.WatchedRecords(rows, About(0.0, "live", Reads({}, 0.0, 0.0)))

    def put(one: object) -> None:
        assert isinstance(one, TaskRow)
        written.append(f"{one.id} {one.state}")

    with pytest.raises(KeyboardInterrupt):
        watching.watch("list", read, put, sleeps)
    assert written == ["a STARTED", "b STARTED", "a SUCCESS"]
    assert sleeps.pauses == [FIRST_S, 1.5 * FIRST_S, 1.5 * 1.5 * FIRST_S, FIRST_S]


def test_a_task_is_shown_until_it_has_ended(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    check.apply_async((2,), task_id="even")
    world.drain()
    assert main(["show", "even", "--watch", "--json", *APP]) == Exit.DONE
    out, err = capsys.readouterr()
    assert [json.loads(line)["state"] for line in out.splitlines()] == ["SUCCESS"]
    assert "sedano show: it reads again until Ctrl-C; each time, " in err


def fails_again(world: testing.World) -> Sleeps:
    """Let another task fail in the first pause."""
    return Sleeps(lambda: check.apply_async((5,), task_id="odder"), world.drain)


def test_tasks_are_written_as_lines(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    check.apply_async((3,), task_id="odd")
    world.drain()
    with pytest.raises(KeyboardInterrupt):
        watching.watch_tasks(app, days=1, query="state:FAILURE", limit=9, as_json=True, sleep=fails_again(world))
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["id"] for one in found] == ["odd", "odder"]


def test_causes_are_written_as_lines(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    check.apply_async((3,), task_id="odd")
    world.drain()
    with pytest.raises(KeyboardInterrupt):
        watching.watch_failures(app, days=1, only_new=False, as_json=False, sleep=fails_again(world))
    found = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [(one[2], one[5]) for one in found] == [("1", "odd"), ("2", "odder")]


def test_a_watch_has_no_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["failures", "--watch", "--fail", *APP]) == Exit.USAGE
    assert "leave out --fail, or --watch" in capsys.readouterr().err
