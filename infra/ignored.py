"""Which files of an application are not deployed: what a file `.sedanoignore` in its directory names, and tests.

    # .sedanoignore
    notebooks/
    *.csv
    !prices.csv
    /shop/drafts.py

A line is a pattern as in `.gitignore`: without a slash it matches files and folders at any depth, with one it is relative to the directory
of the code; with a slash at its end it matches only folders, `#` begins a comment, and a line that begins with `!` includes files again.
The last line that matches decides. Tests are left out by default; `!tests/` includes them.
"""

import re
from collections.abc import Iterable, Iterator
from fnmatch import translate
from pathlib import Path
from typing import NamedTuple

FILE = ".sedanoignore"
#: What is left out before the file is read: tests, as pytest and unittest find them.
DEFAULTS = ("tests/", "test/", "test_*.py", "*_test.py", "conftest.py")


class Rule(NamedTuple):
    """One line: what it matches, whether it matches only folders, and whether it leaves out or includes."""

    line: str
    fits: re.Pattern[str]
    whole_path: bool
    folders: bool
    leaves_out: bool


class Ignored:
    """The rules of one application's directory."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Read the *lines* of a file."""
        self._rules = list(_rules(lines))

    def rule(self, relative: str, *, folder: bool) -> Rule | None:
        """Return the rule that leaves a file or *folder* out, by its path *relative* to the directory; None if no rule does."""
        name, last = relative.rpartition("/")[2], None
        for rule in self._rules:
            if (folder or not rule.folders) and rule.fits.fullmatch(relative if rule.whole_path else name):
                last = rule
        return last if last is not None and last.leaves_out else None

    def reason(self, relative: str) -> str | None:
        """Return the line that leaves the file *relative* out, by its own path or that of a folder above it; None if it is deployed."""
        parts = relative.split("/")
        above = (("/".join(parts[:end]), end < len(parts)) for end in range(1, len(parts) + 1))
        return next((rule.line for path, folder in above if (rule := self.rule(path, folder=folder)) is not None), None)


def of(directory: Path, more: Iterable[str] = ()) -> Ignored:
    """Return the rules of the application in *directory*: the defaults, *more* lines of the project's settings, then its file."""
    file = directory / FILE
    return Ignored([*DEFAULTS, *more, *(file.read_text(encoding="utf-8").splitlines() if file.is_file() else ())])


def _rules(lines: Iterable[str]) -> Iterator[Rule]:
    for line in map(str.strip, lines):
        pattern = line.removeprefix("!").rstrip("/")
        if pattern and not line.startswith("#"):
            bare = pattern.removeprefix("/")
            yield Rule(line, re.compile(translate(bare)), "/" in pattern, line.endswith("/"), not line.startswith("!"))
