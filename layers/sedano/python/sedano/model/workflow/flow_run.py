"""One run of a workflow: its item, which exists in addition to its tasks' records, and the ids of all of these.

The item contains what cannot be derived: the definition and inputs with which the run began, and the operator's requests (pause, cancel,
retry). The states of the steps are derived from the records of tasks under derived ids (`progress`).
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
"""No further step begins; running steps may end, then the successful ones are compensated."""
ENDED = frozenset({SUCCEEDED, FAILED, CANCELLED})
STATES = (RUNNING, PAUSED, FAILING, CANCELLING, SUCCEEDED, FAILED, CANCELLED)
BY_HAND = -1
"""Replaces the number of a compensation: the step was undone by hand."""
LONGEST_RUN_S = RECORD_LIFETIME_S - 86_400
"""The most seconds of a run: its tasks' records do not live longer, and a step without a record would count as one that never ran."""


class FlowRun(NamedTuple):
    """The stored form of one run. *inputs* is JSON text; large inputs are a blob, *inputs_ref*. *definition* is in the blob store under its
    digest.

    *rounds*: the number of the start with which the current round of each step begins; a retry of the run begins another round. *whole*:
    the number of the start since which the calls of a `map` count; a compensation undoes earlier ones. *given_up*: the reasons for which
    steps or compensations could not be published, by task id. *undoing*: the number of each step's compensation in its current round, if it
    is not the first (0). *uncompensated*: after the run ended, the reasons for which steps were not undone, by name. *cause*: the cause of
    the failure or cancellation. *revision* increases with every write; *nonce* is that of the last write. *patrol* is the number of the
    command that checks the run periodically; a command with another number ends. Times are epoch seconds.
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
        """Return the task id of start number *attempt* (from 0, over all rounds) of *step*."""
        return derived_id(self.run_id, f"step/{attempt}/{step}")

    def compensation_id(self, step: str, number: int | None = None) -> str:
        """Return the task id of the compensation of *step* in its current round; *number*: that of an earlier compensation."""
        begun = self.undoing.get(step, 0) if number is None else number
        again = f".{begun}" if begun else ""
        return derived_id(self.run_id, f"compensate/{self.rounds.get(step, 0)}{again}/{step}")


class FlowChanged(NamedTuple):
    """The answer to a write: *done* with the new run, or refused with the current one (None: it does not exist)."""

    done: bool
    run: FlowRun | None


def call_id(task_id: str, position: int) -> str:
    """Return the task id of call number *position* (from 0) of a `map`; *task_id* is the task of the whole map.

    The calls are the members of the group that is step 0 of the chain that *task_id* ends (`sedano.model.canvas.continuation`).
    """
    return derived_id(derived_id(task_id, "step/0"), position)
