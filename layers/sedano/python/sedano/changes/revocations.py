"""Revocations of tasks, by id or by a header."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from sedano.app import Sedano
from sedano.changes.pauses import valid
from sedano.changes.plan import AppliedChange, ChangePlan, Effect
from sedano.model import states


def revoke(app: Sedano, ids: Sequence[str], *, terminate: bool = False) -> ChangePlan:
    """Return the plan to revoke tasks by id; *terminate*: a running task ends at its next check."""
    records = app.outlet.ports.ledger.read(ids)
    known = Counter(str(records[one].state if one in records else states.PENDING) for one in ids)
    counted = ", ".join(f"{number} {state}" for state, number in sorted(known.items()))
    line = f"revoke {len(ids)} {'task' if len(ids) == 1 else 'tasks'}: {counted}"
    return ChangePlan(
        verb="revoke", what=" ".join(ids), lines=(line,), number=len(ids), word=str(len(ids)), make=partial(_revoked, app, ids, terminate)
    )  # fmt: skip


def revoke_by_header(app: Sedano, header: str, value: str, *, restore: bool = False) -> ChangePlan:
    """Return the plan to revoke every task with a header, or with *restore* to end that revocation."""
    what = f"{header}={value}"
    plan = f"let tasks with {what} run again" if restore else f"revoke every task with {what}, present and future, until --restore"
    line = f"{plan}; the number of tasks is unknown, because messages have no index"
    return ChangePlan(verb="revoke", what=what, lines=(line,), number=0, word=what, make=partial(_by_header, app, header, value, restore))


def _revoked(app: Sedano, ids: Sequence[str], terminate: bool) -> AppliedChange:
    after = dict(zip(ids, valid(app.control.revoke, ids, terminate=terminate), strict=True))
    late = [one for one, state in after.items() if state in states.TERMINAL and state != states.REVOKED]
    effects = tuple(Effect(f"{one} {state}", {"id": one, "state": str(state)}) for one, state in after.items())
    return AppliedChange(effects, (f"{len(late)} of {len(ids)} tasks had ended before",) if late else ())


def _by_header(app: Sedano, header: str, value: str, restore: bool) -> AppliedChange:
    change = app.control.restore_by_header if restore else app.control.revoke_by_header
    return AppliedChange(tuple(Effect(one, {"header": one}) for one in sorted(valid(change, header, value))))
