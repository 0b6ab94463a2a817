"""`python -m sedano.local`: what it reads, what it says, and how it ends when it is interrupted while it loads."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from infra.config import VISIBILITY_FACTOR as OF_THE_STACKS
from infra.config import StageConfig
from sedano.local import LocalStageError
from sedano.local.command import DEPLOYED, arguments, settings
from sedano.local.synthesis import ROOT
from sedano.local.time_limits import VISIBILITY_FACTOR, LogTail, notices

INTERRUPTED_AT = """
import os, runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
wanted, detail, program, *words = sys.argv[1:]
def interrupt(event, details):
    if event == wanted and detail in ("", details[0]):
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(interrupt)
sys.argv[1:] = words
run = runpy.run_path if program.endswith(".py") else runpy.run_module
run(program, run_name="__main__")
"""
"""Runs a program, and interrupts it as Ctrl-C does at an exact point: an event that Python tells auditors of."""


def interrupted(event: str, detail: str, program: str, *words: str) -> tuple[int, str, str]:
    """The exit status and the words of a program that was interrupted there."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "layers" / "sedano" / "python")}
    command = [sys.executable, "-c", INTERRUPTED_AT, event, detail, program, *words]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("module", ["sedano.local.command", "argparse", "boto3", "botocore.session", "sedano.local.synthesis"])
def test_ctrl_c_while_the_command_is_loaded_prints_no_traceback(module: str) -> None:
    assert interrupted("import", module, "sedano.local", "--app", "none:app", "--code", ".") == (0, "", "\nStopped.\n")


@pytest.mark.parametrize(
    ("event", "program", "words"),
    [("os.exec", "toolchain.py", ("run", "true")), ("fcntl.flock", "install.py", ("dev",))],
)
def test_ctrl_c_before_the_command_begins_prints_no_traceback(event: str, program: str, words: tuple[str, ...]) -> None:
    """`make local` sees to the environments and looks for Java and Node first."""
    assert interrupted(event, "", str(ROOT / "requirements" / program), *words) == (130, "", "")


def test_its_time_limit_is_the_one_that_is_deployed() -> None:
    asked = arguments(["--app", "shop:app", "--code", "."])
    assert settings(asked.set) == DEPLOYED == {"timeout": str(StageConfig().timeout)}
    assert settings(["timeout=300", "tags=a=b"]) == {"timeout": "300", "tags": "a=b"}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [("timeout", "write NAME=VALUE, such as --set timeout=300"), ("=300", "write NAME=VALUE"), ("app=x:y", "see --help for the options")],
)
def test_what_is_no_setting_is_refused(wrong: str, says: str) -> None:
    with pytest.raises(LocalStageError, match=says):
        settings([wrong])


def test_a_function_that_is_ended_at_its_time_limit_is_announced_once(tmp_path: Path) -> None:
    log = tmp_path / "endpoint.log"
    line = "2026-11-22 21:00:00 WARNING [lambda_runtime] Lambda sedano-dev-core-Worker-1 timed out after 60s — killing worker\n"
    log.write_text(line)
    tail = LogTail(log)
    assert tail.lines() == [], "of an earlier run"
    with log.open("a") as file:
        file.write(f"another line\n{line}{line[:40]}")
    (notice,) = notices(tail.lines())
    assert notice.startswith("sedano-dev-core-Worker-1 was ended at its time limit of 60 s")
    assert "run again within 360 s" in notice
    assert notice.endswith("--set timeout=120.")
    with log.open("a") as file:
        file.write(line[40:])
    assert len(list(notices(tail.lines()))) == 1
    assert VISIBILITY_FACTOR == OF_THE_STACKS


def test_make_local_without_an_app_says_what_to_write(tmp_path: Path) -> None:
    clean = {name: value for name, value in os.environ.items() if name not in ("APP", "CODE", "MAKEFLAGS", "MFLAGS")}
    for words in ([], ["APP=shop:app"], ["CODE=."]):
        done = subprocess.run(["make", "-s", "local", *words], cwd=ROOT, env=clean, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert "make local APP=shop.tasks:app CODE=./shop" in done.stderr
        assert done.stdout == ""
