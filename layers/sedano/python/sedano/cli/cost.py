"""Prints the cost of a stage by its templates, or that of tasks by the event history, for `sedano cost`."""

from __future__ import annotations

from pathlib import Path

from sedano.cli import history
from sedano.cli.deploy import StageOptions
from sedano.cli.exits import Exit
from sedano.cli.printer import say, say_text
from sedano.deploy.cdk_environment import constructs, toolset
from sedano.deploy.context import context
from sedano.deploy.cost import cost
from sedano.deploy.steps import assembly_folder
from sedano.deploy.synthesis import synthesise

MEASURED = "SELECT name, queue, tenant, basis, tasks, attempts, dollars_per_million FROM cost ORDER BY nanodollars DESC, name, queue"
"""The question to the history: the dearest tasks first."""


def of_stage(asked: StageOptions, assembly: Path | None) -> Exit:
    """Print the cost of the stages in *assembly*; without one make the templates of the project's stage first."""
    say_text(cost(assembly or _made(asked), constructs(), as_json=asked.is_json))
    return Exit.DONE


def of_history(place: str, *, as_json: bool) -> int:
    """Print the cost of each task in the history at *place*; return the exit code of the job."""
    return history.work(["query", MEASURED, "--target", place, *(["--json"] if as_json else [])])


def _made(asked: StageOptions) -> Path:
    settings = asked.settings
    values = {name: one.value for name, one in settings.values.items()}
    stage = context(values, settings.app, settings.code, settings.folder, asked.given)
    folder, found = assembly_folder(settings.folder, settings.stage), constructs()
    synthesise(stage, folder, found, toolset(found, _note), _note)
    return folder


def _note(*lines: str) -> None:
    say(*lines, err=True)
