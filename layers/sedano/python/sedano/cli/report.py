"""Writes the page about the event history by the history job: what `sedano report` does."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from io import StringIO

from sedano.cli import history
from sedano.cli.printer import say, say_json


def report(target: str, out: str, *, source: str | None, root: str | None, as_json: bool) -> int:
    """Take in what is new at *source*, if one is given, and write the page *out*; return the exit code of the job."""
    if source is not None:
        status, answer = _worked(["update", "--source", source, "--target", target])
        if status:
            return status
        say(f"sedano report: took in {answer.get('new_files', 0)} files of {source}", err=True)
    status, answer = _worked(["report", "--target", target, "--out", out, *(["--root", root] if root else [])])
    if status == 0:
        say_json(answer) if as_json else say(str(answer["report"]))
    return status


def _worked(arguments: list[str]) -> tuple[int, dict[str, object]]:
    """Run the job; return its exit code and its answer."""
    written = StringIO()
    with redirect_stdout(written):
        status = history.work(arguments)
    return status, json.loads(written.getvalue()) if status == 0 else {}
