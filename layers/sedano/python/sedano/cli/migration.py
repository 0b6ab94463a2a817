"""Prints what changes in a code base that uses Celery: the work of `sedano migrate check`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sedano.cli.exits import Exit
from sedano.cli.printer import line, put, say
from sedano.cli.tables import document, styled
from sedano.errors import UsageError
from sedano.migration.answers import CHANGE, LOST, REMOVE, SAME
from sedano.migration.findings import UNREADABLE, CodeFinding, FileFindings
from sedano.migration.report import CodeReport, joined, read
from sedano.views.findings import FAULT, OK, WARNING

STYLES = {SAME: OK, CHANGE: WARNING, REMOVE: WARNING, LOST: FAULT, UNREADABLE: FAULT}
"""The grade whose colour a verdict has."""
PROGRESS = 2_000
"""After this many files, a line on stderr says how far the check is."""


def check(path: Path, exclude: Sequence[str], *, todo: bool, strict: bool, as_json: bool) -> Exit:
    """Print the findings of the code base at *path*; *todo*: without those that need no change.

    Returns `PROBLEMS` if something cannot be kept or read, with *strict* also for a change.

    Raises:
        UsageError: *path* does not exist.
    """
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder; give the folder of the code base")
    report = joined(counted(read(path, exclude)))
    shown = [one for one in report.found if not (todo and one.verdict == SAME)]
    if as_json:
        items = [{name: value for name, value in one._asdict().items() if name != "needs"} for one in shown]
        document("migrate.check", items, counts=dict.fromkeys(STYLES, 0) | report.counts(), files=report.files)
    else:
        for one in shown:
            _show(one)
    say(_summary(report), err=True)
    counts = report.counts()
    failing = (LOST, UNREADABLE, CHANGE, REMOVE) if strict else (LOST, UNREADABLE)
    return Exit.PROBLEMS if any(counts[verdict] for verdict in failing) else Exit.DONE


def _show(one: CodeFinding) -> None:
    place, verdict = line(f"{one.path}:{one.line}:{one.column}:"), styled(one.verdict, STYLES[one.verdict])
    put([f"{place} {verdict}: {line(one.found)}"])
    if one.remedy:
        say(f"    {'why' if one.verdict == LOST else 'do'}: {one.remedy} ({one.page})")


def _summary(report: CodeReport) -> str:
    if not report.files:
        return "sedano migrate check: 0 files: no Python file was found; give the folder of the code base, or fewer --exclude"
    counts = report.counts()
    words = [f"{counts[SAME]} stay", f"{counts[CHANGE]} change", f"{counts[REMOVE]} to remove", f"{counts[LOST]} cannot be kept"]
    words += [f"{counts[UNREADABLE]} not checked"] if counts[UNREADABLE] else []
    return f"sedano migrate check: {report.files} file{'s' * (report.files != 1)}: {', '.join(words)}"


def counted(files: Iterator[FileFindings]) -> Iterator[FileFindings]:
    """Yield *files*, and write a line to stderr after every 2 000 of them."""
    for number, one in enumerate(files, 1):
        if number % PROGRESS == 0:
            say(f"sedano migrate check: {number} files read", err=True)
        yield one
