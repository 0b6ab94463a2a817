"""The results of earlier runs: a campaign that was interrupted goes on where it stopped.

A line of `results.jsonl` is a verdict with the digest of its mutant (its key and the source of its function) and of what judged it: for a
kill the source of the test that failed, for a survivor the files of all judges. A result holds while both are the same. Code that neither
shows, such as another module, may have changed since: remove the file for a campaign from the start.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.mutants import typing_judge
from tests.mutants.children import KILLED, UNPLANTED, Verdict
from tests.mutants.mutant import Mutant


def digest(*parts: str) -> str:
    """Return a name for these texts together."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


class Results:
    """The verdicts in a file, those of them that still hold."""

    def __init__(self, path: Path, judges: Iterable[str]) -> None:
        """Read *path*, which need not exist; *judges* are the files of the judges."""
        self._path = path
        self._all = digest(*(Path(file).read_text() for file in judges))
        self._tests: Mapping[str, str] = {}
        lines = path.read_text().splitlines() if path.exists() else ()
        self._known = {mutant: (by, Verdict(*said)) for mutant, by, said in map(json.loads, lines)}

    def judged_by(self, items: Iterable[pytest.Item]) -> None:
        """Learn the tests of today."""
        settings = digest(typing_judge.SETTINGS.read_text())
        self._tests = {item.nodeid: digest(_source(item)) for item in items} | {typing_judge.NAME: settings}

    def known(self, mutant: Mutant, late: bool) -> Verdict | None:
        """Return the verdict of an earlier run, if it holds; *late*: a survivor must have been before the late judges too."""
        by, verdict = self._known.get(_digest(mutant), ("", None))
        return verdict if verdict is not None and by in self._by(verdict, [True] if late else [True, False]) else None

    def keep(self, mutant: Mutant, verdict: Verdict, late: bool) -> None:
        """Write down *verdict*."""
        if verdict.status != UNPLANTED:
            with self._path.open("a") as file:
                said = [verdict.status, verdict.judge, verdict.why]
                file.write(json.dumps([_digest(mutant), self._by(verdict, [late])[0], said]) + "\n")

    def _by(self, verdict: Verdict, late: list[bool]) -> list[str]:
        if verdict.status == KILLED:
            return [self._tests.get(verdict.judge, "gone")]
        return [f"{self._all} {one}" for one in late]


def _digest(mutant: Mutant) -> str:
    return digest(*mutant.key, mutant.source)


def _source(item: Any) -> str:
    try:
        return inspect.getsource(item.function)
    except (AttributeError, OSError, TypeError):
        return Path(item.path).read_text()
