"""A run of a workflow as one JSON text, and back. A store keeps this text beside the columns that it compares."""

from __future__ import annotations

import json

from sedano.model.messages.message import BlobRef
from sedano.model.workflow.flow_run import FlowRun

_REFS = ("definition", "inputs_ref")
_MAPPINGS = ("rounds", "whole", "given_up", "undoing", "uncompensated")


def write(run: FlowRun) -> str:
    """Return the text of *run*."""
    fields = run._asdict()
    return json.dumps({**fields, **{name: dict(fields[name]) for name in _MAPPINGS}}, separators=(",", ":"))


def read(text: str) -> FlowRun:
    """Return the run in a *text* of `write`."""
    fields = json.loads(text)
    return FlowRun(**fields | {name: BlobRef(*fields[name]) for name in _REFS if fields[name] is not None})
