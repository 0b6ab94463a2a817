"""The command line as a stranger meets it: what is asked wrongly, interrupted, piped away, or about an app that is not there."""

import json
import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import sedano
from sedano import cli, testing
from sedano.cli import main
from sedano.cli.verb_table import VERBS
from sedano.model.messages.timestamps import shown
from sedano.workflow import find
from tests.ctrl_c import HEARS_CTRL_C
from tests.stories import bakery

ROOT = Path(__file__).parents[2]
APP = ("--app", "tests.stories.bakery:app")
# Ctrl-C ends it, or, if none arrives, its own limit of time, so that nothing is left running: no test waits for that.
WAITS = """
import sys, time
print("imported", file=sys.stderr, flush=True)
time.sleep(600)
"""


def begun(*arguments: str, cwd: Path = ROOT, through: Sequence[str] = ()) -> subprocess.Popen[str]:
    """A command in a process of its own, begun *through* another one."""
    command = [*through, sys.executable, "-m", "sedano", *arguments]
    variables = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PATH": os.environ["PATH"]}
    return subprocess.Popen(command, env=variables, cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.fixture
def code(tmp_path: Path) -> Iterator[Path]:
    """A directory for modules, which this process forgets again."""
    before = sys.path[:]
    yield tmp_path
    sys.path[:] = before


@pytest.mark.parametrize("asked", ["--help", "-h", "help"])
def test_help_names_every_verb_on_stdout(asked: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([asked]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert all(f"\n  {verb} " in said.out for verb in VERBS)


def test_the_version_is_told_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr() == (f"sedano {sedano.__version__}\n", "")


def test_an_unknown_verb_is_named_with_the_one_that_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clustr"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.endswith("sedano: 'clustr' is not a verb; did you mean cluster? (sedano --help lists the verbs)\n")


def test_the_wheel_brings_the_command_of_which_messages_speak() -> None:
    module, _, function = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["sedano"].partition(":")
    assert (module, getattr(cli, function)) == ("sedano.cli", cli.command)


@pytest.mark.parametrize("verb", list(VERBS))
def test_every_verb_has_a_help_of_its_own(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    assert f"Usage: sedano {verb} " in capsys.readouterr().out


def test_a_person_is_told_the_evidence_in_seconds_of_the_day_and_nothing_that_is_empty(capsys: pytest.CaptureFixture[str]) -> None:
    with testing.world(bakery.app) as world:
        baked = bakery.bake.delay(7)
        world.drain()
        assert main(["explain", *APP, baked.id]) == 0
        told = capsys.readouterr().out.splitlines()
        assert main(["explain", *APP, baked.id, "--json"]) == 0
        evidence = json.loads(capsys.readouterr().out)["evidence"]
    assert told[0] == f"{baked.id} is SUCCESS: it ended as SUCCESS at 2026-01-01 00:00:00Z"
    assert f"  expires: {shown(evidence['expires'])}" in told
    assert (evidence["not_before"], [line for line in told if "not_before" in line]) == (0.0, [])
    assert "  attempt: 0" in told


def test_who_reads_only_the_beginning_meets_no_traceback() -> None:
    told = begun("discover", *APP)
    assert told.stdout is not None
    assert told.stderr is not None
    told.stdout.close()  # as `| head` does, and before anything is written
    assert (told.stderr.read(), told.wait()) == ("", 141)
    told.stderr.close()


def test_who_has_closed_its_output_meets_no_traceback() -> None:
    told = begun("discover", *APP, through=("sh", "-c", 'exec "$@" >&-', "sh"))
    assert (told.communicate()[1], told.returncode) == ("", 0)


def test_who_interrupts_meets_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(WAITS)
    told = begun("discover", "--app", "slow:app", cwd=tmp_path, through=HEARS_CTRL_C)
    assert told.stderr is not None
    assert told.stderr.readline() == "imported\n"
    told.send_signal(signal.SIGINT)
    assert (told.communicate()[1], told.returncode) == ("sedano discover: interrupted\n", 130)


@pytest.mark.parametrize(
    "arguments",
    [
        (*APP, "workflow", "list"), ("--app=tests.stories.bakery:app", "workflow", "list"), (*APP, "--code", ".", "workflow", "list"),
        ("--code=.", "workflow", *APP, "list"), ("workflow", "list", *APP),
    ],
)  # fmt: skip
def test_the_app_may_be_named_before_the_verb(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with testing.world(bakery.app):
        assert main(arguments) == 0
    assert capsys.readouterr().err == "there are no runs\n"


@pytest.mark.parametrize("arguments", [APP, ("--app",), ("--app=x:y", "--code")])
def test_an_app_without_a_verb_is_asked_wrongly(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert "Usage: sedano [OPTIONS] VERB" in capsys.readouterr().err


@pytest.mark.parametrize("place", [("--app", "shop:app", "list"), ("list", "--app", "shop:app")])
def test_the_app_is_named_before_or_after_the_verb(place: tuple[str, ...], code: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["workflow", "--code", str(code), *place]) == 2
    assert capsys.readouterr().err.startswith(f"sedano workflow: app: {code.resolve()} has no module shop; name the app as module:")


@pytest.mark.parametrize("verb", [["cluster"], ["discover"], ["explain", "t"], ["keys", "list"], ["parked", "list"], ["workflow", "list"]])
def test_an_app_with_a_fault_shows_its_own_traceback_and_one_sentence(
    verb: list[str], code: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (code / "faulty.py").write_text("print('hello')\nprice = 1 / 0\n")
    assert main([*verb, "--app", "faulty:app", "--code", str(code)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "hello\n" in said.err
    assert said.err.endswith(
        f"ZeroDivisionError: division by zero\n\nsedano {verb[0]}: app: faulty cannot be imported: ZeroDivisionError: division by zero; "
        "the traceback above shows where, correct it there\n"
    )
    assert str(sedano.cli.__file__) not in said.err


def test_a_directory_that_is_not_there_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["discover", *APP, "--code", str(tmp_path / "nowhere")]) == 2
    assert f"sedano discover: --code: {(tmp_path / 'nowhere').resolve()} is not a directory; give the one that" in capsys.readouterr().err


@pytest.mark.parametrize("verb", [["cluster"], ["discover"], ["explain", "t"], ["parked", "list"], ["spool", "send"], ["workflow", "list"]])
@pytest.mark.parametrize(
    ("app", "said"),
    [
        ((), "which app? give --app module:attribute, or set SEDANO_APP"),
        (("--app", "tests.stories.bakery:oven"), "module 'tests.stories.bakery' has no attribute 'oven'; expected module:attribute of a"),
        (("--app", "tests.stories.bakery:BREAD"), "app 'tests.stories.bakery:BREAD' (SEDANO_APP) is a str, not a Sedano app"),
    ],
)
def test_every_verb_exits_with_2_when_no_app_is_named(
    verb: list[str], app: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "SEDANO_APP" not in os.environ
    assert main([*verb, *app]) == 2
    assert said in capsys.readouterr().err


def test_a_schedule_whose_moments_are_over_is_said_and_is_no_error(code: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code / "calendar_of.py").write_text(
        "from datetime import UTC, datetime\nfrom sedano import Sedano, at, every\n\napp = Sedano('shop')\n\n"
        "@app.periodic(at(datetime(2001, 1, 1, tzinfo=UTC)))\ndef opened(): ...\n\n"
        "@app.periodic(at(datetime(2001, 1, 1, tzinfo=UTC), datetime(9001, 1, 1, tzinfo=UTC)))\ndef closed(): ...\n\n"
        "@app.periodic(every(60))\ndef counted(): ...\n"
    )
    assert main(["discover", "--app", "calendar_of:app", "--code", str(code), "--json"]) == 0
    said = capsys.readouterr()
    assert said.err == "sedano: the schedule calendar_of.opened never runs again: its last moment is over\n"
    assert list(json.loads(said.out)["schedules"]) == ["calendar_of.closed", "calendar_of.counted", "calendar_of.opened"]


@pytest.mark.parametrize(("given", "read"), [("text=7", "7"), ('text="7"', "7"), ("text=tea", "tea"), ("text=null", "null")])
def test_a_text_input_of_a_workflow_is_taken_as_it_is_written(given: str, read: str, capsys: pytest.CaptureFixture[str]) -> None:
    with testing.world(bakery.app) as world:
        assert main(["workflow", *APP, "start", "tests.stories.bakery:Label", given]) == 0
        run = capsys.readouterr().out.strip()
        world.drain()
        assert find(bakery.app, run).get() == {"written": read}


@pytest.mark.parametrize("place", [("--debug", "discover"), ("discover", "--debug"), ("workflow", "list", "--debug")])
def test_a_traceback_is_shown_for_debug_alone(place: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    wrong = ("--app", "tests.stories.bakery:BREAD")
    found = []
    for asked in (place, [word for word in place if word != "--debug"]):
        assert main([*asked, *wrong]) == 2
        found.append("Traceback (most recent call last)" in capsys.readouterr().err)
    assert found == [True, False]


def test_an_internal_error_is_one_line_that_no_terminal_acts_on(code: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code / "odd.py").write_text(
        "from sedano import Sedano\n\nclass Odd(Sedano):\n    @property\n    def control(self):\n        raise RuntimeError('\\x1b[2J')\n\n"
        "app = Odd('odd')\n"
    )
    assert main(["explain", "t", "--app", "odd:app", "--code", str(code)]) == 1
    assert capsys.readouterr().err == "sedano explain: internal error: RuntimeError: \\x1b[2J; add --debug to see where\n"
