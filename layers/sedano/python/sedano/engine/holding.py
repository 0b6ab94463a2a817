"""Holding a message back: it comes again after a while, or earlier when the queue does not take the request; it is never lost."""

from __future__ import annotations

from sedano.engine.batch import Batch
from sedano.errors import SedanoError
from sedano.ports import Delivery, Ports


def hold_back(ports: Ports, delivery: Delivery, seconds: float, batch: Batch) -> None:
    """Give *delivery* back and let it be delivered again in *seconds*."""
    batch.give_back(delivery)
    try:
        ports.queues.hold(delivery, seconds)
    except SedanoError as error:
        ports.telemetry.log("warning", "message not held back; it comes again sooner", message_id=delivery.message_id, error=str(error))
