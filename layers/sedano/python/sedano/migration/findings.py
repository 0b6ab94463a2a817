"""The findings of a file, and the names of apps and tasks on which findings of other files depend."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from sedano.migration.answers import Verdict

PAGE = "docs/celery.md"
UNREADABLE: Literal["unreadable"] = "unreadable"


class Needs(NamedTuple):
    """A condition of a finding: *name*, a dotted name, must be an app or a task (*kind*), or must not be a known app (``unknown``)."""

    kind: Literal["app", "task", "unknown"]
    name: str


class Remark(NamedTuple):
    """A finding before its place is known by line: the *node*, and the anchor on the page for users of Celery."""

    node: ast.AST
    verdict: Verdict
    found: str
    remedy: str = ""
    anchor: str = ""
    needs: Needs | None = None


class CodeFinding(NamedTuple):
    """One place in a file: *line* and *column* from 1, the code that was *found*, the verdict, the *remedy*, and the *page* about it."""

    path: str
    line: int
    column: int
    verdict: Verdict | Literal["unreadable"]
    found: str
    remedy: str
    page: str = PAGE
    needs: Needs | None = None


@dataclass(slots=True)
class FileFindings:
    """All findings of one file, and the dotted names of the *apps* and *tasks* that it declares; a task may depend on an app."""

    found: list[CodeFinding] = field(default_factory=list)
    apps: set[str] = field(default_factory=set)
    tasks: dict[str, Needs | None] = field(default_factory=dict)
