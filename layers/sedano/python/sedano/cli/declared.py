"""Prints what an app declares and a deployment creates for it: queues, tasks, events. `sedano discover` calls it.

    python -m sedano.cli.declared --app shop.tasks:app --code src

The infrastructure runs this at synthesis, with the packages that the functions will have, so without click. A schedule whose moments have
all passed is not an error, because an earlier deployment may have run them; a warning is printed, because it may be a mistake. If the
module cannot be imported, its own traceback is shown, from its first line on.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from sedano.api.connector import connector
from sedano.app import Sedano
from sedano.cli.console import app_of
from sedano.cli.exits import Exit, exit_of
from sedano.cli.printer import say, say_text, table
from sedano.errors import SedanoError
from sedano.views.discovery import Discovered, discovered, over


def main(arguments: Sequence[str]) -> int:
    """Print what the app declares as one line of JSON; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m sedano.cli.declared", description="print what an app declares as one line of JSON")
    parser.add_argument("--app", required=True, help="module:attribute of the app")
    parser.add_argument("--code", type=Path, default=Path(), metavar="DIR", help="directory of its modules; default: this directory")
    asked = parser.parse_args(arguments)
    try:
        tell(app_of(asked.app, asked.code), asked.code, is_json=True)
    except SedanoError as error:
        say_text(f"sedano discover: {error}", err=True)
        return exit_of(error)
    return Exit.DONE


def tell(app: Sedano, code: Path, is_json: bool) -> None:
    """Print what *app* declares, with the files below *code* that it imported; warn about schedules that never run again."""
    for schedule in over(app, time.time()):
        say(f"sedano: the schedule {schedule} never runs again: its last moment is over", err=True)
    found = discovered(app)
    if found.connect:
        connector(found.connect)  # here, and not in each function when it starts
    say(as_json(found, imported(code))) if is_json else _show(found)


def as_json(found: Discovered, files: Sequence[str]) -> str:
    """Return *found* as one line of JSON, with the *files* that were imported."""
    tasks = {name: task._asdict() for name, task in found.tasks.items()}
    return json.dumps({**found._asdict(), "tasks": tasks, "files": files}, separators=(",", ":")).replace("\x7f", "\\u007f")


def imported(code: Path) -> list[str]:
    """Return the files below *code* that were imported: a deployment must contain all of them."""
    places = [Path(place) for module in list(sys.modules.values()) if (place := getattr(module, "__file__", None))]
    return sorted(str(place) for place in places if place.is_relative_to(code.resolve()))


def _show(found: Discovered) -> None:
    say(f"{found.name}: queues {', '.join(found.queues)}", "")
    if found.connect:
        say(f"its ports come from {found.connect}", "")
    if found.worker:
        say("its workers: " + ", ".join(f"{name}={value:g}" for name, value in found.worker.items()), "")
    if found.layers:
        say(f"its configuration: {', '.join(found.layers)}", "")
    rows = [(name, task.queue, task.delivery, "kept" if task.keeps_result else "") for name, task in found.tasks.items()]
    table(("task", "queue", "delivery", "result"), rows)
    for event, tasks in found.subscriptions.items():
        say("", f"{event}: {', '.join(tasks) or 'no subscribers'}")
    for schedule, task in found.schedules.items():
        say("", f"{schedule}: {task} runs periodically")
    for line in _outside(found):
        say("", line)


def _outside(found: Discovered) -> Iterator[str]:
    """Yield a line for each connection to another system."""
    for webhook, signed in found.webhooks.items():
        yield f"/{webhook}: a webhook, {'signed' if signed else 'unsigned'}"
    for stream, tasks in found.streams.items():
        readers = ", ".join(f"{task} ({', '.join(operations)})" if operations else task for task, operations in tasks.items())
        form = f" (reads {found.formats[stream]})" if stream in found.formats else ""
        yield f"stream {stream}{form}: {readers}"
    for poll in found.polls:
        yield f"poll {poll}: the task poll.{poll} reads its source"
    for sink in found.sinks:
        yield f"sink {sink}: receives documents"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
