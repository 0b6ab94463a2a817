"""`sedano call`, `result` and `show`: a task from the command line to its value, on a terminal, in a pipe and as JSON."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from sedano import Sedano, testing
from sedano.cli import main
from sedano.cli.exits import Exit
from tests.stories.terminals import on_terminal

app = Sedano("counter", queues=("default", "slow"))
APP = ("--app", "tests.stories.test_call_command:app")
NASTY = "\x1b[2J\u202e"
HARMLESS = "\\x1b[2J\\u202e"
seen: list[Any] = []


@app.task
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@app.task
def say(text: str, loud: bool = False) -> str:
    """Return the text."""
    seen.append((text, loud))
    return text


@app.task(retry=False)
def fail(text: str) -> None:
    """Fail with the text."""
    raise ValueError(text)


@app.task(name="elsewhere.add", queue="slow")
def other(a: Any) -> Any:
    """Return what it is given."""
    return a


@pytest.fixture
def world() -> Iterator[testing.World]:
    """The app in memory."""
    seen.clear()
    with testing.world(app) as world:
        yield world


def called(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = Exit.DONE) -> tuple[str, str]:
    """What a command writes to stdout and to stderr."""
    verb, *rest = arguments
    assert main([verb, *APP, *rest]) == code
    return capsys.readouterr()


def test_a_task_is_published_and_its_id_alone_is_printed(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = called(capsys, "call", "tests.stories.test_call_command.add", "2", "-k", "b=3")
    assert err == ""
    (task_id,) = out.split()
    assert called(capsys, "result", task_id, code=Exit.NOT_FOUND)[1].startswith(f"sedano result: no worker has recorded {task_id}; `sedano")
    world.drain()
    assert called(capsys, "result", task_id) == ("5\n", "")
    assert called(capsys, "result", task_id, "--wait") == ("5\n", "")
    assert json.loads(called(capsys, "call", "test_call_command.add", "2", "--task-id", "mine", "--json")[0]) == {"id": "mine"}


def test_to_wait_prints_the_value_and_nothing_else_on_stdout(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = called(capsys, "call", "say", NASTY, "--wait")
    assert json.loads(out) == NASTY
    assert out.isascii()
    assert err.startswith("sedano call: ")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "taken"),
    [
        (["7"], ("7", False)),
        (["true", "true"], ("true", True)),
        (['"7"'], ("7", False)),
        (["-k", "text=[1]"], ("[1]", False)),
        (["a b"], ("a b", False)),
    ],
)
def test_a_text_is_taken_as_it_is_written_where_the_task_wants_one(
    arguments: list[str], taken: tuple[str, bool], world: testing.World, capsys: pytest.CaptureFixture[str]
) -> None:
    called(capsys, "call", "say", *arguments, "--wait")
    assert seen == [taken]


def test_a_failure_is_exit_1_with_the_traceback_on_stderr(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = called(capsys, "call", "fail", NASTY, "--wait", code=Exit.FAILED)
    assert out == ""
    first, *_, last = err.splitlines()
    task_id = first.removeprefix("sedano call: ")
    assert last == f"sedano call: {task_id} ended as FAILURE: ValueError: {HARMLESS}"
    assert "    Traceback (most recent call last):" in err.splitlines()
    assert [line for line in err.splitlines()[1:-1] if not line.startswith("    ")] == []
    assert called(capsys, "result", task_id, code=Exit.FAILED)[1].splitlines()[-1] == last.replace("call:", "result:")
    shown = called(capsys, "show", task_id)[0]
    assert f"error: ValueError: {HARMLESS}" in shown
    assert "    Traceback (most recent call last):" in shown.splitlines()
    found = json.loads(called(capsys, "show", task_id, "--json")[0])
    assert (found["state"], found["record"]["error"]["message"]) == ("FAILURE", NASTY)
    assert (found["record"]["name"], found["record"]["owner"]) == ("tests.stories.test_call_command.fail", "memory.1.00000000")


def test_a_result_that_does_not_come_in_time_is_exit_124(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = called(capsys, "call", "test_call_command.add", "1", "--in", "1h", "--wait", "--timeout", "5m", code=Exit.TIMEOUT)
    assert out == ""
    assert "Traceback" not in err
    task_id = err.splitlines()[0].removeprefix("sedano call: ")
    world.clock.advance(3_600)
    world.drain()
    assert called(capsys, "result", task_id) == ("2\n", "")


def test_a_moment_is_taken_with_a_zone_alone(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    _, err = called(capsys, "call", "test_call_command.add", "1", "--eta", "2026-01-02T00:00:00", code=Exit.USAGE)
    assert "write it as 2027-01-31T08:00:00Z" in err
    called(capsys, "call", "test_call_command.add", "1", "--eta", "2026-01-02T00:00:00Z", "--task-id", "later")
    (waiting,) = app.scheduled()
    assert (waiting.task_id, waiting.eta) == ("later", datetime(2026, 1, 2, tzinfo=UTC))


def test_a_dry_run_checks_and_publishes_nothing(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = called(capsys, "call", "elsewhere.add", "[1, 2]", "--in", "90s", "--dry-run")
    assert json.loads(out) == {"task": "elsewhere.add", "args": [[1, 2]], "kwargs": {}, "queue": "slow", "delay": 90}
    assert err == "sedano call: nothing was published (--dry-run)\n"
    assert not world.step()
    called(capsys, "call", "say", "--dry-run", code=Exit.USAGE)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["sai", "x"], Exit.NOT_FOUND, "sai: the app has no task of this name; did you mean tests.stories.test_call_command.say?"),
        ([f"{NASTY}zzzz"], Exit.NOT_FOUND, f"{HARMLESS}zzzz: the app has no task of this name; `sedano discover` lists the tasks"),
        (["add"], Exit.NOT_FOUND, "did you mean elsewhere.add or tests.stories.test_call_command.add?"),
        (["say", "a", "b", "c"], Exit.USAGE, "data"),
        (["say", "-k", "text"], Exit.USAGE, "-k text: write NAME=VALUE"),
        (["say", "a b", "--json-args"], Exit.USAGE, "a b: not JSON (Expecting value: line 1 column 1 (char 0)); leave out --json-args"),
        (["say", "7", "--json-args"], Exit.USAGE, "data.args[0]: parameter text"),
        (["say", "a", "--in", "soon"], Exit.USAGE, "soon: give a time such as 90, 90s, 5m, 2h or 3d"),
        (["say", "a", "--in", "1", "--eta", "2027-01-01T00:00:00Z"], Exit.USAGE, "--in and --eta exclude each other"),
        (["say", "a", "--queue", "fast"], Exit.NOT_FOUND, "fast"),
        (["say", "a", "--in", "500d"], Exit.USAGE, "countdown"),
    ],
)
def test_a_call_that_cannot_be_is_refused_before_it_is_published(
    arguments: list[str], code: int, said: str, world: testing.World, capsys: pytest.CaptureFixture[str]
) -> None:
    if arguments == ["add"]:
        app_of_two = [name for name in app.registry.tasks if name.endswith(".add")]
        assert len(app_of_two) == 2
    out, err = called(capsys, "call", *arguments, code=code)
    assert (out, said in err) == ("", True), err
    assert not world.step()


def test_a_task_that_was_never_published_is_not_found(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    assert called(capsys, "result", NASTY, code=Exit.NOT_FOUND)[1].startswith(f"sedano result: no worker has recorded {HARMLESS}; ")
    out, _ = called(capsys, "show", "never", code=Exit.NOT_FOUND)
    assert out.startswith("never is PENDING: ")


def test_a_terminal_and_a_pipe_get_the_same(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    called(capsys, "call", "say", NASTY, "--task-id", "t-1")
    world.drain()
    for verb in ("result", "show"):
        assert on_terminal([verb, "t-1", *APP]) == called(capsys, verb, "t-1")[0]
