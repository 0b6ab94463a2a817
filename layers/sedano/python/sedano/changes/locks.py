"""Releasing a lock on behalf of its holder.

The release is the one that the holder would send: a write on the condition that the lease still has the token that the person saw. The
holder's next renewal fails. Until then it believes that it holds the lease, at most until the lease would have expired. In that time, its
writes are refused only where a guard compares tokens (`sedano.guards`), because the next holder's token is larger.
"""

from __future__ import annotations

from functools import partial

from sedano.app import Sedano
from sedano.changes.plan import AppliedChange, ChangePlan, Effect, hindered
from sedano.engine.singletons import wake
from sedano.errors import UnknownTask
from sedano.model.leases import LeaseRecord, term
from sedano.model.messages.timestamps import shown
from sedano.model.queues import messages_wait


def release(app: Sedano, name: str, token: int) -> ChangePlan:
    """Return the plan to release the lock *name* (or another lease, by its full name) that is held with *token*.

    Raises:
        UnknownTask: the store has no lease of that name.
        Unavailable: the store did not answer.
    """
    ports, what = app.outlet.ports, f"lock={name} token={token}"
    kept = ports.leases.read([f"lock/{name}", name])
    record = kept.get(f"lock/{name}") or kept.get(name)
    if record is None:
        raise UnknownTask(f"{name} was never taken, or its record has expired")
    if not record.held or record.expires <= ports.clock.now() * 1_000:
        return hindered("release", what, f"the lock {name} is free")
    if record.token != token:
        return hindered("release", what, f"the lock {name} is held with the token {record.token} now, not {token}; look at it again")
    lines = (
        f"release 1 lock: {name}, which {record.owner} holds with the token {token} until {shown(record.expires / 1_000)}",
        f"the next holder gets a larger token, so guards refuse writes with the token {token}; {messages_wait(len(record.waiting))} for it",
        "the holder notices the release at its next renewal; until then it continues, and only guards refuse its writes",
    )
    return ChangePlan(verb="release", what=what, lines=lines, number=1, word=name, make=partial(_released, app, name, record))


def _released(app: Sedano, name: str, seen: LeaseRecord) -> AppliedChange:
    leasing = app.outlet.leasing
    after = leasing.release(term(seen, leasing.moment()))
    if after is None:
        return AppliedChange((), (f"{name} was not released: another process holds it now, or its holder released it",))
    wake(app.outlet.ports, after)
    text = f"{name} released; the token {seen.token} is no longer valid"
    return AppliedChange((Effect(text, {"lock": name, "token": seen.token, "state": "released"}),))
