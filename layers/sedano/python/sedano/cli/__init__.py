"""The command line: `python -m sedano VERB …`. Data goes to stdout, words to stderr; 0 is done, 1 failed, 2 was asked wrongly.

A verb is a module here with `main(arguments)`, loaded when it is asked for.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from sedano.errors import SedanoError

VERBS = {
    "cluster": "who works, and what was worked on last",
    "discover": "what an app declares, and so what a deployment brings for it",
    "explain": "why has this task not run",
    "history": "tables and a report from the event history, with Spark",
    "parked": "what was set aside and why; send it again to the queue it came from",
    "workflow": "check, draw and start workflows; list and control their runs",
}
"""What can be asked for, and what it is in a few words."""


def main(arguments: Sequence[str]) -> int:
    """Do what the command line says."""
    verb, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if verb not in VERBS:
        asked = verb in ("-h", "--help", "help")
        lines = ["usage: python -m sedano VERB …", "", *(f"  {name:<12}{words}" for name, words in VERBS.items())]
        print("\n".join(lines), file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    try:
        return int(importlib.import_module(f"sedano.cli.{verb}").main(rest))
    except SedanoError as error:
        print(f"sedano {verb}: {error}", file=sys.stderr)
        return 1
