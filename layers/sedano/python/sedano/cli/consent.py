"""Asks before a change: shows what it will do, with a count, and asks for consent."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import NamedTuple

from sedano.app import Sedano
from sedano.changes import plan as changes
from sedano.changes.plan import AppliedChange, ChangePlan
from sedano.cli.exits import Exit
from sedano.cli.printer import line, say, say_json
from sedano.errors import UsageError

_LOGGER = logging.getLogger("sedano")
_NO_TERMINAL = "there is no terminal to ask on; nothing was changed; add --yes to make the change"


class Consent(NamedTuple):
    """The options of a change: only show it, do not ask, its reason, print JSON; and the *stage* that the question names."""

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
    for one in plan:
        say(f"sedano {verb}: {one}", err=True)
    if consent.dry_run:
        say(f"sedano {verb}: nothing was changed (--dry-run)", err=True)
        return Exit.DONE
    if consent.yes:
        return None
    if not _can_ask():
        say(f"sedano {verb}: {_NO_TERMINAL}", err=True)
        return Exit.USAGE
    asked = question or f"change the stage {consent.stage}?"
    say(f"sedano {verb}: {asked} Type y for yes", err=True)
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return None
    say(f"sedano {verb}: nothing was changed", err=True)
    return Exit.REFUSED


def require_answer(consent: Consent) -> None:
    """Refuse a change whose question cannot be answered, before making its plan takes time.

    Raises:
        UsageError: there is no terminal to ask on, and neither `--yes` nor `--dry-run` was given.
    """
    if not (consent.yes or consent.dry_run or _can_ask()):
        raise UsageError(_NO_TERMINAL)


def note_here(verb: str, what: str, consent: Consent) -> None:
    """Write a change that needs no app, and its reason, to the log of this process."""
    _LOGGER.warning("changed by an operator: %s of %s, reason: %s", verb, line(what), line(consent.reason))


def _can_ask() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def made(app: Sedano, plan: ChangePlan, consent: Consent) -> Exit:
    """Print *plan* and, if the person agrees, make the change and print its effects; return the exit code."""
    if plan.hindrance:
        say(f"sedano {plan.verb}: {plan.hindrance}", err=True)
        return Exit.REFUSED
    refused = refusal(plan.verb, plan.lines, consent)
    if refused is not None:
        plan.drop()
        return refused
    done = changes.apply(app, plan, consent.reason)
    print_effects(done, consent)
    for why in (*done.left, *filter(None, [done.unrecorded])):
        say(f"sedano {plan.verb}: {why}", err=True)
    return Exit.REFUSED if done.left else Exit.DONE


def print_effects(done: AppliedChange, consent: Consent) -> None:
    """Print the effects of a change."""
    for one in done.effects:
        consent.done(one.text, **one.facts)


def note(app: Sedano, verb: str, what: str, consent: Consent, changed: int | None = None) -> None:
    """Report the change and its reason: one structured log line, one event of the history; *changed*: how many things, where counted."""
    unrecorded = changes.note(app, verb, what, consent.reason, changed)
    if unrecorded:
        say(f"sedano {verb}: {unrecorded}", err=True)
