"""The plan of a change with its count, the change itself, and its report with the person and the reason.

A plan changes nothing. The command line prints it and asks for confirmation; a page shows it and asks for a reason. Both make the change
with `apply`, so each change has a log line and an event in the history (`sedano.model.history.stage_changes`).
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sedano.app import Sedano
from sedano.engine.history.stage_changes import report
from sedano.errors import SedanoError
from sedano.model.history.stage_changes import StageChange

MOST_UNTYPED = 100
"""A plan that affects more tasks or messages than this must be confirmed with a typed word."""


class Effect(NamedTuple):
    """One thing that was changed: a *text* for a person, and the *facts* for a program."""

    text: str
    facts: Mapping[str, str | int]


class AppliedChange(NamedTuple):
    """The effects of a change, one for each item, and the items that it *left* unchanged, with the reasons.

    *unrecorded*: why the history does not have the change; empty if it has.
    """

    effects: tuple[Effect, ...]
    left: tuple[str, ...] = ()
    unrecorded: str = ""


class FoundTasks(NamedTuple):
    """The *ids* of the tasks that a search found for a change, and a *sentence* about them.

    *change*: the id, drawn by the preview, of the task that makes a large change.
    """

    ids: tuple[str, ...]
    sentence: str
    change: str = ""


class ChangePlan(NamedTuple):
    """A change that is not made yet.

    *verb*: its name on the command line. *what*: its target, for the log. *lines*: the plan in words. *number*: how many tasks or messages
    it affects, if known. *word*: the text with which a person confirms it. *make* makes it. *hindrance*: why it cannot be made.
    *refused*: why some of the requested items are not part of it. *drop* releases the messages that the plan holds if the change is not
    made. *with_reason* replaces *make* if the stage stores the reason in addition to the log line. *found*: the tasks of its search,
    including those that it refuses.
    """

    verb: str
    what: str
    lines: tuple[str, ...]
    number: int
    word: str
    make: Callable[[], AppliedChange]
    hindrance: str = ""
    refused: tuple[SedanoError, ...] = ()
    drop: Callable[[], None] = lambda: None
    with_reason: Callable[[str], AppliedChange] | None = None
    found: FoundTasks | None = None

    @property
    def typed(self) -> str:
        """The text that a person must type to confirm it; empty if a click is enough."""
        return self.word if self.number > MOST_UNTYPED else ""


def hindered(verb: str, what: str, why: str, refused: tuple[SedanoError, ...] = ()) -> ChangePlan:
    """Return a plan that cannot be made because of *why*."""
    return ChangePlan(verb=verb, what=what, lines=(), number=0, word="", make=lambda: AppliedChange(()), hindrance=why, refused=refused)


def apply(app: Sedano, plan: ChangePlan, reason: str) -> AppliedChange:
    """Make the change of *plan*, and report it with the person and the *reason*; report a failed change with the error.

    Raises:
        SedanoError: the change failed; a part of it may have been made.
    """
    try:
        done = plan.make() if plan.with_reason is None else plan.with_reason(reason)
    except SedanoError as error:
        asked = {"verb": plan.verb, "what": plan.what, "reason": reason, "by": person()}
        app.outlet.ports.telemetry.log("warning", "change by an operator failed", **asked, error=str(error))
        _recorded(app, _of(app, plan.verb, plan.what, reason, error=str(error)))
        raise
    return done._replace(unrecorded=note(app, plan.verb, plan.what, reason, len(done.effects), len(done.left)))


def note(app: Sedano, verb: str, what: str, reason: str, changed: int | None = None, left: int | None = None) -> str:
    """Report a change with the person and the *reason*: as one structured log line, and as an event of the history.

    *changed*, *left*: how many items were changed, and how many were left, if the verb counts them. Return why the history does not have
    the change, or nothing.
    """
    ports = app.outlet.ports
    ports.telemetry.log("info", "changed by an operator", verb=verb, what=what, reason=reason, by=person())
    return _recorded(app, _of(app, verb, what, reason, changed=changed, left=left))


def _of(app: Sedano, verb: str, what: str, reason: str, **found: Any) -> StageChange:
    return StageChange(at=app.outlet.ports.clock.now(), by=person(), verb=verb, what=what, reason=reason, **found)


def _recorded(app: Sedano, change: StageChange) -> str:
    refused = report(app.outlet.ports, change, app.outlet.lamport.forward(), os.getpid())
    if refused is None:
        return ""
    app.outlet.ports.telemetry.log("warning", "change not in the history", verb=change.verb, what=change.what, error=str(refused))
    return f"the change was made, but it is not in the history: {refused}"


def person() -> str:
    """Return the name of the user who runs this process; the user's number if the machine has no name for it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
