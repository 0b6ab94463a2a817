"""Parking a message: it goes to the parked queue with its reason, is counted and logged, and can be sent again from there.

A parked message carries the mark of one of the stage's keys over its body, its reason and the queue that it came from
(`sedano.ports.seals`): the parked queue takes messages of everybody who may send to it, and only what a function of this stage has parked
goes back without a question. Where there are no keys it is parked all the same, without a mark.
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
"""The room that is kept for the attributes in what the queue takes; a body that does not fit beside them is kept in the blob store."""
SEAL = "seal"
"""The attribute of a parked message that holds its mark."""
SEALED = ("queue", "message_id", "reason", "field", "detail", "serial_key", "blob")
"""The attributes that the mark is over, besides the body."""


def proof(body: str, attributes: Mapping[str, str]) -> list[str]:
    """Return what the mark of a parked message is over."""
    return [*(attributes.get(name, "") for name in SEALED), body]


class ParkingLot(NamedTuple):
    """Sets messages aside."""

    ports: Ports
    lamport: LamportClock

    def settle(self, batch: Batch) -> None:
        """Set aside what the batch decided to; a message that cannot be parked now is given back instead, so that nothing is lost."""
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
        return answers_of(self.ports.telemetry, lambda some: self.ports.queues.send(PARKED, [self._outgoing(p) for p in some]), parkings)

    def _outgoing(self, parking: Parking) -> Outgoing:
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
