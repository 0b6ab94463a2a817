"""`--json` with every verb of the table: a program reads all that stands on stdout, line by line."""

import json
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import click
import pytest

from sedano import Sedano, cron, testing
from sedano.cli import main
from sedano.cli.exits import Exit
from sedano.cli.live_screens import stream
from sedano.cli.verb_table import VERBS
from sedano.ports import PARKED, Outgoing
from sedano.views.panels import ScreenQuery
from sedano.workflow import Input, Step, Workflow

app = Sedano("kiosk")
OF_APP = ["--app", "tests.stories.test_json_of_every_verb:app"]
SELL = f"{__name__}:Sell"
YES, REFUSED, MISSING, NOT_YET = Exit.DONE, Exit.REFUSED, Exit.NOT_FOUND, Exit.TIMEOUT


@app.task(retry=False)
def sell(n: int) -> int:
    """Sell *n* papers; there are no more than 9."""
    if n > 9:
        raise ValueError("sold out")
    return n


@app.periodic(cron("0 3 * * *"), name="kiosk.nightly")
def nightly() -> None:
    """Count the money."""


class Sell(Workflow, app=app):
    """Sell some papers."""

    n = Input(int, default=2)
    sold = Step(sell.s(n))


WITHOUT = {"history": "its words are arguments of the job, which takes --json itself (tests/pipeline/test_command.py)"}
FOLDER = "tests/deploy/test_from_a_folder.py"
SPOOL = "tests/stories/test_spool_command.py"
ELSEWHERE = {
    **dict.fromkeys(("bootstrap", "deploy", "diff", "destroy", "outputs", "logs"), FOLDER),
    **dict.fromkeys(("spool send", "spool drop"), SPOOL),
    **dict.fromkeys(("config show", "config set", "config reload"), "tests/stories/test_app_configuration_command.py"),
    "dev": "tests/stories/dev_project.py",
    "report": "tests/pipeline/test_cost_and_report.py",
    "timers foreign": "tests/conformance/test_timers_command.py",
    "publisher": "tests/stories/test_publisher_process.py",
    "top": "tests/stories/test_json_of_every_verb.py",
    "web": "tests/stories/test_web_server.py",
    "worker": "tests/stories/test_worker_command.py",
}
"""Verbs that run a process or reach AWS, with the test that reads their JSON."""
RUNS: dict[str, tuple[list[str], int]] = {
    "broadcast": (["ping", "--wait", "0", "--yes"], YES), "call": (["sell", "3", "--wait"], YES), "check": ([], YES),
    "changes": ([], YES), "deployed": (["v2", "--yes"], YES),
    "circuits": ([], YES), "cluster": ([], YES), "completion": (["zsh"], YES), "config": ([], YES), "cost": (["--days", "1"], YES),
    "discover": ([], YES), "doctor": (["--local"], YES), "explain": (["good"], YES), "failures": ([], YES), "keys list": ([], YES),
    "keys init": (["--yes"], YES), "keys rotate": (["--yes"], Exit.FAILED), "keys revoke": (["k9", "--yes"], Exit.FAILED),
    "limit": (["sell", "--rate", "5/s", "--yes"], YES), "migrate check": (["."], YES),
    "list": ([], YES), "locks": (["till"], YES), "new": (["stand"], YES),
    "parked list": ([], YES), "parked show": (["m1"], YES), "parked redrive": (["--all", "--yes"], Exit.FAILED),
    "pause": (["default", "--kind", "queue", "--yes"], YES), "purge": (["default", "--yes"], YES), "polls": ([], YES), "queues": ([], YES),
    "throughput": ([], YES),
    "redrive": (["--all", "--yes"], REFUSED), "release": (["till", "--token", "TOKEN", "--yes"], YES), "result": (["bad"], Exit.FAILED),
    "resume": (["default", "--kind", "queue", "--yes"], REFUSED), "retry": (["bad", "--yes"], YES), "revoke": (["late", "--yes"], YES),
    "scale": (["default", "8", "--yes"], YES),
    "schedules": ([], YES), "show": (["good"], YES), "spool list": ([], YES), "tail": ([], YES), "trace": (["good"], YES),
    "trigger": (["kiosk.nightly", "--yes"], YES), "version": ([], YES), "workers": ([], YES), "workflow check": ([SELL], YES),
    "workflow draw": ([SELL, "--svg"], YES), "workflow start": ([SELL], YES), "workflow list": ([], YES),
    "workflow show": (["run-1"], YES), "workflow pause": (["run-1", "--yes"], REFUSED), "workflow resume": (["run-1", "--yes"], REFUSED),
    "workflow cancel": (["run-1", "--yes"], REFUSED), "workflow retry": (["run-1", "--yes"], REFUSED),
}  # fmt: skip
"""The words of a command, and its exit code."""


