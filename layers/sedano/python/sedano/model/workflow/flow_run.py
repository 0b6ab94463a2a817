"""One run of a workflow: its own item besides its tasks' records, and the ids of all of them.

The item holds what cannot be derived: which definition and inputs it began with, and what its operator asked (pause, cancel, retry).
Everything else, which step ended how, follows from the records of tasks under derived ids (`progress`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sedano.model.ledger.records import RECORD_LIFETIME_S
from sedano.model.messages.lineage import DEFAULT_BUDGET, derived_id
from sedano.model.messages.message import NOTHING, BlobRef

RUNNING, PAUSED, FAILING, CANCELLING = "RUNNING", "PAUSED", "FAILING", "CANCELLING"
SUCCEEDED, FAILED, CANCELLED = "SUCCEEDED", "FAILED", "CANCELLED"
WINDING_UP = frozenset({FAILING, CANCELLING})
"""No step begins any more; running steps may end, then the successful ones are compensated."""
ENDED = frozenset({SUCCEEDED, FAILED, CANCELLED})
STATES = (RUNNING, PAUSED, FAILING, CANCELLING, SUCCEEDED, FAILED, CANCELLED)
BY_HAND = -1
"""In place of the number of a compensation: the step was undone by hand."""
LONGEST_RUN_S = RECORD_LIFETIME_S - 86_400
"""A run may last this long: its tasks' records do not live longer, and a step without a record would look as if it had never run."""


class FlowRun(NamedTuple):
    """One run as it is kept. *inputs* is JSON text, or lies in *inputs_ref*; *definition* lies in the blob store under its digest.

    *rounds*: the number of the begin with which each step's present round starts; a retry of the run starts another. *whole*: the number
    of the begin since which the calls of a `map` count; a compensation undoes those before. *given_up*: why a step or a compensation could
    not even be published, by task id. *undoing*: the number of each step's compensation in its present round, if it is not the first
    (0). *uncompensated*: once the run has ended, why each step that ought to be undone was not, by name. *cause*: what began the winding
    up. *revision* rises with every write; *nonce* is the last writer's.
    *patrol* is the number of the command that looks after the run now and then; one with another number ends. Times are epoch seconds.
    """

    run_id: str
    workflow: str
    version: str
    definition: BlobRef
    started: float
    inputs: str | None = "{}"
    inputs_ref: BlobRef | None = None
    state: str = RUNNING
    cause: str = ""
    rounds: Mapping[str, int] = NOTHING
    whole: Mapping[str, int] = NOTHING
    given_up: Mapping[str, str] = NOTHING
    undoing: Mapping[str, int] = NOTHING
    uncompensated: Mapping[str, str] = NOTHING
    ended: float = 0.0
    revision: int = 0
    nonce: str = ""
    queue: str = "default"
    tenant: str | None = None
    stamps: str | None = None
    hops: int = 0
    budget: int = DEFAULT_BUDGET
    root_id: str = ""
    patrol: int = 0

    def step_id(self, step: str, attempt: int) -> str:
        """Return the task id of begin number *attempt* (from 0, over all rounds) of *step*."""
        return derived_id(self.run_id, f"step/{attempt}/{step}")

    def compensation_id(self, step: str, number: int | None = None) -> str:
        """Return the task id of the compensation of *step* in its present round; *number*: of an earlier one than the present."""
        begun = self.undoing.get(step, 0) if number is None else number
        again = f".{begun}" if begun else ""
        return derived_id(self.run_id, f"compensate/{self.rounds.get(step, 0)}{again}/{step}")


class FlowChanged(NamedTuple):
    """The answer to a write: *done* with the run as it is now, or refused with the one in the way (None: it does not exist)."""

    done: bool
    run: FlowRun | None


def call_id(task_id: str, position: int) -> str:
    """Return the task id of call number *position* (from 0) of a `map` whose whole is the task *task_id*.

    They are the members of the group that is step 0 of the chain which *task_id* ends (`sedano.model.canvas.continuation`).
    """
    return derived_id(derived_id(task_id, "step/0"), position)
