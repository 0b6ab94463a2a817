"""Runs of workflows, in memory."""

from __future__ import annotations

import threading

from sedano.model.workflow.flow_run import FlowChanged, FlowRun


class MemoryFlowRuns:
    """The flow runs of one deployment, in a dict by id."""

    def __init__(self) -> None:
        """Start with none."""
        self._kept: dict[str, FlowRun] = {}
        self._lock = threading.Lock()

    def begin(self, run: FlowRun, at: float) -> FlowChanged:
        """Create *run* unless one of its id exists."""
        with self._lock:
            found = self._kept.setdefault(run.run_id, run)
            return FlowChanged(found.nonce == run.nonce, found)

    def read(self, run_id: str) -> FlowRun | None:
        """Return the run."""
        with self._lock:
            return self._kept.get(run_id)

    def change(self, run: FlowRun, seen: FlowRun, at: float) -> FlowChanged:
        """Write *run* if the stored run is still *seen*."""
        with self._lock:
            found = self._kept.get(run.run_id)
            if found is None or found.nonce != seen.nonce:
                return FlowChanged(found is not None and found.nonce == run.nonce, found)
            self._kept[run.run_id] = run
            return FlowChanged(True, run)

    def list(self, workflow: str | None = None) -> list[FlowRun]:
        """Return all runs, or those of one workflow, the latest first."""
        with self._lock:
            found = [run for run in self._kept.values() if workflow in (None, run.workflow)]
        return sorted(found, key=lambda run: (-run.started, run.run_id))