def commands(name: str, found: click.Command) -> Iterator[tuple[str, click.Command]]:
    """The commands of a verb: itself, or those of a group."""
    if not isinstance(found, click.Group):
        yield name, found
        return
    if found.invoke_without_command:
        yield name, found
    for word, one in found.commands.items():
        yield from commands(f"{name} {word}", one)


EVERY = {name: one for verb, entry in VERBS.items() for name, one in commands(verb, entry.load())}


@pytest.mark.parametrize("name", EVERY)
def test_every_verb_takes_json_or_says_why_not(name: str) -> None:
    takes = any("--json" in one.opts for one in EVERY[name].params)
    assert takes != (name in WITHOUT), f"{name}: give it as_json, or a reason in WITHOUT"
    assert (name in RUNS) + (name in ELSEWHERE) + (name in WITHOUT) == 1, f"{name}: add a run of it with --json"


def test_nothing_is_listed_that_is_gone_or_that_reads_no_json() -> None:
    assert {*RUNS, *ELSEWHERE, *WITHOUT} == {*EVERY}
    assert [name for name, place in ELSEWHERE.items() if "--json" not in Path(place).read_text()] == []


@pytest.fixture
def world() -> Iterator[testing.World]:
    """The kiosk in memory: tasks that succeeded, failed and wait, a run that has ended, a lock that is held, a message that is parked."""
    with testing.world(app) as world:
        sell.apply_async((3,), task_id="good")
        sell.apply_async((30,), task_id="bad")
        Sell.flow.apply_async({}, run_id="run-1")
        world.drain()
        sell.apply_async((1,), task_id="late", countdown=600)
        world.queues.send(PARKED, [Outgoing("{}", attributes={"reason": "unknown-task", "queue": "default", "message_id": "m1"})])
        RUNS["release"][0][2] = str(app.lock("till").acquire().token)
        yield world


@pytest.mark.parametrize("name", RUNS)
def test_every_line_of_stdout_is_json(name: str, world: testing.World, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words, code = RUNS[name]
    of_app = [] if name in ("completion", "config", "migrate check", "new", "spool list", "version") else OF_APP
    with chdir(tmp_path):
        assert main([*name.split(), *of_app, *words, "--json"]) == code
    lines = capsys.readouterr().out.splitlines()
    values = [json.loads(line) for line in lines]
    assert bool(values) == (code == YES or name == "result")


def test_the_result_of_a_task_is_one_document_however_it_ended(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    def read(*words: str, code: int) -> dict[str, object]:
        assert main([*words, *OF_APP, "--json"]) == code
        found: dict[str, object] = json.loads(capsys.readouterr().out)
        return found

    assert read("result", "good", code=YES) == {"id": "good", "state": "SUCCESS", "result": 3, "error": None}
    assert read("result", "late", code=MISSING) == {"id": "late", "state": None, "result": None, "error": None}
    failed = read("result", "bad", "--wait", code=Exit.FAILED)
    error = failed.pop("error")
    assert failed == {"id": "bad", "state": "FAILURE", "result": None}
    assert isinstance(error, dict)
    assert (error["type_name"], error["message"]) == ("ValueError", "sold out")
    called = read("call", "sell", "5", "--wait", "--task-id", "five", code=YES)
    assert called == {"id": "five", "state": "SUCCESS", "result": 5, "error": None}


def test_a_workflow_that_cannot_run_is_a_document_with_its_reasons(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text('workflow = "wrong"\n[[step]]\nname = "one"\ntask = "kiosk.missing"\n')
    with chdir(tmp_path):
        assert main(["workflow", "check", *OF_APP, "wrong.toml", "--json"]) == Exit.PROBLEMS
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["workflow"]) == ("sedano.workflow.check/1", "wrong.toml")
    assert any("kiosk.missing" in one for one in found["problems"])


def test_a_screen_that_is_streamed_is_written_again_only_after_a_change(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    looks: list[float] = []

    def look(pause: float) -> None:
        looks.append(pause)
        if len(looks) == 2:
            sell.apply_async((40,), task_id="worse")
            world.drain()
        if len(looks) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stream(app, ScreenQuery("failures"), look)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["schema"], one["screen"]) for one in lines] == [("sedano.top/1", "failures")] * 2
    assert "worse" in json.dumps(lines[1])
    assert "worse" not in json.dumps(lines[0])
    assert looks[1] > looks[0], "a look that finds no change comes later"


def test_a_worker_does_not_log_json_and_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["worker", *OF_APP, "--json", "--log", "lines"]) == Exit.USAGE
    assert capsys.readouterr() == ("", "sedano worker: --json and --log lines exclude each other; give one of them\n")
