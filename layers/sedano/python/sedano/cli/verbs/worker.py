"""`sedano worker`: run an app's tasks in a process of your own.

sedano worker
sedano worker shop.tasks:app -Q default,mail -c 16 --drain 25
sedano worker --file .sedano/dev.db
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sedano.cli.options import as_json, chosen, of_app, the_app
from sedano.errors import UsageError

if TYPE_CHECKING:
    from sedano.host.worker_command import WorkerOptions

CONCURRENCY, DRAIN_S, TIMEOUT_S, VISIBILITY_S, PROCESSES, SILENT_S = 10, 25.0, 3_600, 30, 1, 30.0
SHARED = ("app", "code", "stage", "region", "profile")
MOST_PROCESSES, MOST_LANES, LEAST_VISIBILITY_S, MOST_VISIBILITY_S, LONGEST_S = 256, 1_000, 6, 43_000, 39_600
LEAST_SILENT_S = 3.0
"""A process shows each second that it lives: less than this would replace busy ones."""
HELP = """Run the tasks of this app in a process of your own, until SIGTERM or Ctrl-C.

It receives from the queues of a stage on AWS, or works on the SQLite file of a project. The same engine runs as in Lambda, and a body may
take 11 hours. The first signal lets bodies end and gives the other messages back; the second one ends the process at once."""


@click.command(help=HELP)
@click.argument("reference", required=False, metavar="[APP]")
@of_app
@click.option("-Q", "--queues", default="", metavar="NAMES", help="Queues, with commas between them; default: all of the app.")
@click.option("-c", "--concurrency", type=click.IntRange(1, MOST_LANES), default=CONCURRENCY, show_default=True, help="Bodies at once.")
@click.option("--drain", type=click.FloatRange(0), default=DRAIN_S, show_default=True, metavar="S", help="Seconds to end after a signal.")
@click.option(
    "--timeout", type=click.IntRange(2, LONGEST_S), default=TIMEOUT_S, show_default=True, metavar="S", help="Seconds that a body may take."
)  # fmt: skip
@click.option(
    "--visibility", type=click.IntRange(LEAST_VISIBILITY_S, MOST_VISIBILITY_S), default=VISIBILITY_S, show_default=True, metavar="S",
    help="Seconds after which the tasks of a killed process run elsewhere.",
)  # fmt: skip
@click.option("--file", type=click.Path(dir_okay=False, path_type=Path), help="SQLite file of a project; default: SEDANO_FILE, else AWS.")
@click.option("--processes", type=click.IntRange(1, MOST_PROCESSES), default=PROCESSES, show_default=True, metavar="N", help="Processes.")
@click.option("--max-tasks", type=click.IntRange(1), metavar="N", help="Replace a process after about so many tasks.")
@click.option("--max-memory", type=click.IntRange(1), metavar="MIB", help="Replace a process that uses more memory.")
@click.option(
    "--watchdog", type=click.FloatRange(LEAST_SILENT_S), default=SILENT_S, show_default=True, metavar="S",
    help="With --processes: seconds after which one that hangs is replaced.",
)  # fmt: skip
@click.option(
    "--health", envvar="SEDANO_HEALTH", default="", metavar="[HOST:]PORT", help="Answer /live and /ready there; default: nowhere."
)  # fmt: skip
@click.option("--log", type=click.Choice(["lines", "json"]), help="How to log; default: SEDANO_LOGS, else what suits the output.")
@as_json
def command(
    reference: str | None, queues: str, concurrency: int, drain: float, timeout: int, visibility: int, file: Path | None,
    processes: int, max_tasks: int | None, max_memory: int | None, watchdog: float, health: str, log: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Run until a signal ends it."""
    from sedano.host.worker_command import WorkerOptions, run, supervise

    if reference:
        if chosen("app"):
            raise UsageError("the app is named twice; leave out --app")
        click.get_current_context().meta["sedano.app"] = reference
    names = tuple(name.strip() for name in queues.split(",") if name.strip())
    found = os.environ.get("SEDANO_FILE")
    options = WorkerOptions(
        queues=names, concurrency=concurrency, drain=drain, timeout=timeout, visibility=visibility,
        file=file or (Path(found) if found else None), most_tasks=max_tasks or 0, most_memory=max_memory or 0,
    )  # fmt: skip
    form = _form(log, as_json=as_json)
    if processes > 1:
        from sedano.host.worker_supervisor import Fleet

        words = [*_words(options), *([f"--log={form}"] if form else []), "--health="]
        return supervise(words, Fleet(processes, drain, watchdog), health, form if form != "lines" else "")
    app, options = the_app(), options._replace(health=health, logs=form)
    if form == "lines":
        from sedano.cli.worker_lines import in_lines

        options = in_lines(options)
    return run(app, options)


def _form(log: str | None, *, as_json: bool) -> str:
    """Return the form of the log: `lines`, `json`, or "" for the adapter that the environment names or that suits the output."""
    if as_json and log == "lines":
        raise UsageError("--json and --log lines exclude each other; give one of them")
    return "json" if as_json else log or ("lines" if sys.stderr.isatty() and not os.environ.get("SEDANO_LOGS") else "")


def _words(options: WorkerOptions) -> list[str]:
    """Return the words of a command that runs one process with *options*, and with the shared options of this command."""
    own = {
        **{name: chosen(name) for name in SHARED}, "queues": ",".join(options.queues), "concurrency": options.concurrency,
        "drain": options.drain, "timeout": int(options.timeout), "visibility": options.visibility, "file": options.file,
        "max-tasks": options.most_tasks, "max-memory": options.most_memory,
    }  # fmt: skip
    return [f"--{name}={value}" for name, value in own.items() if value not in (None, "") and (value or name == "drain")]
