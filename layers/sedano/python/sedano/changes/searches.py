"""Changes of all tasks that a search found: run them again, or revoke them. The plan says how many, and why some are left out."""

from __future__ import annotations

from collections.abc import Sequence

from sedano.app import Sedano
from sedano.changes.plan import ChangePlan, FoundTasks, hindered
from sedano.changes.retries import retry
from sedano.changes.revocations import revoke

NAMED = 3
"""So many of the reasons why tasks cannot run again are part of the plan."""


def retry_found(app: Sedano, query: str, ids: Sequence[str], sentence: str) -> ChangePlan:
    """Return the plan to run the tasks *ids* again, which the search *query* found; *sentence* says what it found.

    Raises:
        Unavailable: a store did not answer.
    """
    if not ids:
        return hindered("retry", _what(query), f"{query}: no task to run again; {sentence}")
    return _shortened(retry(app, ids), query, FoundTasks(tuple(ids), sentence))


def revoke_found(app: Sedano, query: str, ids: Sequence[str], sentence: str, *, terminate: bool = False) -> ChangePlan:
    """Return the plan to revoke the tasks *ids*, which the search *query* found; *terminate*: a running one ends at its next check.

    Raises:
        Unavailable: a store did not answer.
    """
    if not ids:
        return hindered("revoke", _what(query), f"{query}: no task that could be revoked; {sentence}")
    return _shortened(revoke(app, ids, terminate=terminate), query, FoundTasks(tuple(ids), sentence))


def _what(query: str) -> str:
    return f"query={query}"


def _shortened(plan: ChangePlan, query: str, found: FoundTasks) -> ChangePlan:
    """Return *plan* with the search in the place of its ids, and with the first reasons for the tasks that it leaves out."""
    more = len(plan.refused) - NAMED
    reasons = [str(one) for one in plan.refused[:NAMED]] + [f"and {more} more"] * (more > 0)
    left = (f"{len(plan.refused)} cannot run again: {'; '.join(reasons)}",) * bool(plan.refused)
    hindrance = left[0] if plan.hindrance else ""
    lines = (f"{query}: {found.sentence}", *plan.lines, *left)
    return plan._replace(what=_what(query), lines=lines, hindrance=hindrance, refused=(), found=found)
