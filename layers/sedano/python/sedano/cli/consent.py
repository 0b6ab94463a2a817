"""Asks before a change: what a mutation will do, with a count, and whether it may."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from sedano.app import Sedano
from sedano.cli.exits import Exit
from sedano.cli.printer import say, say_json


class Consent(NamedTuple):
    """The options of a mutation: only show it, do not ask, the reason for it, print JSON; and the *stage* that the question names."""

    dry_run: bool
    yes: bool
    reason: str
    as_json: bool
    stage: str

    def done(self, text: str, **facts: str | int) -> None:
        """Print one thing that was changed: *text* for a person, the *facts* as a line of JSON for a program."""
        if self.as_json:
            say_json(facts)
        else:
            say(text)


def refusal(verb: str, plan: Sequence[str], consent: Consent, question: str = "") -> Exit | None:
    """Print the *plan* to stderr and ask the *question*; return None when the change may be made, else the exit code."""
    for line in plan:
        say(f"sedano {verb}: {line}", err=True)
    if consent.dry_run:
        say(f"sedano {verb}: nothing was changed (--dry-run)", err=True)
        return Exit.DONE
    if consent.yes:
        return None
    if sys.stdin is None or not sys.stdin.isatty():
        say(f"sedano {verb}: there is no terminal to ask on; nothing was changed; add --yes to make the change", err=True)
        return Exit.USAGE
    asked = question or f"change the stage {consent.stage}?"
    say(f"sedano {verb}: {asked} Type y for yes", err=True)
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return None
    say(f"sedano {verb}: nothing was changed", err=True)
    return Exit.REFUSED


def note(app: Sedano, verb: str, what: str, consent: Consent) -> None:
    """Write the change and its reason as one structured log line."""
    app.outlet.ports.telemetry.log("info", "changed by an operator", verb=verb, what=what, reason=consent.reason)
