"""`sedano discover`: what an app declares, and so what a deployment brings for it: queues, tasks, events.

    python -m sedano discover --app shop.tasks:app --code src
    python -m sedano discover --app shop.tasks:app --code src --json

The infrastructure reads it at synthesis. When the module does not import, its own traceback is shown, from its first line on.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import traceback
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

from sedano.app import load
from sedano.cli.desk import table
from sedano.errors import ConfigurationError
from sedano.views.discovered import Discovered, discovered

LIBRARY = Path(__file__).resolve().parent.parent


def main(arguments: Sequence[str]) -> int:
    """Show what the app declares; return the exit code."""
    parser = argparse.ArgumentParser(prog="sedano discover", description="show what an app declares")
    parser.add_argument("--app", required=True, help="module:attribute of the app")
    parser.add_argument("--code", type=Path, default=Path(), help="the directory that holds its modules; by default this one")
    parser.add_argument("--json", action="store_true", help="as one line of JSON")
    asked = parser.parse_args(arguments)
    found = find(asked.app, asked.code.resolve())
    print(as_json(found)) if asked.json else _show(found)
    return 0


def find(reference: str, code: Path) -> Discovered:
    """Return what the app *reference* declares, imported from *code*; whatever its module prints goes to stderr.

    Raises:
        ConfigurationError: it cannot be imported or is no app; the user's traceback was printed to stderr.
    """
    sys.path.insert(0, str(code))
    module = reference.partition(":")[0]
    with redirect_stdout(sys.stderr):
        try:
            importlib.import_module(module)
        except (Exception, SystemExit) as wrong:
            raise ConfigurationError(_refusal(module, code, wrong)) from wrong
        return discovered(load(reference))


def as_json(found: Discovered) -> str:
    """Return *found* as one line of JSON."""
    tasks = {name: task._asdict() for name, task in found.tasks.items()}
    return json.dumps({**found._asdict(), "tasks": tasks}, separators=(",", ":"))


def _refusal(module: str, code: Path, wrong: BaseException) -> str:
    """Say why *module* is not there; print the traceback when the error is the user's and not ours."""
    if isinstance(wrong, ModuleNotFoundError) and wrong.name and f"{module}.".startswith(f"{wrong.name}."):
        return f"app: {code} has no module {wrong.name}; name the app as module:attribute, below the directory that code names"
    told = traceback.TracebackException.from_exception(wrong)
    _forget_ours(told)
    print("".join(told.format()), file=sys.stderr)
    if isinstance(wrong, ModuleNotFoundError):
        return f"app: {module} needs the module {wrong.name}, which is neither in {code} nor among its pinned requirements; add it there"
    if isinstance(wrong, SystemExit):
        return f"app: importing {module} ends the process; keep what runs a program below `if __name__ == '__main__':`"
    return f"app: {module} cannot be imported: {type(wrong).__name__}: {wrong}; the traceback above shows where, correct it there"


def _forget_ours(told: traceback.TracebackException | None) -> None:
    """Leave only the user's frames in a traceback and in what caused it."""
    while told is not None:
        users = [frame for frame in told.stack if not _is_ours(frame.filename)]
        told.stack = traceback.StackSummary.from_list(users)
        told = told.__cause__ or told.__context__


def _is_ours(filename: str) -> bool:
    return filename.startswith("<frozen importlib") or filename == importlib.__file__ or Path(filename).is_relative_to(LIBRARY)


def _show(found: Discovered) -> None:
    print(f"{found.name}: queues {', '.join(found.queues)}\n")
    rows = [(name, task.queue, task.delivery, "kept" if task.keeps_result else "") for name, task in found.tasks.items()]
    table(("task", "queue", "delivery", "result"), rows)
    for event, tasks in found.subscriptions.items():
        print(f"\n{event}: {', '.join(tasks) or 'nobody subscribes'}")
    for schedule, task in found.schedules.items():
        print(f"\n{schedule}: {task} comes round")
