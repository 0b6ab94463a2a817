"""Prints the cost of a stage by its templates, or of tasks by the event history: the work of `sedano cost`."""

from __future__ import annotations

from pathlib import Path

from sedano.app import Sedano
from sedano.cli import history_job
from sedano.cli.exits import Exit
from sedano.cli.printer import say, say_text
from sedano.cli.read_progress import reported
from sedano.cli.stage_stacks import StageOptions
from sedano.cli.tables import Seconds, document, listing
from sedano.deploy.cdk_environment import constructs, toolset
from sedano.deploy.context import context
from sedano.deploy.cost import cost
from sedano.deploy.steps import assembly_folder
from sedano.deploy.synthesis import synthesise
from sedano.model.history.task_costs import TaskCost
from sedano.model.spending import dollars
from sedano.views.costs import costs
from sedano.views.plain import plain
from sedano.views.spending import SpendingRow
from sedano.views.terminal_screen import price

MEASURED = "SELECT name, queue, tenant, basis, tasks, attempts, dollars_per_million FROM cost ORDER BY nanodollars DESC, name, queue"
"""The query of the history: the most expensive tasks first."""


def of_stage(asked: StageOptions, assembly: Path | None) -> Exit:
    """Print the cost of the stages in *assembly*; without one make the templates of the project's stage first."""
    say_text(cost(assembly or _made(asked), constructs(), as_json=asked.is_json))
    return Exit.DONE


def of_history(place: str, *, as_json: bool) -> int:
    """Print the cost of each task in the history at *place*; return the exit code of the job."""
    return history_job.work(["query", MEASURED, "--target", place, *(["--json"] if as_json else [])])


def of_tasks(app: Sedano, days: int, *, as_json: bool) -> int:
    """Print the cost of each task in the event history of the last *days*, the most expensive first."""
    view = costs(app, days, lambda objects: reported(objects, "cost", app.outlet.ports.clock.monotonic, _note))
    if as_json:
        facts = {"canvases": plain(view.canvases), "workers": plain(view.workers), "since": view.since, "limits": plain(view.limits)}
        document("cost", [_item(one) for one in view.tasks], **facts)
    else:
        rows = [
            (
                one.name, one.queue, one.tenant, one.basis, one.tasks, one.attempts, Seconds(one.run_micros / 1e6),
                f"{one.nanodollars / 1e9:.6f}", "" if one.dollars_a_million is None else f"{one.dollars_a_million:.2f}",
            )
            for one in view.tasks
        ]  # fmt: skip
        listing(("TASK", "QUEUE", "TENANT", "BASIS", "TASKS", "ATTEMPTS", "RAN", "DOLLARS", "A MILLION"), rows)
    for limit in view.limits:
        say(f"sedano cost: {_sentence(limit)}", err=True)
    since = f"${view.nanodollars / 1e9:,.6f} since {view.since} by list prices"
    unreadable = f"; {view.unreadable} lines cannot be read" if view.unreadable else ""
    say(f"sedano cost: {since}; {price(view.about)}{unreadable}", err=True)
    return Exit.DONE


def _sentence(one: SpendingRow) -> str:
    """Return a spending limit and the amount of the current day as a sentence."""
    whose = f"the tenant {one.tenant}" if one.tenant else "the app"
    if one.spent is None:
        return f"{whose} may spend {dollars(one.limit)} a UTC day; this stage does not count it: deploy it again"
    paused = "; its tasks are paused until the end of the day" if one.paused else ""
    return f"{whose} has spent {dollars(one.spent)} of {dollars(one.limit)} in this UTC day ({one.percent} %){paused}"


def _item(one: TaskCost) -> dict[str, object]:
    return {**one._asdict(), "dollars_a_million": one.dollars_a_million}


def _made(asked: StageOptions) -> Path:
    settings = asked.settings
    values = {name: one.value for name, one in settings.values.items()}
    stage = context(values, settings.app, settings.code, settings.folder, asked.given)
    folder, found = assembly_folder(settings.folder, settings.stage), constructs()
    synthesise(stage, folder, found, toolset(found, _note), _note)
    return folder


def _note(*lines: str) -> None:
    say(*lines, err=True)
