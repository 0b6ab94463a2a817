"""Prints why a task has not run: the work of `sedano explain`."""

from __future__ import annotations

import json

from sedano.app import Sedano
from sedano.cli.printer import say, say_json
from sedano.model.messages.timestamps import shown

MOMENTS = frozenset({"at", "expires", "not_before", "sent", "since", "timestamp", "until"})
"""Evidence that is a moment (epoch s): text shows the second, JSON the number."""


def show(app: Sedano, task_id: str, as_json: bool) -> None:
    """Print one sentence about the task and its evidence."""
    found = app.control.explain(task_id)
    if as_json:
        say_json({**found._asdict(), "evidence": dict(found.evidence)})
        return
    say(f"{found.task_id} is {found.state}: {found.sentence}")
    for name, value in found.evidence.items():
        if value not in (None, "") and (value or name not in MOMENTS):
            said = json.dumps(value) if isinstance(value, dict) else value
            say(f"  {name}: {shown(value) if name in MOMENTS else said}")
