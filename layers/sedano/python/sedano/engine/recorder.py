"""The recorder: packed worker events become event lines in the history, as immutable objects named by their content.

A redelivered record writes the same object under the same name, so the history holds it once however often it arrives.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sedano.engine.batch import Batch
from sedano.engine.chronicle import Chronicle, Host, unpack
from sedano.engine.holding import refuse
from sedano.engine.parking import ParkingLot
from sedano.errors import MessageRefused, SedanoError
from sedano.model.clock import LamportClock
from sedano.ports import Delivery, Ports


class Recorder:
    """Writes the history. One per process."""

    def __init__(self, ports: Ports, host: Host) -> None:
        """Write over *ports*."""
        self.ports, self.host = ports, host
        self._parking = ParkingLot(ports, LamportClock(lambda: int(ports.clock.now() * 1_000_000)))

    def record(self, deliveries: Sequence[Delivery], deadline: float) -> list[Delivery]:
        """Append the event lines of each delivery and return the deliveries that shall come again."""
        batch = Batch(deadline, Chronicle(self.host))
        for delivery in deliveries:
            try:
                self._append(unpack(delivery.body))
            except MessageRefused as refused:
                refuse(self.ports, delivery, refused, batch)
            except SedanoError as error:
                self.ports.telemetry.log("warning", "history not written; the record comes back", error=str(error))
                batch.give_back(delivery)
        self._parking.settle(batch)
        self.ports.telemetry.flush()
        return batch.given_back

    def _append(self, events: Sequence[dict[str, Any]]) -> None:
        days: dict[str, list[str]] = defaultdict(list)
        for event in events:
            day = datetime.fromtimestamp(float(event["timestamp"]), UTC).date().isoformat()
            days[day].append(json.dumps(event, separators=(",", ":"), sort_keys=True))
        for day, lines in days.items():
            self.ports.events.append(day, ("\n".join(lines) + "\n").encode())
