"""`python -m sedano workflow`: everything that an operator does, from the command line; data on stdout, words on stderr, exit codes."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sedano import testing
from sedano.cli import main
from sedano.workflow import load
from tests.stories import bakery
from tests.stories.terminals import items, on_terminal

APP = "tests.stories.bakery:app"
WHICH = (
    'which app? give --app module:attribute, or set SEDANO_APP, or write app = "module:attribute" in [tool.sedano] of pyproject.toml; '
    "sedano new NAME makes a project"
)
BREAD = "tests.stories.bakery:Bread"


@pytest.fixture
def world() -> Iterator[testing.World]:
    """The bakery in memory, everything in order."""
    bakery.BROKEN.clear()
    with testing.world(bakery.app) as world:
        yield world


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """What a command says on stdout, or on stderr when it fails."""
    changes = arguments[0] in ("pause", "resume", "cancel", "retry")
    assert main(["workflow", "--app", APP, *arguments, *["--yes"] * changes]) == code
    found = capsys.readouterr()
    assert found.out == "" or code == 0
    assert code != 0 or (found.err.count("\n") == 1 if changes else found.err == ""), found.err
    return found.out if code == 0 else found.err


def test_a_run_is_begun_listed_and_shown(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    run = said(capsys, "start", BREAD, "loaves=3").strip()
    assert said(capsys, "start", BREAD, "loaves=3", "--run-id", "second") == "second\n"
    world.drain()
    assert {line.split()[0] for line in said(capsys, "list").splitlines()} == {run, "second"}
    assert main(["workflow", "--app", APP, "list", "cake"]) == 0
    assert capsys.readouterr() == ("", "there are no runs of a workflow cake\n")
    shown = said(capsys, "show", run).splitlines()
    assert shown[0].startswith(f"{run}: bread 2 is SUCCEEDED, began 2026-01-01 00:00:00Z")
    assert [line.split()[:2] for line in shown[1:]] == [["STEP", "STATE"], ["dough", "SUCCEEDED"], ["baked", "SUCCEEDED"]]
    assert "3 of 3" in shown[3]
    view = json.loads(said(capsys, "show", "second", "--json"))
    assert (view["state"], view["steps"][1]["calls"]) == ("SUCCEEDED", [3, 0, 3])
    assert {one["run"] for one in items(said(capsys, "list", "bread", "--json"))} == {run, "second"}


def test_a_terminal_is_shown_a_run_as_a_pipe_is(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    run = said(capsys, "start", BREAD, "loaves=3").strip()
    world.drain()
    assert on_terminal(["workflow", "--app", APP, "show", run]) == said(capsys, "show", run) != ""


def test_a_workflow_is_known_by_the_name_that_the_list_shows(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    run = said(capsys, "start", "bread", "loaves=3").strip()
    world.drain()
    (line,) = said(capsys, "list").splitlines()
    assert line.split()[:2] == [run, "bread"]
    assert "bread, version 2" in said(capsys, "check", "bread")
    assert said(capsys, "draw", "bread") == said(capsys, "draw", BREAD)


def test_two_workflows_of_one_name_have_to_be_told_apart(world: testing.World, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "twin.toml"
    file.write_text('workflow = "twin"\nversion = "1"\n\n[[step]]\nname = "dough"\ntask = "tests.stories.bakery.mix"\nargs = [1]\n')
    held = [load(bakery.app, file) for _ in range(2)]
    assert "the app declares 2 workflows with this name; give module:Class" in said(capsys, "start", "twin", code=2)
    assert len(held) == 2


def test_a_failed_run_is_looked_at_and_retried(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    bakery.BROKEN.add("oven")
    run = said(capsys, "start", BREAD).strip()
    world.drain()
    shown = said(capsys, "show", run)
    assert "because of step baked: RuntimeError: the oven is cold" in shown
    assert "0 of 2, 2 failed" in shown
    assert "COMPENSATED" in said(capsys, "draw", run, "--svg").upper()
    bakery.BROKEN.clear()
    assert said(capsys, "retry", run) == "RUNNING\n"
    world.drain()
    assert "SUCCEEDED" in said(capsys, "show", run)
    assert "is SUCCEEDED and cannot be cancelled" in said(capsys, "cancel", run, code=5)


def test_what_a_run_left_undone_is_told_and_undone_or_declared_undone(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    bakery.BROKEN |= {"oven", "bin"}
    run = said(capsys, "start", BREAD).strip()
    world.drain()
    assert "not undone: step dough (RuntimeError: the bin is full)" in said(capsys, "show", run).splitlines()
    assert f"flow run {run}: baked cannot be marked as undone, only dough" in said(capsys, "retry", run, "--undone", "baked", code=5)
    assert said(capsys, "retry", run) == "FAILING\n"
    world.drain()
    bakery.BROKEN.clear()
    assert said(capsys, "retry", run, "--undone", "dough") == "RUNNING\n"
    world.drain()
    assert "SUCCEEDED" in said(capsys, "show", run)


def test_a_run_is_paused_resumed_and_cancelled(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    run = said(capsys, "start", BREAD).strip()
    world.step()
    assert [said(capsys, verb, run) for verb in ("pause", "resume", "pause", "cancel")] == [
        "PAUSED\n",
        "RUNNING\n",
        "PAUSED\n",
        "CANCELLING\n",
    ]
    world.drain()
    assert "is CANCELLED" in said(capsys, "show", run)


def test_workflows_are_checked_and_drawn(world: testing.World, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "bread.toml"
    file.write_text(bakery.BREAD)
    assert said(capsys, "check", str(file)) == f"{file}: workflow bread, version 3, 1 steps: can run\n"
    assert said(capsys, "draw", BREAD).startswith("flowchart TD\n")
    assert said(capsys, "draw", str(file), "--svg").startswith("<svg ")
    file.write_text(bakery.BREAD + "colour = 1\n")
    assert f"{file}:9: step 'dough': unknown key 'colour'" in said(capsys, "check", str(file), code=6)
    assert world.parked() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("draw", "nowhere.toml"), "nowhere.toml: the file does not exist; give the path of the workflow's .toml or .yaml file"),
        (("start", BREAD, "rolls=1"), "rolls: workflow bread has no such input"),
        (("start", BREAD, "loaves"), "'loaves' is not an input; write NAME=VALUE"),
        (("start", BREAD, "loaves=x"), "loaves: workflow bread: expected int, got str"),
        (("start", "tests.stories.bakery:mix"), "is a Task, not a workflow"), (("start", "nowhere:Flow"), "No module named 'nowhere'"),
        (("start", "cake"), "cake: the app declares no workflow of this name, it declares bread"),
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_told_and_exits_with_2(
    world: testing.World, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert message in said(capsys, *arguments, code=2)
    assert world.sent("sedano.workflow") == []


@pytest.mark.parametrize("verb", ["show", "draw", "pause", "retry"])
def test_a_run_that_is_not_there_is_a_failure(world: testing.World, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    assert "no flow run nobody" in said(capsys, verb, "nobody", code=3)


def test_the_command_line_names_its_verbs_and_its_app() -> None:
    def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "sedano", "workflow", *arguments]
        return subprocess.run(command, env={"PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True, check=False)

    assert "{" not in ran("--help").stdout
    assert all(verb in ran("--help").stdout for verb in ("check", "draw", "start", "list", "show", "pause", "resume", "cancel", "retry"))
    missing = ran("list")
    assert (missing.returncode, missing.stderr) == (2, f"sedano workflow: {WHICH}\n")
    assert ran("dance").returncode == 2
