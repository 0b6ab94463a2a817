"""Writes the page about the event history with the history job: the work of `sedano report`."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from io import StringIO
from typing import NamedTuple

from sedano.cli import history_job
from sedano.cli.exits import Exit
from sedano.cli.printer import say, say_json


class ReportOptions(NamedTuple):
    """The options of a report: the history *target*, its new *source*, the page *out*, a canvas *root*, thresholds and an older page."""

    target: str
    out: str
    source: str | None
    root: str | None
    fail_on: tuple[str, ...]
    diff: str | None


def report(asked: ReportOptions, *, as_json: bool) -> int:
    """Add new events of the source, if one is given, and write the page; return the exit code of the job."""
    if asked.source is not None:
        status, answer = _worked(["update", "--source", asked.source, "--target", asked.target])
        if status:
            return status
        say(f"sedano report: added {answer.get('new_files', 0)} files of {asked.source}", err=True)
    limits = [word for one in asked.fail_on for word in ("--fail-on", one)]
    chosen = [word for name, value in (("--root", asked.root), ("--diff", asked.diff)) if value for word in (name, value)]
    status, answer = _worked(["report", "--target", asked.target, "--out", asked.out, *limits, *chosen])
    if answer:
        say_json(answer) if as_json else say(str(answer["report"]))
        if answer.get("verdict"):
            say(f"sedano report: {answer['verdict']}", err=True)
    return status


def _worked(arguments: list[str]) -> tuple[int, dict[str, object]]:
    """Run the job; return its exit code and its answer."""
    written = StringIO()
    with redirect_stdout(written):
        status = history_job.work(arguments)
    return status, json.loads(written.getvalue()) if status in (Exit.DONE, Exit.PROBLEMS) else {}
