"""Commands to workers through the inbox."""

from __future__ import annotations

from functools import partial

from sedano.app import Sedano
from sedano.changes.pauses import valid
from sedano.changes.plan import AppliedChange, ChangePlan, Effect
from sedano.model.cluster import inbox
from sedano.model.cluster.members import ACTIVE
from sedano.model.seals.seal import LONGEST_LIFE_S

LOOK_S = 0.2
"""The pause in seconds between two reads of the answers."""


def broadcast(app: Sedano, verb: str, argument: str, to: str | None, wait: float) -> ChangePlan:
    """Return the plan to send *verb* to all workers, or to the one called *to*, and to wait up to *wait* seconds for answers.

    Raises:
        UsageError: the verb is unknown, or it does not take this argument.
    """
    valid(inbox.asking, "plan", verb, argument, 0.0, LONGEST_LIFE_S)
    active = sum(member.state == ACTIVE for member in app.control.members())
    whom = f"the worker {to}" if to is not None else f"all workers ({active} active)"
    what = f"{verb} {argument}".strip()
    line = f"send {what} to {whom}: {inbox.VERBS[verb].effect}"
    return ChangePlan(
        verb="broadcast", what=f"{what} to {to or 'all'}", lines=(line,), number=0, word=verb,
        make=partial(_sent, app, verb, argument, to, wait),
    )  # fmt: skip


def _sent(app: Sedano, verb: str, argument: str, to: str | None, wait: float) -> AppliedChange:
    """Send it; wait until each active worker to which it was sent has answered, or the time is over."""
    clock = app.outlet.ports.clock
    asked = {member.name for member in app.control.members() if member.state == ACTIVE} if to is None else {to}
    command = str(valid(app.control.broadcast, verb, argument, to=to))
    until, answers = clock.monotonic() + wait, app.control.answers(command)
    while not asked <= answers.keys() and clock.monotonic() < until:
        clock.sleep(min(LOOK_S, max(0.0, until - clock.monotonic())))
        answers = app.control.answers(command)
    found = [Effect(f"{name} {said}", {"worker": name, "answer": said}) for name, said in sorted(answers.items())]
    return AppliedChange((Effect(f"sent {command}", {"id": command, "verb": verb}), *found))
