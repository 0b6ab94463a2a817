"""Holding a message back: it comes again after a while, or earlier when the queue does not take the request; it is never lost."""

from __future__ import annotations

from sedano.engine.batch import Batch
from sedano.errors import MessageRefused, SedanoError
from sedano.model import refusals
from sedano.ports import Delivery, Ports

FOREIGN = frozenset({refusals.UNKNOWN_TASK, refusals.UNKNOWN_EVENT, refusals.NEWER})
"""What another version of this deployment may know: during a deployment old and new functions read the same queue."""
FOREIGN_HOLD_S = 30.0
"""How long such a message is held back before another function may look at it."""
FOREIGN_RECEIVES = 4
"""Receives after which such a message is set aside: below the queue's redrive limit, so the reason is kept."""


def refuse(ports: Ports, delivery: Delivery, refused: MessageRefused, batch: Batch) -> None:
    """Set *delivery* aside with the reason; hold it back for a while first when another version of this deployment may know it."""
    if refused.code not in FOREIGN or delivery.receives >= FOREIGN_RECEIVES:
        batch.park(delivery, refused.code, refused.field, refused.detail)
        return
    ports.telemetry.count("MessagesHeld", reason=refused.code)
    ports.telemetry.log("warning", "message held back for a function that may know it", reason=str(refused))
    hold_back(ports, delivery, FOREIGN_HOLD_S, batch)


def hold_back(ports: Ports, delivery: Delivery, seconds: float, batch: Batch) -> None:
    """Give *delivery* back and let it be delivered again in *seconds*."""
    batch.give_back(delivery)
    try:
        ports.queues.hold(delivery, seconds)
    except SedanoError as error:
        ports.telemetry.log("warning", "message not held back; it comes again sooner", message_id=delivery.message_id, error=str(error))
