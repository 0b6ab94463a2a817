"""`sedano discover`: what an app declares, and so what a deployment brings for it: queues, tasks, events.

    python -m sedano discover --app shop.tasks:app --code src
    python -m sedano discover --app shop.tasks:app --code src --json

The infrastructure reads it at synthesis. A schedule whose moments are all over is no error, for the first deployment may have been before
them; it is said, because it may be a slip. When the module does not import, its own traceback is shown, from its first line on.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from sedano.api.connector import connector
from sedano.cli.console import app_of, table, takes_app
from sedano.cli.printer import say
from sedano.views.discovery import Discovered, discovered, over


def main(arguments: Sequence[str]) -> int:
    """Show what the app declares; return the exit code."""
    parser = argparse.ArgumentParser(prog="sedano discover", description="show what an app declares")
    takes_app(parser)
    parser.add_argument("--json", action="store_true", help="as one line of JSON")
    asked = parser.parse_args(arguments)
    app = app_of(asked)
    for schedule in over(app, time.time()):
        say(f"sedano: the schedule {schedule} comes no more: its last moment is over", err=True)
    found = discovered(app)
    if found.connect:
        connector(found.connect)  # here, and not in each function when it starts
    say(as_json(found, imported(asked.code))) if asked.json else _show(found)
    return 0


def as_json(found: Discovered, files: Sequence[str]) -> str:
    """Return *found* as one line of JSON, with the *files* that were imported."""
    tasks = {name: task._asdict() for name, task in found.tasks.items()}
    return json.dumps({**found._asdict(), "tasks": tasks, "files": files}, separators=(",", ":")).replace("\x7f", "\\u007f")


def imported(code: Path) -> list[str]:
    """Return the files below *code* that were imported: a deployment has to bring all of them."""
    places = [Path(place) for module in list(sys.modules.values()) if (place := getattr(module, "__file__", None))]
    return sorted(str(place) for place in places if place.is_relative_to(code.resolve()))


def _show(found: Discovered) -> None:
    say(f"{found.name}: queues {', '.join(found.queues)}", "")
    if found.connect:
        say(f"its ports come from {found.connect}", "")
    if found.worker:
        say("its workers: " + ", ".join(f"{name}={value:g}" for name, value in found.worker.items()), "")
    rows = [(name, task.queue, task.delivery, "kept" if task.keeps_result else "") for name, task in found.tasks.items()]
    table(("task", "queue", "delivery", "result"), rows)
    for event, tasks in found.subscriptions.items():
        say("", f"{event}: {', '.join(tasks) or 'nobody subscribes'}")
    for schedule, task in found.schedules.items():
        say("", f"{schedule}: {task} comes round")
    for webhook, signed in found.webhooks.items():
        say("", f"/{webhook}: a webhook, {'signed' if signed else 'open to anybody'}")
    for stream, standing in found.streams.items():
        told = ", ".join(f"{task} ({', '.join(operations)})" if operations else task for task, operations in standing.items())
        say("", f"stream {stream}: {told}")
