"""A result and the messages of its task: the document that it is, the commands that the task published."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sedano.engine.outbox import restored
from sedano.model import states
from sedano.model.messages import codec
from sedano.model.messages.lineage import result_document_id
from sedano.model.messages.message import Command, Document
from sedano.result.waits import has_ended


def document(result: Any) -> Document | None:
    """See `AsyncResult.document`."""
    record, outlet = result.record(), result.outlet
    if record is None or not has_ended(record):
        return None
    error = (record.error.type_name, record.error.message, record.error.traceback) if record.error else None
    value = outlet.gathering.value(record) if record.state == states.SUCCESS else None
    return Document(
        id=result_document_id(result.id), task_id=result.id, task=record.name, source="ledger", time=outlet.ports.clock.now(),
        clock=record.clock, state=record.state, value=value, error=error,
    )  # fmt: skip


def published(result: Any) -> Iterator[Any]:
    """Yield the results of the tasks that the task of *result* published itself."""
    record = result.record()
    if record is None or not has_ended(record):
        return
    for message in restored(record, result.outlet.ports.blobs):
        command = codec.decode(message.outgoing.body)
        if isinstance(command, Command):
            known: dict[str, Any] = {"keeps": not command.ignore_result, "root_id": result.root_id, "name": command.task}
            yield type(result)(result.outlet, command.task_id, parent=result, follows=False, **known)
