"""The result of one check of `sedano check` or `sedano doctor`: good, doubtful or wrong, and the remedy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

OK: Literal["ok"] = "ok"
WARNING: Literal["warning"] = "warning"
FAULT: Literal["fault"] = "fault"
Grade = Literal["ok", "warning", "fault"]


class Finding(NamedTuple):
    """The *checked* thing, its *grade*, the fact that was *found*, and the remedy to *do*; empty for a good one."""

    checked: str
    grade: Grade
    found: str
    do: str = ""


def failed(findings: Iterable[Finding], *, strict: bool) -> bool:
    """Return whether there is a fault, or with *strict* a warning, among *findings*."""
    return any(one.grade == FAULT or (strict and one.grade == WARNING) for one in findings)
