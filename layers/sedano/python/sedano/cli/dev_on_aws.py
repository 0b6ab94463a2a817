"""`sedano dev --aws`: from the settings of the project to a stage on an AWS endpoint of this machine."""

from __future__ import annotations

from pathlib import Path

from sedano.cli.printer import say_text
from sedano.cli.settings import Settings
from sedano.deploy.context import context
from sedano.deploy.steps import own_folder
from sedano.dev.settings import TIMEOUT_S
from sedano.local.project_stage import LocalSettings
from sedano.local.project_stage import run as run_stage

FOLDER = "aws"


def run(found: Settings, code: Path, timeout: int | None, as_json: bool) -> int:
    """Run until a signal; the time limit of a batch is *timeout*, else the setting of the stage, else that of a deployed stage.

    Raises:
        SedanoError: the stage cannot be made or run; the message says what to do.
    """
    given = {} if timeout is None else {"timeout": str(timeout)}
    values = {name: one.value for name, one in found.values.items()}
    asked = {"timeout": str(TIMEOUT_S), **context(values, found.app, code, found.folder, given)}
    run_stage(LocalSettings(asked, own_folder(found.folder.resolve()) / FOLDER, as_json), _say)
    return 0


def _say(line: str) -> None:
    say_text(f"sedano dev: {line}", err=True)
