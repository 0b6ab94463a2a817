"""`sedano dev --aws`: the stacks of a project on a local AWS endpoint, from the installed package or from a clone.

The endpoint, ministack, gets its own environment from the pins in the package, as the CDK does (`sedano.deploy.pinned_environment`).
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from sedano.deploy.cdk_environment import constructs, toolset
from sedano.deploy.pinned_environment import Pinned, python_of
from sedano.deploy.synthesis import synthesise
from sedano.errors import UsageError
from sedano.local.command import watch
from sedano.local.failure import LocalStageError
from sedano.local.stage import ENDPOINT_PYTHON, LocalStage, Parts, local_stage

#: The variable that names a Python with ministack, for machines that create their environments in another way.
OWN = "SEDANO_MINISTACK_PYTHON"
MINISTACK = Pinned("ministack", "the local AWS endpoint, once", f"name a Python with ministack in {OWN}")
PINS = "ministack.txt"
ELSEWHERE = frozenset({"account", "region", "app", "code"})
"""The settings for the place of a deployment, and the settings that are arguments of `local_stage`."""

Say = Callable[[str], None]


class LocalSettings(NamedTuple):
    """A requested stage: the settings of its deployment, the *folder* for its log and files, and whether to print JSON."""

    context: Mapping[str, str]
    folder: Path
    as_json: bool


def run(wanted: LocalSettings, say: Say) -> None:
    """Run the stage until Ctrl-C, which raises KeyboardInterrupt after the stage has stopped, or until SIGTERM.

    Raises:
        UsageError: a setting or the code cannot be deployed.
        DeployError: an environment cannot be created, or the synthesis failed.
        LocalStageError: the stage cannot be created, or its endpoint ended.
    """
    began = time.monotonic()
    context = wanted.context
    parts = parts_here(say)
    say("starting an AWS endpoint on this machine and creating the stacks on it")
    more: dict[str, Any] = {name: text for name, text in context.items() if name not in ELSEWHERE}
    with (
        ends_with_sigterm(),
        local_stage(app=context["app"], code=Path(context["code"]), directory=wanted.folder, parts=parts, **more) as stage,
    ):
        announce(stage, time.monotonic() - began, wanted, say)
        status = watch(stage)
        raise LocalStageError(f"the endpoint ended with status {status}:\n{stage.endpoint.last_lines()}")


def announce(stage: LocalStage, seconds: float, wanted: LocalSettings, say: Say) -> None:
    """Print the place of the stage, and how programs find it."""
    say(f"ready in {seconds:.0f} s: {', '.join(stage.stacks)} on {stage.endpoint.url}; the log is {stage.endpoint.log}")
    say(f"programs and verbs in another terminal use it after:  . {shlex.quote(str(stage.file))}")
    say("Ctrl-C stops it and deletes its state")
    if wanted.as_json:
        report = {"pid": os.getpid(), "endpoint": stage.endpoint.url, "stacks": list(stage.stacks), "environment": str(stage.file)}
        sys.stdout.write(json.dumps(report) + "\n")
        sys.stdout.flush()


def parts_here(say: Say, environment: Mapping[str, str] = os.environ) -> Parts:
    """Return the parts with which a stage is made; create an environment that is missing.

    Raises:
        DeployError: it cannot be created.
        UsageError: a variable names a Python that is missing.
    """
    found = constructs()
    tools = toolset(found, say, environment)
    python = endpoint_python(found.pins.with_name(PINS), say, environment)
    return Parts(python, lambda context, directory: synthesise(context, directory, found, tools, say))


def endpoint_python(pins: Path, say: Say, environment: Mapping[str, str] = os.environ, clone: Path = ENDPOINT_PYTHON) -> Path:
    """Return the Python for the endpoint: the one that the variable names, that of the *clone*, or that of a new environment of *pins*.

    Raises:
        UsageError: the named Python is missing.
        DeployError: the environment cannot be created.
    """
    if named := environment.get(OWN):
        if not Path(named).is_file():
            raise UsageError(f"{OWN} names {named}, which is missing; name a Python with ministack, or unset the variable")
        return Path(named)
    return clone if clone.is_file() else python_of(MINISTACK, pins, say, environment)


@contextmanager
def ends_with_sigterm() -> Iterator[None]:
    """Let SIGTERM end the block with exit code 0, so that the programs that it started are stopped."""
    before = signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)
