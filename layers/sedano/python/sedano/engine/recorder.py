"""The recorder: packed worker events become event lines in the history, as immutable objects named by their content.

The records of one batch become one object a day, because a PUT costs as much as twelve messages. A batch that comes again as it was writes
the same object under the same name; records that come again in other company are told twice, and whoever reads a history takes each event
once (`sedano.model.registers`).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
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
        """Append the event lines of *deliveries* and return the deliveries that shall come again."""
        batch = Batch(deadline, Chronicle(self.host))
        days: dict[str, dict[int, list[str]]] = defaultdict(dict)
        for place, delivery in enumerate(deliveries):
            try:
                for day, lines in _by_day(unpack(delivery.body)).items():
                    days[day][place] = lines
            except MessageRefused as refused:
                refuse(self.ports, delivery, refused, batch)
        back = {place for day, told in days.items() if not self._append(day, told.values()) for place in told}
        for place in sorted(back):
            batch.give_back(deliveries[place])
        self._parking.settle(batch)
        self.ports.telemetry.flush()
        return batch.given_back

    def _append(self, day: str, told: Iterable[Sequence[str]]) -> bool:
        """Keep the lines of one day as one object; tell whether they are kept."""
        lines = "".join(f"{line}\n" for some in told for line in some)
        try:
            self.ports.events.append(day, lines.encode())
        except SedanoError as error:
            self.ports.telemetry.log("warning", "history not written; its records come back", day=day, error=str(error))
            return False
        return True


def _by_day(events: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the lines of *events* by their UTC day."""
    days: dict[str, list[str]] = defaultdict(list)
    for event in events:
        day = datetime.fromtimestamp(float(event["timestamp"]), UTC).date().isoformat()
        days[day].append(json.dumps(event, separators=(",", ":"), sort_keys=True))
    return days
