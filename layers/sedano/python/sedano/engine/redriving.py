"""The parked queue, looked at by people: what lies there and why, and sending it again to the queue that it came from.

Looking is receiving without deleting: what was looked at is given back at once, or when its visibility timeout ends. Sending again is
sending, then deleting: a crash in between leaves two copies of one message, which their claim absorbs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sedano.engine.pausing import tenant_of
from sedano.errors import MessageRefused, SedanoError, UnknownQueue
from sedano.model import codec
from sedano.model.messages import BlobRef
from sedano.model.stream import QUEUE as STREAM
from sedano.model.webhook import QUEUE as WEBHOOK
from sedano.ports import PARKED, Delivery, Outgoing, Ports

MOST = 1_000
"""How many messages are looked at unless more are asked for."""
EMPTY_POLLS = 3
"""SQS may answer a poll with nothing though something is there; after so many in a row the queue counts as looked through."""


Reread = Callable[[str, str], object]
"""Takes the parked request of a webhook, or record of a stream, by its name, once more; raises `SedanoError` when that fails again."""


class Parked(NamedTuple):
    """A message that was set aside: why (*reason*, *field*, *detail*), from which *queue* (its key), when (epoch s), and of what."""

    delivery: Delivery
    reason: str
    field: str
    detail: str
    queue: str
    message_id: str
    at: float
    name: str = ""
    task_id: str = ""

    def is_named(self, one: str) -> bool:
        """Tell whether *one* is an id of it: of the task, of the message, or of the message as it lies in the parked queue."""
        return one in (self.task_id, self.message_id, self.delivery.message_id)


def parked(ports: Ports, wanted: Callable[[Parked], bool], most: int = MOST) -> list[Parked]:
    """Return those of up to *most* parked messages that are *wanted*; the others are given back at once.

    Whoever asked decides about what is returned: `give_back`, or `redrive`.

    Raises:
        Unavailable: the queue did not answer.
    """
    found: dict[str, Parked] = {}
    others: dict[str, Delivery] = {}
    empty = 0
    while empty < EMPTY_POLLS and len(found) + len(others) < most:
        received = ports.queues.receive(PARKED, min(10, most - len(found) - len(others)))
        empty = 0 if received else empty + 1
        for delivery in received:
            one = _parked(delivery)
            if wanted(one):
                found[delivery.message_id] = one
            else:
                others[delivery.message_id] = delivery
    _show(ports, [*others.values()])
    return sorted(found.values(), key=lambda one: (one.at, one.delivery.message_id))


def give_back(ports: Ports, some: Sequence[Parked]) -> None:
    """Let these messages be looked at again at once."""
    _show(ports, [one.delivery for one in some])


def redrive(
    ports: Ports, some: Sequence[Parked], reread: Reread | None = None, restream: Reread | None = None
) -> list[SedanoError | None]:  # fmt: skip
    """Send each to the queue that it came from and take it away; answer None for each that went, else why not: it stays parked.

    *reread* takes a webhook's request once more, *restream* a stream's record, which came from no queue; without it those stay parked.
    """
    sources = [(WEBHOOK, reread), (STREAM, restream)]
    answers = [_sent(ports, one, sources) for one in some]
    gone = [one.delivery for one, error in zip(some, answers, strict=True) if error is None]
    if gone:
        ports.queues.delete(gone)
    _show(ports, [one.delivery for one, error in zip(some, answers, strict=True) if error is not None])
    return answers


def whole_body(ports: Ports, one: Parked) -> str:
    """Return the message as it came; a long one lies in the blob store.

    Raises:
        MessageRefused: its blob is missing or damaged.
    """
    ref = one.delivery.attributes.get("blob", "")
    if not ref:
        return one.delivery.body
    digest, _, size = ref.partition(" ")
    if not size.isdigit():
        raise MessageRefused("blob", "blob", f"{ref!r} is no claim check")
    return ports.blobs.get(BlobRef(digest, int(size))).decode("utf-8", "surrogatepass")


def _sent(ports: Ports, one: Parked, sources: Sequence[tuple[str, Reread | None]]) -> SedanoError | None:
    for source, reread in sources:
        if reread is not None and one.queue.startswith(source):
            return _reread(ports, one, one.queue.removeprefix(source), reread)
    if one.queue in ("", "-", PARKED):
        return UnknownQueue("it does not say which queue it came from; send its body there by hand (`sedano parked show`)")
    try:
        body = whole_body(ports, one)
        key = one.delivery.attributes.get("serial_key")
        # A FIFO queue knows for five minutes what it took: it is told that this is meant to come once more.
        again = Outgoing(body, tenant=tenant_of(body), serial_key=key, once=one.delivery.message_id)
        (error,) = ports.queues.send(one.queue, [again])
    except SedanoError as refused:
        return refused
    return error


def _reread(ports: Ports, one: Parked, name: str, reread: Reread) -> SedanoError | None:
    try:
        reread(name, whole_body(ports, one))
    except SedanoError as refused:
        return refused
    return None


def _parked(delivery: Delivery) -> Parked:
    said = delivery.attributes
    name, task_id = _what(delivery.body)
    return Parked(
        delivery, said.get("reason", "unknown"), said.get("field", "-"), said.get("detail", "-"), said.get("queue", "-"),
        said.get("message_id", delivery.message_id), delivery.sent, name, task_id,
    )  # fmt: skip


def _what(body: str) -> tuple[str, str]:
    """Return the task's name and id of what can be read."""
    try:
        message = codec.decode(body)
    except MessageRefused:
        return "", ""
    return str(getattr(message, "task", getattr(message, "name", ""))), str(getattr(message, "task_id", message.id))


def _show(ports: Ports, some: Sequence[Delivery]) -> None:
    for delivery in some:
        try:
            ports.queues.hold(delivery, 0.0)
        except SedanoError as error:
            ports.telemetry.log("warning", "parked message not shown again at once", message_id=delivery.message_id, error=str(error))
