"""One answer to a name of Celery: whether it stays, changes, goes, or has no equivalent."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

SAME: Literal["same"] = "same"
CHANGE: Literal["change"] = "change"
REMOVE: Literal["remove"] = "remove"
LOST: Literal["lost"] = "lost"
Verdict = Literal["same", "change", "remove", "lost"]
VERDICTS: dict[Verdict, str] = {
    SAME: "works as it is",
    CHANGE: "write it differently",
    REMOVE: "remove it: sedano needs none, or always does it",
    LOST: "cannot be kept",
}
_ALONE = re.compile(r"\(\[[^\]]+\]\(([^)\s]+)\)\)")
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")


class NameAnswer(NamedTuple):
    """The answer to some *names* of Celery, which may be patterns: a *verdict*, and a *text* in Markdown with the replacement or reason."""

    names: tuple[str, ...]
    verdict: Verdict
    text: str

    @property
    def plain(self) -> str:
        """The text for a terminal: a link is the path of the page, and “None:” is left out, because the verdict says it."""
        return _LINK.sub(r"\1 (docs/\2)", _ALONE.sub(r"(docs/\1)", self.text.removeprefix("None: ")))


class Judgement(NamedTuple):
    """The *verdict* on one use of an option or a name, and the *remedy*."""

    verdict: Verdict
    remedy: str


def answer(verdict: Verdict, names: str, text: str) -> NameAnswer:
    """Return the answer to *names*, which are separated by spaces."""
    return NameAnswer(tuple(names.split()), verdict, text)


def find(name: str, answers: Iterable[NameAnswer]) -> NameAnswer | None:
    """Return the answer to *name*: the one that names it, else the first one with a pattern that matches; None without one."""
    found = None
    for one in answers:
        if name in one.names:
            return one
        if found is None and any("*" in pattern and fnmatchcase(name, pattern) for pattern in one.names):
            found = one
    return found


def table(answers: Iterable[NameAnswer]) -> str:
    """Return *answers* as the rows of a table in Markdown."""
    return "".join(f"| {', '.join(f'`{name}`' for name in one.names)} | {one.text} |\n" for one in answers)
