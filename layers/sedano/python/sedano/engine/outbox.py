"""The outbox: the messages that a task published while it ran, stored in its record, so that a redelivery can publish them again."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sedano.engine.drafts import Addressed
from sedano.model.ledger.records import Posted, TaskRecord
from sedano.model.messages.message import BlobRef
from sedano.ports import Blobs, Outgoing


def stored(messages: Sequence[Addressed], blobs: Blobs, inline_bytes: int) -> tuple[tuple[Posted, ...], BlobRef | None]:
    """Return *messages* as a record keeps them: inline, or in the blob store when they are longer than *inline_bytes* together."""
    posted = tuple(Posted(m.queue, m.outgoing.body, m.outgoing.delay, m.outgoing.tenant, m.outgoing.serial_key) for m in messages)
    if sum(len(p.body) for p in posted) <= inline_bytes:
        return posted, None
    text = json.dumps([p.parts for p in posted])
    return (), blobs.put(text.encode())


def restored(record: TaskRecord, blobs: Blobs) -> list[Addressed]:
    """Return the messages of *record*'s outbox."""
    posted: Sequence[Posted] = record.outbox
    if record.outbox_ref is not None:
        posted = [Posted(*entry) for entry in json.loads(blobs.get(record.outbox_ref))]
    return [Addressed(p.queue, Outgoing(p.body, p.delay, p.tenant, serial_key=p.serial_key)) for p in posted]
