"""The marks of lineages: the most descendants that a message may claim without proof, and the mark that proves more.

A sender writes the budget of its message. The stage has a ceiling for it (`most_budget`, 10 000): a worker and the router reduce a larger
budget to the ceiling, count it (`BudgetsCapped`) and log it. The message is not refused: its task may need less than it claims.

A larger budget counts with a **mark** by one of the stage's keys over the task's id, its name and the budget (`sedano.ports.seals`).
Workers mark the follow-ups of a task whose own budget was proven; a program marks if its role may read the keys. The budget of a follow-up
is a share of its parent's, so a worker never marks more than was proven. Below the ceiling there is no mark, and no key is read.

A reader of a marked message can copy its mark, but only to a message of the same task id, name and budget. The claim of that id lets one of
them run.
"""

from __future__ import annotations

from typing import Final

from sedano.errors import OptionError
from sedano.model.messages.lineage import DEFAULT_BUDGET, Lineage
from sedano.ports import Ports

BUDGET: Final = "budget"
"""The kind of these marks."""


def marked(ports: Ports, lineage: Lineage, own_id: str, name: str) -> Lineage:
    """Return *lineage* for the message of the task or event *name* with *own_id*: with a mark where its budget is above the ceiling."""
    if lineage.budget <= ports.most_budget or lineage.budget == DEFAULT_BUDGET:
        return lineage
    return lineage._replace(mark=ports.seals.mark(BUDGET, own_id, name, str(lineage.budget)))


def granted(ports: Ports, lineage: Lineage, own_id: str, name: str) -> Lineage:
    """Return *lineage* as allowed for the message *own_id* of *name*: a larger budget without a valid mark is reduced to the ceiling."""
    most = ports.most_budget
    if lineage.budget <= most or ports.seals.is_marked(lineage.mark, BUDGET, own_id, name, str(lineage.budget)):
        return lineage
    if lineage.budget != DEFAULT_BUDGET:  # which a sender has that asks for nothing
        note_cap(ports, lineage.budget, most, own_id)
    return lineage._replace(budget=most, mark="")


def resumed(ports: Ports, own: Lineage, hops: int, budget: int, task_id: str) -> Lineage:
    """Return the lineage with which a chain continues after a replaced task, from the plan of the message *task_id*.

    The plan has no mark, so it gives no budget above the ceiling, unless the message's *own* budget is above it.
    """
    most = max(ports.most_budget, own.budget)
    if budget > most and budget != DEFAULT_BUDGET:
        note_cap(ports, budget, most, task_id)
    return own._replace(hops=hops, budget=min(budget, most))


def require_grant(ports: Ports, budget: int) -> None:
    """Check that a program may publish with *budget*.

    Raises:
        OptionError: it is above the ceiling, and the program cannot read the keys that would prove it.
    """
    if budget > ports.most_budget and budget != DEFAULT_BUDGET and not ports.seals.ready():
        raise OptionError(
            f"budget: {budget} is more than {ports.most_budget}, the most that this stage takes from a sender without its keys "
            "(SEDANO_MOST_BUDGET); ask for less, deploy with a larger most_budget, or let this program's role read the stage's keys"
        )


def note_cap(ports: Ports, budget: int, most: int, task_id: str) -> None:
    """Count and log that a message claimed a larger budget than it gets."""
    ports.telemetry.count("BudgetsCapped")
    ports.telemetry.log("warning", "a budget above the stage's ceiling was reduced to it", task_id=task_id, budget=budget, most=most)
