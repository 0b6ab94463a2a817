"""Mutants of canvases, workflows and timetables that no test can notice, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping

from tests.mutants.mutant import Key


def _of(module: str, place: str, line: str, reason: str, *changes: str) -> dict[Key, str]:
    """Return the entries of these *changes* of one line."""
    return {(f"sedano.model.{module}", place, line, change): reason for change in changes}


FLOWS: Mapping[Key, str] = {
    **_of(
        "canvas.pages",
        "PageWriter._group",
        'shared = items[0].shared if len({i.shared for i in items}) == 1 else ""',
        "all members have the same text",
        "`0` → `-1`",
    ),
    **_of(
        "canvas.continuation",
        "_walked",
        'index, kind = 0, ""',
        "the number is read only within a chain, where a part of the path has set it",
        "`0` → `1`",
        "`0` → `-1`",
    ),
    **_of(
        "canvas.tree",
        "_step",
        "if not step.links and not step.forks:",
        "a short cut: a step without branches is replaced by an equal one",
        "`if not step.links and (not step.forks)` → `if False`",
    ),
    **_of("canvas.tree", "_chain", "return _watched(made[0], tree.watch)", "there is one step", "`0` → `-1`"),
    **_of(
        "canvas.tree",
        "_watched",
        "return replace(stage, watch=(*stage.watch, *more)) if more else stage",
        "a short cut: without more watchers the replacement is equal",
        "`replace(stage, watch=(*stage.watch, *more)) if more else stage` → `replace(stage, watch=(*stage.watch, *more))`",
    ),
}
