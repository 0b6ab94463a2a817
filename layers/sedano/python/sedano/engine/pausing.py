"""Paused queues: a worker that knows of the pause gives their messages back without a look, until it learns that they go on.

Each receipt of a message is counted by its queue, and too many would set it aside. So a message is held back for longer each time, and
before its receipts come near the limit it is sent anew with a count of its own, then acknowledged: a pause may last as long as it likes.
A crash in between leaves two copies of one message, which their claim absorbs. After the pause a message comes back at the latest after
as long again as the pause has lasted for it, an hour at most.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sedano.engine.batch import Batch
from sedano.engine.holding import hold_back
from sedano.errors import MessageRefused, SedanoError
from sedano.model import codec
from sedano.model.messages import Command
from sedano.ports import Delivery, Outgoing, Ports, command_queue

HOLD_S, HOLD_MOST_S = 30.0, 3_600.0
"""How long a message of a paused queue is held back at first, and at most; twice as long each time."""
ANEW_AFTER = 10
"""Receipts after which a message is sent anew: half of what would set it aside."""
ANEW_DELAY_S = 900
"""The longest delay that the queue knows: until then the new message is not received at all."""


def unpaused(ports: Ports, deliveries: Sequence[Delivery], paused: Collection[str], batch: Batch) -> list[Delivery]:
    """Return those of *deliveries* whose queue is not *paused* (names of command queues); hold the others back, or send them anew."""
    keys = {command_queue(name) for name in paused}
    waiting = [delivery for delivery in deliveries if delivery.queue in keys]
    if waiting:
        ports.telemetry.count("MessagesPaused", len(waiting))
    for delivery in waiting:
        if delivery.receives < ANEW_AFTER or not _sent_anew(ports, delivery):
            seconds = min(HOLD_S * 2.0 ** (delivery.receives - 1), HOLD_MOST_S)
            hold_back(ports, delivery, seconds * (1 - ports.entropy.unit() / 4), batch)
    return [delivery for delivery in deliveries if delivery.queue not in keys]


def _sent_anew(ports: Ports, delivery: Delivery) -> bool:
    """Send the message again with a count of its own; tell whether that was accepted, so that this one may go."""
    try:
        (error,) = ports.queues.send(delivery.queue, [Outgoing(delivery.body, ANEW_DELAY_S, _tenant(delivery.body))])
    except SedanoError as away:
        error = away
    if error is not None:
        ports.telemetry.log("warning", "paused message not sent anew", message_id=delivery.message_id, error=str(error))
    return error is None


def _tenant(body: str) -> str | None:
    try:
        found = codec.decode(body)
    except MessageRefused:
        return None
    return found.tenant if isinstance(found, Command) else None
