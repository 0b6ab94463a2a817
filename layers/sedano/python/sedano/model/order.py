"""The total order of events: which of two events is the later one, whoever asks.

An event's *stamp* is ``(clock, timestamp, hostname, pid, type, uuid)``, compared from left to right:

* ``clock``, the hybrid logical clock, comes first, because what caused something has a smaller one;
* the others only break ties between events that know nothing of each other, always in the same way;
* two events with one stamp are one event that was delivered twice: the stamp is the event's identity.

Celery compares events by kombu's ``timetuple``, which cannot serve here. It falls back to the timestamp when
either clock is 0, so three events can each be "later" than the next, in a circle, and what a sort makes of them
depends on the order of arrival; and on equal clocks it skips the timestamp, so two events of one process tie.
A tuple of plain values has neither fault, and Spark compares a struct of the same columns in just this way.

>>> early = {"clock": 7, "timestamp": 9.0, "hostname": "b", "pid": 1, "type": "task-sent", "uuid": "t"}
>>> stamp(early) < stamp(early | {"clock": 8, "timestamp": 2.0})
True
"""

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple


class Stamp(NamedTuple):
    """An event's place in the total order, and its identity."""

    clock: int
    timestamp: float
    hostname: str
    pid: int
    type: str
    uuid: str


_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "clock": int,
    "timestamp": (int, float),
    "hostname": str,
    "pid": int,
    "type": str,
    "uuid": str,
}


def stamp(event: Mapping[str, Any]) -> Stamp:
    """Return the place of *event* (decoded JSON) in the total order.

    Raises ValueError, naming the field, when a field is missing, of another type or not finite.
    """
    wrong = [field for field, kind in _TYPES.items() if not _fits(event.get(field), kind)]
    if wrong:
        raise ValueError(f"an event's {wrong[0]} cannot be {event.get(wrong[0])!r}")
    return Stamp(*(event[field] for field in Stamp._fields))


def _fits(value: object, kind: type | tuple[type, ...]) -> bool:
    """Say whether *value* can stand in a total order: of its kind, and no NaN, infinity or boolean."""
    finite = not isinstance(value, float) or math.isfinite(value)
    return isinstance(value, kind) and not isinstance(value, bool) and finite
