"""Changes of all tasks that a search found: run them again, or revoke them. The plan has their number, and why some are left out."""

from __future__ import annotations

from sedano.app import Sedano
from sedano.changes.bulk import bulk, is_bulk
from sedano.changes.plan import ChangePlan, FoundTasks, hindered
from sedano.changes.retries import retry
from sedano.changes.revocations import revoke
from sedano.model.bulk import RETRY, REVOKE

NAMED = 3
"""The most reasons in a plan why tasks cannot run again."""


def retry_found(app: Sedano, query: str, found: FoundTasks) -> ChangePlan:
    """Return the plan to retry the tasks that the search *query* found; for more than a hundred, a task of the stage does it.

    Raises:
        Unavailable: a store did not answer.
    """
    if not found.ids:
        return hindered("retry", _what(query), f"{query}: no task to run again; {found.sentence}")
    return bulk(app, RETRY, query, found) if is_bulk(found) else _shortened(retry(app, found.ids), query, found)


def revoke_found(app: Sedano, query: str, found: FoundTasks, *, terminate: bool = False) -> ChangePlan:
    """Return the plan to revoke the tasks that the search *query* found; for more than a hundred, a task of the stage does it.

    *terminate*: a running task ends at its next check.

    Raises:
        Unavailable: a store did not answer.
    """
    if not found.ids:
        return hindered("revoke", _what(query), f"{query}: no task can be revoked; {found.sentence}")
    if is_bulk(found):
        return bulk(app, REVOKE, query, found, terminate=terminate)
    return _shortened(revoke(app, found.ids, terminate=terminate), query, found)


def _what(query: str) -> str:
    return f"query={query}"


def _shortened(plan: ChangePlan, query: str, found: FoundTasks) -> ChangePlan:
    """Return *plan* with the search instead of its ids, and with the first reasons for the tasks that it leaves out."""
    more = len(plan.refused) - NAMED
    reasons = [str(one) for one in plan.refused[:NAMED]] + [f"and {more} more"] * (more > 0)
    left = (f"{len(plan.refused)} cannot run again: {'; '.join(reasons)}",) * bool(plan.refused)
    hindrance = left[0] if plan.hindrance else ""
    lines = (f"{query}: {found.sentence}", *plan.lines, *left)
    return plan._replace(what=_what(query), lines=lines, hindrance=hindrance, refused=(), found=found)
