"""The program of `python -m sedano.local`: a stage on this machine until Ctrl-C."""

import argparse
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sedano.local.failure import LocalStageError
from sedano.local.stage import LocalStage, local_stage
from sedano.local.time_limits import LogTail, notices

DIRECTORY = Path("build") / "local"
DEPLOYED = {"timeout": "60"}
"""Settings that are smaller in a stage for tests; this stage has the values of a deployment."""
SECONDS_BETWEEN_LOOKS = 0.5
_OPTIONS = frozenset({"app", "code", "directory", "enforce_iam"})


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(prog="python -m sedano.local", description="Run a stage on this machine.")
    parser.add_argument("--app", required=True, help="the application, as module:attribute")
    parser.add_argument("--code", required=True, type=Path, help="the directory that holds its modules")
    parser.add_argument("--directory", default=DIRECTORY, type=Path, help="for the log and the templates")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the stage, such as timeout=300")
    return parser.parse_args(given)


def settings(given: Sequence[str]) -> dict[str, Any]:
    """Return the settings of the stage: those of a deployment, replaced by the *given* ones."""
    read: dict[str, Any] = dict(DEPLOYED)
    for text in given:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise LocalStageError(f"--set {text}: write NAME=VALUE, such as --set timeout=300")
        if name in _OPTIONS:
            raise LocalStageError(f"--set {text}: this is not a setting of a stage; see --help for the options")
        read[name] = value
    return read


def announce(stage: LocalStage, seconds: float) -> None:
    """Print the place of the stage: sentences on stderr, and on stdout lines that a shell can evaluate."""
    sys.stderr.write(f"{', '.join(stage.stacks)} created on {stage.endpoint.url} in {seconds:.0f} s.\n")
    sys.stderr.write(f"Its log is {stage.endpoint.log}. To let your program use it, run in another shell either these lines,\n")
    sys.stderr.write(f"or read the same lines from a file that only you can read:  . {shlex.quote(str(stage.file))}\n\n")
    sys.stdout.write(stage.exports)
    sys.stdout.flush()
    sys.stderr.write("\nCtrl-C stops it and deletes its state.\n")


def watch(stage: LocalStage) -> int:
    """Print a notice when a function is ended at its time limit; return the endpoint's exit status if it ends unexpectedly."""
    tail = LogTail(stage.endpoint.log)
    status = None
    while status is None:
        status = stage.endpoint.wait(SECONDS_BETWEEN_LOOKS)
        for notice in notices(tail.lines()):
            sys.stderr.write(f"sedano: {notice}\n")
    return status


def run(given: Sequence[str] | None = None) -> int:
    """Run the stage until Ctrl-C, or until its endpoint ends."""
    options = arguments(given)
    started = time.monotonic()
    try:
        context = settings(options.set)
        sys.stderr.write("Starting an AWS endpoint on this machine and creating the stacks on it ...\n")
        with local_stage(app=options.app, code=options.code, directory=options.directory, **context) as stage:
            announce(stage, time.monotonic() - started)
            status = watch(stage)
            raise LocalStageError(f"the endpoint ended with status {status}:\n{stage.endpoint.last_lines()}")
    except LocalStageError as error:
        sys.stderr.write(f"sedano: {error}\n")
        return 1
