"""The total order of events: which of two events is the later one, for every reader.

An event's *stamp* is ``(clock, timestamp, hostname, pid, type, uuid)``, compared from left to right:

* ``clock``, the hybrid logical clock, is compared first, because a cause has a smaller clock than its effect;
* the others only break ties between events that know nothing of each other, always in the same way;
* two events with one stamp are one event that was delivered twice: the stamp is the event's identity.

Events of Celery carry another clock: a counter of each process, which is not causal between processes. Task messages carry none, workers
exchange theirs every two seconds, and the monitor overwrites that of ``task-sent``. Ordered by it, 17 of the 1 906 tasks of a recorded
cluster end in another state than Celery's own ``State`` reports. Such an event is placed by the moment at which the monitor received it
(``local_received``, one machine's clock for all senders, so clocks of workers that differ by minutes change nothing), else by its own
``timestamp``. The two clocks are distinguished by size: a hybrid clock counts microseconds since 1970 and is never behind its sender's
physical clock, so a clock that lies `COUNTER_LAG_US` behind its own timestamp is a counter.

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

COUNTER_LAG_US: Final = 2**48
"""A clock this far (microseconds, nine years) behind its event's own timestamp is a process's counter, not a hybrid clock."""
MICRO: Final = 1_000_000


class Stamp(NamedTuple):
    """An event's place in the total order, and its identity."""

    clock: int
    timestamp: float
    hostname: str
    pid: int
    type: str
    uuid: str


RECEIVED: Final = "local_received"
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

    Raises ValueError, naming the field, when a field is missing, of another type, not finite or beyond a double.
    """
    wrong = [field for field, kind in _TYPES.items() if not _fits(event.get(field), kind)]
    if event.get(RECEIVED) is not None and not _fits(event[RECEIVED], (int, float)):
        wrong.append(RECEIVED)
    if wrong:
        raise ValueError(f"an event's {wrong[0]} cannot be {event.get(wrong[0])!r}")
    at = Stamp(*(event[field] for field in Stamp._fields))
    try:
        return at._replace(clock=_moment(event)) if is_counter(at.clock, at.timestamp) else at
    except OverflowError:
        raise ValueError("an event's clock and timestamp cannot be compared: one of them is beyond a double") from None


def is_counter(clock: int, timestamp: float) -> bool:
    """Return whether the *clock* of an event that happened at *timestamp* (epoch s) is a process's counter instead of a hybrid clock."""
    return timestamp * MICRO - clock > COUNTER_LAG_US


def _moment(event: Mapping[str, Any]) -> int:
    """Return the microseconds since 1970 at which a monitor received *event*, else at which the event says that it happened."""
    received = event.get(RECEIVED)
    return int((event["timestamp"] if received is None else received) * MICRO)


def _fits(value: object, kind: type | tuple[type, ...]) -> bool:
    """Return whether *value* has a place in a total order: of its kind, and no NaN, infinity or boolean."""
    finite = not isinstance(value, float) or math.isfinite(value)
    return isinstance(value, kind) and not isinstance(value, bool) and finite
