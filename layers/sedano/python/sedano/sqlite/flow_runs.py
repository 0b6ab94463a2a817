"""Runs of workflows in the table `flow_run`: BEGIN and CHANGE of `sedano.aws.expressions.flow_runs` (`sedano.sqlite.compare_and_swap`)."""

from __future__ import annotations

from sedano.model.workflow import flow_run_text
from sedano.model.workflow.flow_run import FlowChanged, FlowRun
from sedano.sqlite.compare_and_swap import Swap, swapped
from sedano.sqlite.store import Store

LIFETIME_S = 90 * 86_400
"""How long a run is kept after its last write."""
FLOW_RUN = Swap(
    create="INSERT INTO flow_run (body, nonce, workflow, ttl, id) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
    change="UPDATE flow_run SET body = ?, nonce = ?, workflow = ?, ttl = ? WHERE id = ? AND nonce = ?",
    read="SELECT body FROM flow_run WHERE id = ?",
)
_ALL = "SELECT body FROM flow_run"
_OF_ONE = "SELECT body FROM flow_run WHERE workflow = ?"


class SqliteFlowRuns:
    """The flow runs of one deployment over one SQLite file."""

    def __init__(self, store: Store) -> None:
        """Use *store*; nothing is opened yet."""
        self._store = store

    def begin(self, run: FlowRun, at: float) -> FlowChanged:
        """Create *run* if its id is new."""
        return self._write(run, None, at)

    def read(self, run_id: str) -> FlowRun | None:
        """Return the run."""
        return next((flow_run_text.read(body) for (body,) in self._store.rows(FLOW_RUN.read, run_id)), None)

    def change(self, run: FlowRun, seen: FlowRun, at: float) -> FlowChanged:
        """Write *run* if the stored run is still *seen*."""
        return self._write(run, seen.nonce, at)

    def list(self, workflow: str | None = None) -> list[FlowRun]:
        """Return all runs, or those of one workflow, the latest first."""
        rows = self._store.rows(_ALL) if workflow is None else self._store.rows(_OF_ONE, workflow)
        return sorted((flow_run_text.read(body) for (body,) in rows), key=lambda run: (-run.started, run.run_id))

    def _write(self, run: FlowRun, seen: str | None, at: float) -> FlowChanged:
        row = swapped(self._store, FLOW_RUN, run.run_id, (flow_run_text.write(run), run.nonce, run.workflow, int(at) + LIFETIME_S), seen)
        if row is None:
            return FlowChanged(True, run)
        found = flow_run_text.read(row[0]) if row else None
        return FlowChanged(found is not None and found.nonce == run.nonce, found)
