"""The recorder: packed worker events become event lines in the history, as immutable objects named by their content.

The records of one batch become one object a day, because a PUT costs as much as twelve messages. A batch that is delivered again unchanged
has the same name, which is taken; records that are delivered again in another batch are written twice, and every reader of a history counts
each event once (`sedano.model.history.registers`).

Beside each object it keeps the object's sums (`sedano.model.history.rollups`), where the deployment has a store for them: one write. The
object is written first; while its sums are not, its records are delivered again.

The recorder reports its own invocation in the last object that it writes anyway, so that costs no call. Two tries of one batch take
different times, so this line is not part of the name: the first try's object stays, and a later one adds nothing.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache, partial
from itertools import chain
from typing import Any

from sedano.engine.batch import Batch
from sedano.engine.deferrals import hide
from sedano.engine.history.invocation_costs import RECORDER, Invocations
from sedano.engine.parked.parking import ParkingLot
from sedano.engine.redelivery import refuse
from sedano.engine.unexpected_errors import contain, passing, unexpected
from sedano.errors import MessageRefused
from sedano.model.history.rollups import Rollup, rollup, shared, summed
from sedano.model.history.run_rows import Chronicle, Host, unpack
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import NOTHING
from sedano.ports import Delivery, Ports
from sedano.ports.absent import has, require

Event = Mapping[str, Any]

DAY_S = 86_400
_ENCODER = json.JSONEncoder(separators=(",", ":"), sort_keys=True)
"""Writes each line; `json.dumps` would make an encoder for each."""


class Recorder:
    """Writes the history. One per process."""

    def __init__(
        self, ports: Ports, host: Host, costs: Mapping[str, int] = NOTHING, tenants: Collection[str] | None = None
    ) -> None:  # fmt: skip
        """Write over *ports*, which make these calls for an object (by `service.Operation`).

        *tenants*: those with a spending limit; None: the app declares no spending limit, and no shares are computed.

        Raises:
            PortMissing: they have no events.
        """
        require(ports.events, "the recorder")
        self.ports, self.host, self._costs = ports, host, costs
        self._rolled_up = _rollup if tenants is None else partial(_rollup_of, tenants)
        lamport = LamportClock(lambda: int(ports.clock.now() * 1_000_000))
        self._parking = ParkingLot(ports, lamport)
        self._invocations = Invocations(RECORDER, ports, host, lamport)

    def record(self, deliveries: Sequence[Delivery], deadline: float) -> list[Delivery]:
        """Append the event lines of *deliveries* and return the deliveries to deliver again."""
        self._invocations.begin()
        batch = Batch(deadline, Chronicle(self.host))
        days = self._days(deliveries, batch)
        before = {place for place, delivery in enumerate(deliveries) if delivery.receives > 1}
        back: set[int] = set()
        reported = False
        for day in sorted(days):
            own: Sequence[Event] = ()
            if day == max(days):
                own = passing(self.ports.telemetry, "own", partial(self._own, len(deliveries), len(back)), ())
            if self._append(day, days[day], own, before):
                reported = bool(own)
            else:
                back.update(days[day])
        for place in sorted(back):
            batch.defer(deliveries[place])
        passing(self.ports.telemetry, "park", partial(self._parking.settle, batch), None)
        passing(self.ports.telemetry, "hide", partial(hide, self.ports, batch), None)
        passing(self.ports.telemetry, "flush", self.ports.telemetry.flush, None)
        self._invocations.end(len(deliveries), len(batch.given_back), reported=reported)
        return batch.given_back

    def _days(self, deliveries: Sequence[Delivery], batch: Batch) -> dict[str, dict[int, list[Event]]]:
        """Return the events of all deliveries that can be read, by their day and the delivery's place."""
        days: dict[str, dict[int, list[Event]]] = defaultdict(dict)
        for place, delivery in enumerate(deliveries):
            try:
                for day, events in _by_day(unpack(delivery.body)).items():
                    days[day][place] = events
            except MessageRefused as refused:
                refuse(self.ports, delivery, refused, batch)
            except Exception as error:  # noqa: BLE001 - the last resort
                contain(self.ports.telemetry, error, delivery, batch)
        return days

    def _own(self, messages: int, given_back: int) -> Sequence[Event]:
        """Return the event about this invocation, with the writes that it is part of."""
        chronicle = Chronicle(self.host)
        self._invocations.line(chronicle, messages, given_back, self._costs)
        return chronicle.unpacked()

    def _append(self, day: str, records: Mapping[int, Sequence[Event]], own: Sequence[Event], before: Collection[int]) -> bool:
        """Write the events of one day as one object, with its sums; return whether both are written."""
        ports = self.ports
        try:
            name = ports.events.append(day, _lines(chain(*records.values())), _lines(own))
            made = passing(ports.telemetry, "sums", partial(self._rolled_up, name, records, own, before), None)
            if made is not None and has(ports.rollups):
                ports.rollups.put(made)
        except Exception as error:  # noqa: BLE001 - what one object holds came from many records: none of them is guilty
            answer = unexpected(ports.telemetry, error)
            ports.telemetry.log("warning", "history not written; its records will be delivered again", day=day, error=str(answer))
            return False
        return True

def _rollup(name: str, records: Mapping[int, Sequence[Event]], own: Sequence[Event], before: Collection[int]) -> Rollup | None:
    """Return the sums of the object *name*; *before*: the places of the records that had been received before."""
    again = chain(*(events for place, events in records.items() if place in before))
    return rollup(name, summed(chain(*records.values(), own), again))


def _rollup_of(
    tenants: Collection[str], name: str, records: Mapping[int, Sequence[Event]], own: Sequence[Event], before: Collection[int]
) -> Rollup | None:  # fmt: skip
    """Return the sums of the object *name* with the shares of tasks and *tenants* in the cost of the workers."""
    again = chain(*(events for place, events in records.items() if place in before))
    return rollup(name, shared(summed(chain(*records.values(), own), again), chain(*records.values()), tenants))


def _by_day(events: Sequence[Event]) -> dict[str, list[Event]]:
    """Return *events* by their UTC day."""
    days: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        days[_date(event["timestamp"] // DAY_S)].append(event)
    return days


def _lines(events: Iterable[Event]) -> bytes:
    return "".join(_ENCODER.encode(event) + "\n" for event in events).encode()


@lru_cache(maxsize=64)
def _date(day: float) -> str:
    """Return the date of the *day* since the epoch."""
    return datetime.fromtimestamp(day * DAY_S, UTC).date().isoformat()
