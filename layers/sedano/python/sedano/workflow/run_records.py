"""The reader of a flow run: its definition, its inputs, and the records of its tasks, as one `FlowProgress`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Protocol

from sedano.engine.canvas.chord_results import Gathering
from sedano.errors import MessageRefused
from sedano.model import refusals
from sedano.model.messages import codec
from sedano.model.messages.message import BlobRef
from sedano.model.workflow.definition import Definition
from sedano.model.workflow.definition_reader import read
from sedano.model.workflow.flow_run import WINDING_UP, FlowRun
from sedano.model.workflow.progress import FlowProgress
from sedano.ports import Ports

MOST_KNOWN = 16
_KNOWN: dict[str, Definition] = {}
"""The latest definitions that were read, by digest."""


class FlowRunOutlet(Protocol):
    """The part of the outlet that reading needs."""

    @property
    def ports(self) -> Ports:
        """The ports."""

    @property
    def gathering(self) -> Gathering:
        """Reads values of records."""


def definition_of(ports: Ports, ref: BlobRef) -> Definition:
    """Return the definition stored under *ref*; the last few are cached, because they never change.

    Raises:
        MessageRefused: it does not exist any more.
    """
    found = _KNOWN.pop(ref.digest, None)
    if found is None:
        found, wrong = read(json.loads(ports.blobs.get(ref)))
        if wrong:
            raise MessageRefused(refusals.BLOB, "definition", f"the definition is of another version: {wrong[0].text}")
    _KNOWN[ref.digest] = found
    if len(_KNOWN) > MOST_KNOWN:
        del _KNOWN[next(iter(_KNOWN))]
    return found


def progress_of(outlet: FlowRunOutlet, run: FlowRun, *, whole: bool = False) -> FlowProgress:
    """Return how far *run* is; *whole*: with the record of each call of each `map`, which the rule itself needs only to wind up."""
    ports = outlet.ports
    definition = definition_of(ports, run.definition)
    text = run.inputs if run.inputs is not None or run.inputs_ref is None else ports.blobs.get(run.inputs_ref).decode()
    inputs = codec.decode_value(text) if text else {}
    records = ports.ledger.read(list(_ids(definition, run)))
    progress = FlowProgress(definition, run, inputs, records, outlet.gathering.value)
    maps = [s for s in definition.steps if s.each is not None]
    if not whole and run.state not in WINDING_UP:
        maps = [s for s in maps if run.rounds.get(s.name, 0) > run.whole.get(s.name, 0) or s.retry.most_retries]
    calls = [task_id for step in maps for task_id in (*progress.may_have_called(step), *progress.may_have_undone(step))]
    if not calls:
        return progress
    return FlowProgress(definition, run, inputs, {**records, **ports.ledger.read(calls)}, outlet.gathering.value)


def _ids(definition: Definition, run: FlowRun) -> Iterable[str]:
    for step in definition.steps:
        first = run.rounds.get(step.name, 0)
        yield from (run.step_id(step.name, first + n) for n in range(step.retry.most_retries + 1))
        if step.compensation is not None:
            yield run.compensation_id(step.name)
