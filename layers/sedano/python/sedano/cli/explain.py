"""`sedano explain ID`: why has this task not run? One sentence, and with `--json` its evidence.

    python -m sedano explain 0c7f…
    python -m sedano explain 0c7f… --json

Which app is meant: `--app module:attribute`, or `SEDANO_APP`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from sedano.cli.console import app_of, takes_app
from sedano.cli.printer import say, say_json
from sedano.model.messages.timestamps import shown

MOMENTS = frozenset({"at", "expires", "not_before", "sent", "since", "timestamp", "until"})
"""Evidence that is a moment (epoch s): a person is told the second, a program the number."""


def main(arguments: Sequence[str]) -> int:
    """Do what the command line says; return the exit code."""
    parser = argparse.ArgumentParser(prog="sedano explain", description="why a task has not run")
    takes_app(parser)
    parser.add_argument("id", help="of the task")
    parser.add_argument("--json", action="store_true", help="as one JSON object, with the evidence")
    asked = parser.parse_args(arguments)
    found = app_of(asked).control.explain(asked.id)
    if asked.json:
        say_json({**found._asdict(), "evidence": dict(found.evidence)})
        return 0
    say(f"{found.task_id} is {found.state}: {found.sentence}")
    for name, value in found.evidence.items():
        if value not in (None, "") and (value or name not in MOMENTS):
            say(f"  {name}: {shown(value) if name in MOMENTS else value}")
    return 0
