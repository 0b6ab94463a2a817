"""`--watch`: a list, the failures and a task are read again, and what is new or has changed is written once."""

import json
import sys
from collections.abc import Callable, Iterator

import pytest

from sedano import Retry, Sedano, testing
from sedano.cli import main, watching
from sedano.cli.exits import Exit
from sedano.errors import SedanoError, Unavailable
from sedano.views.browser import FIRST_S, MOST_S
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


@app.task(name="watched.refused", retry=Retry(max_retries=3, interval_start=600, jitter=False))
def refused() -> None:
    """Fail, to be tried again later."""
    raise ValueError("not yet")


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
    assert "sedano show: it reads again until Ctrl-C; each reading: $" in err


@pytest.mark.parametrize(("options", "span"), [([], watching.UNRECORDED_S), (["--timeout", "40"], 40.0)])
def test_the_watch_of_a_task_without_a_record_ends(
    world: testing.World, capsys: pytest.CaptureFixture[str], options: list[str], span: float
) -> None:
    began = world.clock.now()
    assert main(["show", "mistyped", "--watch", *options, *APP]) == Exit.NOT_FOUND
    assert world.clock.now() - began == pytest.approx(span)
    assert f"sedano show: no worker has recorded mistyped within {span:g} s; `sedano explain mistyped` says why" in capsys.readouterr().err


def test_the_watch_of_a_task_that_does_not_end_ends_after_its_timeout(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    refused.apply_async(task_id="later")
    world.elapse(0)
    assert app.result("later").state == "RETRY"
    assert main(["show", "later", "--watch", "--timeout", "1m", *APP]) == Exit.TIMEOUT
    assert "sedano show: later is RETRY after 60 s" in capsys.readouterr().err


def test_a_timeout_without_a_watch_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "even", "--timeout", "40", *APP]) == Exit.USAGE
    assert "add --watch, or leave out --timeout" in capsys.readouterr().err


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


def reading(*found: list[str] | SedanoError, is_cut: bool = False) -> Callable[[], watching.WatchedRecords]:
    """Readings of tasks of these names, one after the other; an error is raised."""
    left = iter(found)

    def read() -> watching.WatchedRecords:
        names = next(left)
        if isinstance(names, SedanoError):
            raise names
        rows = [task_row(name, "SUCCESS") for name in names]
        return watching.WatchedRecords(rows, About(0.0, "live", Reads({}, 0.0, 0.0)), is_cut=is_cut)

    return read


def test_a_later_reading_that_fails_is_reported_and_the_next_follows_after_the_longest_pause(capsys: pytest.CaptureFixture[str]) -> None:
    written, sleeps = list[object](), Sleeps(*[lambda: None] * 3)
    read = reading(["a"], Unavailable("S3 is away"), Unavailable("S3 is away"), ["b", "a"])
    with pytest.raises(KeyboardInterrupt):
        watching.watch("list", read, written.append, sleeps)
    assert written == [task_row("a", "SUCCESS"), task_row("b", "SUCCESS")]
    assert sleeps.pauses == [FIRST_S, MOST_S, MOST_S, FIRST_S]
    assert capsys.readouterr().err.count("sedano list: not read, and read again in 30 s: S3 is away") == 2


def test_the_first_reading_that_fails_ends_the_watch() -> None:
    with pytest.raises(Unavailable):
        watching.watch("list", reading(Unavailable("S3 is away")), print, Sleeps())


@pytest.mark.parametrize(
    ("later", "is_cut", "lines"), [(["d", "c"], True, 1), (["c", "b"], True, 0), (["b", "a"], True, 0), (["d", "c"], False, 0)]
)
def test_records_between_two_readings_that_may_be_missing_are_reported(
    capsys: pytest.CaptureFixture[str], later: list[str], is_cut: bool, lines: int
) -> None:
    with pytest.raises(KeyboardInterrupt):
        watching.watch("list", reading(["b", "a"], later, is_cut=is_cut), list[object]().append, Sleeps(lambda: None))
    told = "sedano list: all 2 latest are new or have changed; older ones may be missing: use a larger --limit"
    assert capsys.readouterr().err.count(told) == lines


def test_records_are_missing_also_after_a_first_reading_that_found_none(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        watching.watch("list", reading([], ["b", "a"], is_cut=True), list[object]().append, Sleeps(lambda: None))
    assert "older ones may be missing" in capsys.readouterr().err


def test_a_list_with_fewer_places_than_new_tasks_says_so(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    def more() -> None:
        for n in range(5):
            check.delay(2 * n)
        world.drain()

    more()
    with pytest.raises(KeyboardInterrupt):
        watching.watch_tasks(app, days=1, query="", limit=2, as_json=True, sleep=Sleeps(more))
    assert "older ones may be missing" in capsys.readouterr().err


def test_who_has_closed_stdout_is_not_made_to_wait(world: testing.World) -> None:
    kept, sys.stdout = sys.stdout, None  # type: ignore[assignment]  # as Python sets it for a program that began with `>&-`
    try:
        watching.watch_tasks(app, days=1, query="", limit=9, as_json=False, sleep=Sleeps())
    finally:
        sys.stdout = kept
