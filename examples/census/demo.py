"""The census, run on this machine: `make demo`, or `python -m examples.census.demo --sources DIR --files N`.

It synthesises the stacks, creates them on a local AWS endpoint, publishes one chord over the files, and causes faults while it
runs (`chaos`). Meanwhile a periodic task runs, calls are limited to a rate, and an archive fails and is repaired (`flow`). Then the demo
checks with independent sources that each task had exactly one effect (`checks`, `flow_checks`), runs the Spark job over the event
history, and writes `build/demo/summary.json` and `build/demo/report.html`. It prints each fault in words and ends with status 1 if there
is one. Every process that it started is stopped, also on Ctrl-C. With `--keep` the stage stays up behind the pages of `sedano web` until
Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from examples.census import tasks
from examples.census.facts import Facts, facts
from examples.census.flow import SchedulerError
from examples.census.history import HistoryError
from examples.census.processes import Processes
from examples.census.report import page
from examples.census.run import Census, Environment
from examples.census.services import Services
from examples.census.sources import SourceFile, SourcesError, choose, site_packages
from examples.census.words import account
from examples.local_run.command import FAILED, ROOT, copied, on_stage, run_command
from examples.local_run.progress import Progress
from sedano import SedanoError, cli
from sedano.local import LocalStageError, local_stage

BUILD = ROOT / "build" / "demo"
APP = "examples.census.tasks:app"


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(prog="python -m examples.census.demo", description="Count Python sources through the whole system.")
    parser.add_argument("--sources", type=Path, default=site_packages(), help="a directory of Python files (default: installed packages)")
    parser.add_argument("--files", type=int, default=300, help="how many of them (default: 300)")
    parser.add_argument("--build", type=Path, default=BUILD, help="where the report goes (default: build/demo)")
    parser.add_argument("--keep", action="store_true", help="keep the stage, with its pages in the browser, until Ctrl-C")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Run the demo; return 0 if all checks pass."""
    options, progress = arguments(given), Progress(sys.stderr)
    errors = (SourcesError, LocalStageError, HistoryError, SchedulerError, SedanoError)
    return run_command(lambda: _status(options, progress), progress, errors)


def _status(options: argparse.Namespace, progress: Progress) -> int:
    files = choose(options.sources, options.files)
    return FAILED if _run(files, options, progress).complaints else 0


def _run(files: Sequence[SourceFile], options: argparse.Namespace, progress: Progress) -> Facts:
    build = options.build.resolve()
    shutil.rmtree(build, ignore_errors=True)
    code = copied(tasks, build / "code")
    progress.phase("synthesising the stacks and creating them on a local AWS endpoint")
    with (
        local_stage(app=APP, code=code, directory=build / "stage", served_by=f"{tasks.FLAGS}=process") as stage,
        Services() as services,
        Processes(APP, code, stage.environment, build / "processes.log") as processes,
    ):
        with on_stage(tasks.app, {**stage.environment, "SEDANO_SPOOL": str(build / "spool")}):
            material = Census(Environment(stage, services, processes), files, build, progress).material(options.sources)
        told = facts(material, progress.seconds)
        print(account(told, *_write(told, build)), flush=True)
        if options.keep:
            progress.phase(f"the stage stays up until Ctrl-C, with its pages in the browser; for other terminals: . {stage.file}")
            cli.main(["web", "--app", APP, "--actions"])
    return told


def _write(told: Facts, build: Path) -> tuple[Path, Path]:
    summary, report = build / "summary.json", build / "report.html"
    summary.write_text(json.dumps(asdict(told.summary), indent=2) + "\n")
    report.write_text(page(told), encoding="utf-8")
    return summary, report


if __name__ == "__main__":
    sys.exit(main())
