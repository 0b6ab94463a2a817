"""Joins the files of a code base: reads each one, and keeps the findings whose conditions another file fulfils."""

from __future__ import annotations

import ast
import re
import stat
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sedano.migration.findings import UNREADABLE, CodeFinding, FileFindings, Needs
from sedano.migration.rules import Rules
from sedano.migration.source_files import MOST_BYTES, module_of, source_files

_WORDS = re.compile(
    rb"celery|CELERY|BROKER_|\.task\b|\.delay|apply_async|\.si?\(|\.signature\(|\.subtask\(|\.(?:star)?map\(|\.chunks\(|\.conf\b|\.control\b"
    rb"|send_task|kombu|billiard|\.apply\(|on_after_|add_periodic_task|config_from_object|_on_commit|autodiscover_tasks|\.tasks\b"
    rb"|\.AsyncResult|\.backend\b|\.retry\(|\.request\b|\.connection|\.update_state"
)
"""Words without which a file has no finding; others are not parsed."""


class CodeReport(NamedTuple):
    """All findings, ordered by file and line, and the number of *files* that were read."""

    found: list[CodeFinding]
    files: int

    def counts(self) -> Counter[str]:
        """Return the number of findings of each verdict."""
        return Counter(one.verdict for one in self.found)


def read(path: Path, exclude: Sequence[str] = ()) -> Iterator[FileFindings]:
    """Yield the findings of each Python file below *path*, a folder, or of the file *path*; see `source_files` for *exclude*.

    Paths begin with *path*. A file or folder that cannot be read, or is not valid, has a finding that says so.
    """
    refused: list[OSError] = []
    for file in source_files(path, exclude, refused.append):
        yield _read(file, file.as_posix())
    for wrong in refused:
        yield _unreadable(str(wrong.filename), 1, 1, wrong.strerror or str(wrong))


def joined(files: Iterable[FileFindings]) -> CodeReport:
    """Return the report about *files*: a finding that depends on an app or a task is kept if a file declares it."""
    every = list(files)
    apps = _Index(name for one in every for name in one.apps)
    tasks = _Index(name for one in every for name, needs in one.tasks.items() if needs is None or apps.has(needs.name))
    found = [one for file in every for one in file.found if one.needs is None or _holds(one.needs, apps, tasks)]
    return CodeReport(sorted(_once(found), key=lambda one: (one.path, one.line, one.column)), len(every))


class _Index:
    """Dotted names, found by any of their ends: the folder from which a program imports may be below the one that is read."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_last: defaultdict[str, set[str]] = defaultdict(set)
        for name in names:
            self._by_last[name.rpartition(".")[2]].add(name)

    def has(self, name: str) -> bool:
        candidates = self._by_last.get(name.rpartition(".")[2], ())
        return any(one == name or one.endswith(f".{name}") or name.endswith(f".{one}") for one in candidates)


def _holds(needs: Needs, apps: _Index, tasks: _Index) -> bool:
    if needs.kind == "unknown":
        return not apps.has(needs.name)
    return (apps if needs.kind == "app" else tasks).has(needs.name)


def _once(found: Iterable[CodeFinding]) -> Iterator[CodeFinding]:
    """Yield each finding once: a mapping of options may be used by many tasks."""
    seen = set()
    for one in found:
        key = (one.path, one.line, one.column, one.found.rpartition(" ")[2], one.verdict)
        if key not in seen:
            seen.add(key)
            yield one


def _read(file: Path, shown: str) -> FileFindings:
    try:
        found = file.stat()
        if not stat.S_ISREG(found.st_mode):
            return _unreadable(shown, 1, 1, "not a regular file")
        if found.st_size > MOST_BYTES:
            return _unreadable(shown, 1, 1, f"longer than {MOST_BYTES} bytes")
        text = file.read_bytes()
    except OSError as wrong:
        return _unreadable(shown, 1, 1, wrong.strerror or str(wrong))
    if _WORDS.search(text) is None:
        return FileFindings()
    module, is_package = module_of(file)
    rules = Rules(shown, module, is_package=is_package)
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(text, filename=shown)
        rules.visit(tree)
    except SyntaxError as wrong:
        return _unreadable(shown, max(wrong.lineno or 1, 1), max(wrong.offset or 1, 1), f"not valid in this Python: {wrong.msg}")
    except (ValueError, ArithmeticError, RecursionError, MemoryError) as wrong:
        return _unreadable(shown, 1, 1, f"cannot be parsed: {str(wrong) or type(wrong).__name__}")
    return rules.result


def _unreadable(path: str, line: int, column: int, reason: str) -> FileFindings:
    remedy = "correct the file, or leave it out with --exclude; the rest was checked"
    return FileFindings([CodeFinding(path, line, column, UNREADABLE, found=f"not checked: {reason}", remedy=remedy)])
