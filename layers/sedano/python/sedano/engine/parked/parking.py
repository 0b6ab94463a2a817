"""Parking: a message goes to the parked queue with its reason, is counted and logged, and can be sent again from there.

A parked message carries the mark of one of the stage's keys over its body, its reason and the queue that it came from
(`sedano.ports.seals`): the parked queue accepts messages from every principal that may send to it, and only messages that a function of
this stage has parked go back without `--foreign`. Without keys, messages are parked without a mark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sedano.engine.batch import Batch, Parking
from sedano.engine.unexpected_errors import answers_of
from sedano.errors import SedanoError
from sedano.model.messages.lamport import LamportClock
from sedano.ports import PARKED, Outgoing, Ports

ATTRIBUTES_BYTES = 8_576
"""The bytes of a message that are reserved for the attributes; a body that does not fit beside them is stored in the blob store."""
SEAL = "seal"
"""The attribute of a parked message that holds its mark."""
SEALED = ("queue", "message_id", "reason", "field", "detail", "serial_key", "blob")
"""The attributes that the mark is over, besides the body."""


def proof(body: str, attributes: Mapping[str, str]) -> list[str]:
    """Return the parts that the mark of a parked message covers."""
    return [*(attributes.get(name, "") for name in SEALED), body]


class ParkingLot(NamedTuple):
    """Parks messages."""

    ports: Ports
    lamport: LamportClock

    def settle(self, batch: Batch) -> None:
        """Park the messages that the batch decided to park; one that cannot be parked now is given back instead and is not lost."""
        if not batch.parkings:
            return
        parkings, batch.parkings = batch.parkings, []
        for parking, error in zip(parkings, self._answers(parkings), strict=True):
            if error is not None:
                self.ports.telemetry.log("error", "message could not be parked", reason=parking.code, error=str(error))
                batch.defer(parking.delivery)
                continue
            self.ports.telemetry.count("MessagesParked", reason=parking.code)
            self.ports.telemetry.log(
                "error", "message parked", reason=parking.code, field=parking.field, detail=parking.detail, queue=parking.delivery.queue,
                message_id=parking.delivery.message_id,
            )  # fmt: skip
            now, message_id = self.ports.clock.now(), parking.delivery.message_id
            batch.chronicle.line("message-parked", self.lamport.forward(), now, reason=parking.code, message_id=message_id)

    def _answers(self, parkings: Sequence[Parking]) -> Sequence[SedanoError | None]:
        return answers_of(self.ports.telemetry, lambda some: self.ports.queues.send(PARKED, [self.outgoing(p) for p in some]), parkings)

    def outgoing(self, parking: Parking) -> Outgoing:
        """Return the message of the parked queue for *parking*."""
        body = parking.delivery.body
        attributes = {
            "reason": parking.code, "field": _printable(parking.field)[:256] or "-", "detail": _printable(parking.detail)[:512] or "-",
            "queue": parking.delivery.queue or "-", "message_id": parking.delivery.message_id,
        }  # fmt: skip
        if parking.delivery.serial_key is not None:
            attributes["serial_key"] = parking.delivery.serial_key
        if len(body.encode("utf-8", "surrogatepass")) > self.ports.queues.bounds.max_bytes - ATTRIBUTES_BYTES:
            ref = self.ports.blobs.put(body.encode("utf-8", "surrogatepass"))
            body, attributes["blob"] = f"blob:{ref.digest}", f"{ref.digest} {ref.size}"
        mark = self.ports.seals.mark(PARKED, *proof(body, attributes))
        return Outgoing(body, attributes={**attributes, SEAL: mark} if mark else attributes)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)
