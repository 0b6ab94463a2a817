"""The patrol of a run: a command that checks all of its steps periodically, so that no step waits for a lost message."""

from __future__ import annotations

from sedano.engine.drafts import CommandDraft
from sedano.model.messages.lineage import derived_id
from sedano.model.messages.message import Command
from sedano.model.workflow.flow_run import FlowRun
from sedano.workflow.names import PATROL


def look(run: FlowRun, queue: str, turn: int = 0) -> CommandDraft:
    """Return the command that checks all steps of *run* periodically until it has ended; *turn*: how many checks it has done.

    Unlike the other commands it is claimed: an unclaimed copy would also publish the next check, and so would never end.
    """
    name = derived_id(run.run_id, f"patrol/{run.patrol}/{turn}")
    args = (run.run_id, run.patrol, turn)
    return CommandDraft(queue, Command(
        id="", task_id=name, task=PATROL, args=args, tenant=run.tenant, ignore_result=True, stamps=run.stamps,
    ))  # fmt: skip
