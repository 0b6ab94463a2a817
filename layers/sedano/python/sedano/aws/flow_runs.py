"""Runs of workflows in the control table: `sedano.ports.FlowRuns` by the writes of `sedano.aws.expressions.flow_runs`.

They are kept apart from the ledger, with the decisions of operators. An item is kept for 90 days after its last write, which is longer than
the records of its tasks live. Listing scans a small table; only people list, workers do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sedano.aws.client import keys
from sedano.aws.client.faults import AWS_ERRORS, fault
from sedano.aws.client.table import Item, Table
from sedano.aws.expressions.flow_runs import BEGIN, CHANGE
from sedano.aws.expressions.write import Write
from sedano.model.workflow import flow_run_text
from sedano.model.workflow.flow_run import FlowChanged, FlowRun

LIFETIME_S = 90 * 86_400


class DynamoFlowRuns:
    """The flow runs of one deployment.

    Args:
        client: a botocore DynamoDB client.
        table: the control table's name; its partition key is `pk` (a string), its TTL attribute `ttl`.
    """

    def __init__(self, client: Any, table: str) -> None:
        """Use *table*; no call is made yet."""
        self._client, self._name = client, table
        self._table = Table(client, table)

    def begin(self, run: FlowRun, at: float) -> FlowChanged:
        """Create *run* unless one of its id exists."""
        return self._write(BEGIN, run, {}, at)

    def read(self, run_id: str) -> FlowRun | None:
        """Return the run, strongly consistent."""
        item = self._table.read_one(keys.flow_run(run_id))
        return _run(item) if item is not None else None

    def change(self, run: FlowRun, seen: FlowRun, at: float) -> FlowChanged:
        """Write *run* if the stored run is still *seen*."""
        return self._write(CHANGE, run, {":seen": {"S": seen.nonce}}, at)

    def list(self, workflow: str | None = None) -> list[FlowRun]:
        """Return all runs, or those of one workflow, the latest first."""
        try:
            pages = self._client.get_paginator("scan").paginate(TableName=self._name, ConsistentRead=True)
            items = [item for page in pages for item in page["Items"] if item["pk"]["S"].startswith(keys.FLOW_RUN)]
        except AWS_ERRORS as error:
            raise fault(error, "dynamodb.Scan") from error
        found = [_run(item) for item in items if workflow in (None, item["flow"]["S"])]
        return sorted(found, key=lambda run: (-run.started, run.run_id))

    def _write(self, write: Write, run: FlowRun, seen: Mapping[str, Any], at: float) -> FlowChanged:
        values = {
            ":nc": {"S": run.nonce}, ":flow": {"S": run.workflow}, ":st": {"S": run.state}, ":body": {"S": flow_run_text.write(run)},
            ":ttl": {"N": str(int(at) + LIFETIME_S)},
        }  # fmt: skip
        done, item = self._table.update(write, keys.flow_run(run.run_id), {**values, **seen})
        if done:
            return FlowChanged(True, run)
        found = _run(item) if item else None
        return FlowChanged(found is not None and found.nonce == run.nonce, found)


def _run(item: Item) -> FlowRun:
    return flow_run_text.read(item["body"]["S"])
