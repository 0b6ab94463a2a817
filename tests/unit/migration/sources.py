"""A code base of some files, and its findings as short lines."""

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

from sedano.migration.findings import CodeFinding
from sedano.migration.report import CodeReport, joined, read


def report(folder: Path, files: Mapping[str, str]) -> CodeReport:
    """Write *files* below *folder*, and return the report about it."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(dedent(text).lstrip("\n"), encoding="utf-8")
    return joined(read(folder))


def short(found: CodeFinding) -> str:
    """Return line, verdict and what was found."""
    return f"{found.line} {found.verdict}: {found.found}"


def lines(folder: Path, text: str) -> list[str]:
    """Return the findings of one file with *text*."""
    return [short(one) for one in report(folder, {"tasks.py": text}).found]
