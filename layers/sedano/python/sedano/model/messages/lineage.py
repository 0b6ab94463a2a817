"""The ancestry of a message, and how many descendants it may still cause.

Every message carries `hops` (dynamic spawns since the root) and `budget` (descendants it may still cause), so that a task that publishes
itself without end, or a fan-out that grows exponentially, costs cents and ends with a clear error (DESIGN §7). Ids of follow-ups are
derived from the parent's id and a position, so if a follow-up is published twice, its claim refuses the second message (PROTOCOLS §3).
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID, uuid5

from sedano.errors import BudgetExhausted, HopLimit

MAX_HOPS = 128
DEFAULT_BUDGET = 10_000
NAMESPACE = UUID("5eda0000-0000-5000-8000-000000000000")
"""The name space of every id that sedano derives."""
DERIVED = 5
"""The UUID version of derived ids; the ids of single messages have other versions."""
TRIED = "~"
"""In the id of a message that retries the first task of a canvas: the separator between the id of the message that began the canvas and the
attempt.
"""


class Lineage(NamedTuple):
    """The ancestry of one message. *mark* proves that this stage granted a *budget* above its ceiling (`sedano.engine.lineage_marks`)."""

    root_id: str | None = None
    parent_id: str | None = None
    hops: int = 0
    budget: int = DEFAULT_BUDGET
    mark: str = ""


ROOT = Lineage()


def derived_id(parent: str, position: int | str) -> str:
    """Return the id of the follow-up at *position* of *parent*: the same for every publication, and different for every parent."""
    return str(uuid5(NAMESPACE, f"follow/{len(parent)}:{parent}/{position}"))


def dedup_id(task: str, key: str) -> str:
    """Return the task id of the deduplication *key* of the task named *task*."""
    return str(uuid5(NAMESPACE, f"dedup/{len(task)}:{task}/{key}"))


def is_text(text: str) -> bool:
    """Return whether *text* can be a part of a derived id: half a surrogate pair, as from a file name of other bytes, cannot."""
    return not any("\ud800" <= one <= "\udfff" for one in text)


def result_document_id(task_id: str) -> str:
    """Return the id of the document that is the result of the task *task_id*: the same for every run of it."""
    return derived_id(task_id, "document")


def rerun_id(task_id: str) -> str:
    """Return the id under which the ended task *task_id* is run again: always the same, so that two requests run it once."""
    return derived_id(task_id, "rerun")


def begun_id(task_id: str, node: str, plan: str) -> str:
    """Return the id of the message that begins a canvas with *task_id*; the same canvas (*plan* and *node*, as in `Place`) has the same id.

    Two canvases under one id that begin with the same task are thus distinguished by the id of the message in that task's record.
    """
    return derived_id(task_id, f"begun/{len(node)}:{node}/{plan}")


def tried_id(begun: str, attempt: int) -> str:
    """Return the id of the message that retries the first task of the canvas that the message *begun* began; *attempt* counts from 1."""
    return f"{begun}{TRIED}{attempt}"


def began(tried: str, attempt: int) -> str:
    """Return the id from which `tried_id` derived *tried*, or "" if it did not: the id of another message may have any form."""
    begun, _, number = tried.partition(TRIED)
    if number != str(attempt):
        return ""
    try:
        found = UUID(begun)
    except ValueError:
        return ""
    return begun if found.version == DERIVED and str(found) == begun else ""


def descend(parent_id: str, parent: Lineage, children: int) -> Lineage:
    """Return the lineage of each of the *children* that the task *parent_id* publishes together.

    The budget is divided, not copied: all descendants together never exceed the budget of the root.

    Raises:
        HopLimit: the parent already has the most hops allowed.
        BudgetExhausted: the parent may not cause that many descendants.
    """
    if parent.hops >= MAX_HOPS:
        raise HopLimit(f"hops: {parent.hops} dynamic spawns since the root {parent.root_id or parent_id}; the limit is {MAX_HOPS}")
    if children > parent.budget:
        raise BudgetExhausted(f"budget: {children} follow-ups are more than the {parent.budget} that this message may still cause")
    share = (parent.budget - children) // children if children else 0
    return Lineage(parent.root_id or parent_id, parent_id, parent.hops + 1, share)
