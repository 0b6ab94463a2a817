"""The first mistakes on the command line: each message says what to write instead, and names no variable of a stage first."""

import os
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest

from sedano import Sedano, every, testing
from sedano.cli import main
from sedano.cli.dispatch import as_verbs
from sedano.cli.exits import Exit

app = Sedano("till", queues=("default", "mail"))
HERE = ("--app", "tests.stories.test_first_mistakes:app")


@app.task(name="till.greet")
def greet(name: str) -> str:
    """Greet."""
    return name


@app.periodic(every(3_600), name="till.tidy")
def tidy() -> None:
    """Tidy up."""


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """An empty working directory, in a shell that names no stage."""
    before = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(("SEDANO_", "AWS_"))}
    places = sys.path[:]
    with chdir(tmp_path):
        yield tmp_path
    os.environ.update(before)
    sys.path[:] = places


def told(capsys: pytest.CaptureFixture[str], *words: str, code: int) -> str:
    """What a command says on stderr, which ends with the exit code."""
    assert main(list(words)) == code
    return capsys.readouterr().err


def test_a_verb_without_a_deployment_begins_with_what_to_start(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("kiosk.py").write_text("from sedano import Sedano\napp = Sedano('kiosk')\n")
    said = told(capsys, "queues", "--app", "kiosk:app", code=Exit.FAILED)
    assert "SEDANO_EVENTS_QUEUE is not set; without AWS, start `sedano dev` in the project's folder; for a deployed stage, `eval" in said
    sys.modules.pop("kiosk")


def test_a_misspelt_attribute_of_the_app_comes_with_the_right_one(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("stall.py").write_text("from sedano import Sedano\nstall = Sedano('stall')\n")
    said = told(capsys, "discover", "--app", "stall", code=Exit.USAGE)
    assert said.endswith("module 'stall' has no attribute 'app'; expected module:attribute of a Sedano app, such as stall:stall\n")
    sys.modules.pop("stall")


def test_the_settings_outside_a_project_come_with_how_to_have_one(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = told(capsys, "config", code=Exit.DONE)
    assert f"{elsewhere} and the folders above have no pyproject.toml that names an app; write app = " in said
    assert "`sedano new NAME`" in said
    assert told(capsys, "config", *HERE, code=Exit.DONE) == ""


def test_the_choices_of_an_argument_are_listed_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    said = told(capsys, "completion", code=Exit.USAGE)
    assert "Missing argument 'SHELL'. Choose from: bash, zsh, fish (sedano completion --help lists the options)\n" in said


@pytest.mark.parametrize("given", ["memroy=1024", "timout=60", "conncurrency=5"])
def test_a_misspelt_setting_of_a_stage_is_refused_before_aws_is_asked(
    elsewhere: Path, capsys: pytest.CaptureFixture[str], given: str
) -> None:
    meant = {"memroy": "memory", "timout": "timeout", "conncurrency": "concurrency"}[given.partition("=")[0]]
    said = told(capsys, "deploy", *HERE, "--yes", "--set", given, code=Exit.USAGE)
    assert f"a stage has no setting {given.partition('=')[0]}; did you mean {meant}?" in said


@pytest.mark.parametrize("given", ["local=true", "memory=512", "fleet.image=x"])
def test_a_setting_that_a_stage_has_passes_to_the_deployment(elsewhere: Path, capsys: pytest.CaptureFixture[str], given: str) -> None:
    assert "no Region" in told(capsys, "deploy", *HERE, "--yes", "--set", given, code=Exit.FAILED)


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        (("limit", "gret", "--rate", "1/s"), "gret: the app has no task of this name; did you mean till.greet?"),
        (("limit", "xyz", "--rate", "1/s"), "xyz: the app has no task of this name; it has till.greet, till.tidy"),
        (("trigger", "nothing"), "nothing: the app has no schedule of this name; it has till.tidy"),
        (("pause", "gret"), "gret: the app has no queue, task, circuit or schedule of this name; did you mean till.greet?"),
        (("pause", "xyz"), "for a tenant or the id of a task add --kind tenant or --kind id"),
    ],
)
def test_a_name_that_the_app_does_not_have_is_answered_with_those_it_has(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], instead: str
) -> None:
    with testing.world(app):
        assert instead in told(capsys, *words, *HERE, "--yes", code=Exit.NOT_FOUND)


def test_a_wait_that_was_too_short_names_the_verb_that_explains(capsys: pytest.CaptureFixture[str]) -> None:
    with testing.world(app):
        said = told(capsys, "result", "nobody", "--wait", "--timeout", "1", *HERE, code=Exit.TIMEOUT)
    assert said.endswith("; `sedano explain nobody` shows why\n")


def test_only_a_whole_id_becomes_an_argument_of_the_verb() -> None:
    assert as_verbs("app.control.explain('a-1') shows why") == "`sedano explain a-1` shows why"
    for text in ("app.control.explain(result.id)", "app.control.explain('')", "app.control.explain('a b')"):
        assert as_verbs(text) == text
