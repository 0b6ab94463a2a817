"""A draft is a message that is not stamped yet: its content and destination, without a clock and without a lineage.

`Composer` stamps drafts: the logical clock, the lineage, a fresh message id; data longer than the queue takes (`QueueBounds.inline_bytes`:
60 KB on SQS) goes to the blob store and the message carries its claim check (Hohpe and Woolf, Claim Check; CloudEvents `dataref`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from sedano.engine.lineage_marks import marked
from sedano.errors import TooLarge
from sedano.model.ledger import dedup_keys as keyed
from sedano.model.messages import codec
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.lineage import ROOT, Lineage
from sedano.model.messages.message import BlobRef, Command, Document, Event
from sedano.ports import EVENTS, Outgoing, Ports, command_queue
from sedano.ports import Addressed as Addressed


class CommandDraft(NamedTuple):
    """The requested *command*, not stamped yet, and its destination: *queue* (a command queue's name), after *delay* seconds.

    It causes *weight* tasks, including itself. *lineage* is its ancestry if it does not descend from its publisher: a step of a flow run
    descends from the run. *serial_key* is the key within which a FIFO queue keeps order, in the form in which it travels. *keyed* names
    its arguments where a deduplication key binds them (`model.ledger.dedup_keys`).
    """

    queue: str
    command: Command
    delay: int = 0
    weight: int = 1
    lineage: Lineage | None = None
    serial_key: str | None = None
    keyed: str = ""

    def asking(self, **changes: Any) -> CommandDraft:
        """Return the draft with *changes* of its command."""
        return self._replace(command=self.command._replace(**changes))


Draft = CommandDraft | Event | Document
"""The content of a draft. An event and a document need no destination, because all of them go to one queue."""


def weight_of(drafts: Sequence[Draft]) -> int:
    """Return how many tasks *drafts* cause at the expense of their publisher: 0 for those with an ancestry of their own."""
    return sum((draft.weight if draft.lineage is None else 0) if isinstance(draft, CommandDraft) else 1 for draft in drafts)


class Composer:
    """Stamps and encodes drafts on behalf of *source*."""

    __slots__ = ("_lamport", "_most", "_ports", "source")

    def __init__(self, source: str, lamport: LamportClock, ports: Ports) -> None:
        """Name the publisher (*source*) and the ports that stamping needs."""
        self.source = source
        self._lamport = lamport
        self._ports = ports
        self._most = ports.queues.bounds.inline_bytes

    def compose(self, draft: Draft, lineage: Lineage = ROOT, message_id: str = "") -> Addressed:
        """Return *draft* as a message; raise `Unserialisable` or `TooLarge` if a message cannot carry its data.

        *message_id*: the message's own id, where the same message may be composed in several places; a fresh one without.
        """
        if isinstance(draft, CommandDraft):
            fresh = message_id or self._ports.entropy.uuid()
            return self._command(draft, lineage, keyed.message_id(draft.keyed, fresh) if draft.keyed else fresh)
        return self._event(draft, lineage) if isinstance(draft, Event) else self._document(draft, lineage)

    def payload(self, draft: CommandDraft) -> str:
        """Return the digest of the arguments of *draft* under its deduplication key, as its worker will compute it."""
        task_id, data = draft.command.task_id, codec.encode_data(draft.command.args, draft.command.kwargs)
        if len(data) > self._most:
            return keyed.payload(task_id, (), {}, BlobRef(sha256(data).hexdigest(), len(data)))
        read = json.loads(data)
        return keyed.payload(task_id, read.get("args", ()), read.get("kwargs", {}))

    def check(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> BlobRef | None:
        """Put a command's data into the blob store when it is too long to travel; return its claim check, or None.

        Raises:
            TooLarge: it is longer than any worker reads.
        """
        if self._most >= SHORT_BYTES and _short(args) and not kwargs:
            return None
        data = codec.encode_data(args, kwargs)
        return self._kept(data, "arguments may have {} together") if len(data) > self._most else None

    def _command(self, draft: CommandDraft, lineage: Lineage, message_id: str) -> Addressed:
        asked = draft.command
        ref = self.check(asked.args, asked.kwargs)
        lineage = marked(self._ports, draft.lineage or lineage, asked.task_id, asked.task)
        command = asked.stamped(message_id, self.source, self._ports.clock.now(), self._lamport.forward(), lineage)
        if ref is not None:
            command = command._replace(args=(), kwargs={}, data_ref=ref)
        outgoing = Outgoing(codec.encode(command), draft.delay, asked.tenant, serial_key=draft.serial_key)
        return Addressed(command_queue(draft.queue), outgoing)

    def _event(self, draft: Event, lineage: Lineage) -> Addressed:
        now, clock = self._ports.clock.now(), self._lamport.forward()
        event = draft._replace(source=self.source, time=now, clock=clock, lineage=marked(self._ports, lineage, draft.id, draft.name))
        body = codec.encode(event)
        if len(body) > self._most:
            ref = self._kept(codec.encode_event_data(draft.data), "an event may have at most {}")
            body = codec.encode(event._replace(data={}, data_ref=ref))
        return Addressed(EVENTS, Outgoing(body, 0, draft.tenant))

    def _document(self, draft: Document, lineage: Lineage) -> Addressed:
        now, clock = self._ports.clock.now(), self._lamport.forward()
        own = marked(self._ports, lineage, draft.id, draft.task)
        document = draft._replace(source=self.source, time=now, clock=clock, lineage=own)
        body = codec.encode(document)
        if len(body) > self._most:
            ref = self._kept(codec.encode_document_data(draft.value), "a document may have at most {}")
            body = codec.encode(document._replace(value=None, data_ref=ref))
        return Addressed(EVENTS, Outgoing(body, 0, draft.tenant))

    def _kept(self, data: bytes, limit: str) -> BlobRef:
        """Keep *data* apart from its message; raise `TooLarge`, with the *limit* in words, if it is longer than any reader reads."""
        if len(data) > codec.MAX_DATA_BYTES:
            raise TooLarge(f"data: {len(data)} bytes; {limit.format(codec.MAX_DATA_BYTES)}")
        return self._ports.blobs.put(data)


def _short(args: Sequence[Any]) -> bool:
    """Return, without encoding, whether *args* are a few scalars."""
    return len(args) < 8 and all(type(a) in _SCALARS or (type(a) is str and len(a) < SHORT_TEXT) for a in args)


SHORT_TEXT = 500
"""A text is short with fewer characters than this: a character is written in up to 12 bytes (`\\ud83d\\ude00`)."""
SHORT_BYTES = 48_000
"""More bytes than the arguments have that `_short` calls short."""
_SCALARS = frozenset({int, float, bool, type(None)})
