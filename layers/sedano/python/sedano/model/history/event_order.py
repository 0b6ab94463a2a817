"""The total order of events, which is the same for every reader.

An event's *stamp* is ``(clock, timestamp, hostname, pid, type, uuid)``, compared from left to right:

* ``clock``, the hybrid logical clock, is compared first, because a cause has a smaller clock than its effect;
* the other fields only break ties between causally independent events, always in the same way;
* two events with the same stamp are one event that was delivered twice: the stamp is the identity of the event.

Events of Celery carry another clock: a counter of each process, which is not causal between processes. Task messages carry no clock,
workers exchange their clocks every two seconds, and the monitor overwrites the clock of ``task-sent``. In the order of this clock, 17 of
the 1 906 tasks of a recorded cluster end in another state than Celery's ``State`` reports. Such an event is therefore ordered by the time
at which the monitor received it (``local_received``; this is the clock of one machine for all senders, so clocks of workers that differ by
minutes have no effect), or else by its ``timestamp``. The two clocks are distinguished by size: a hybrid clock counts microseconds since
1970 and is never behind its sender's physical clock, so a clock that lies `COUNTER_LAG_US` behind its own timestamp is a counter.

Celery compares events by kombu's ``timetuple``, which cannot be used here. If either clock is 0, it compares the timestamps, so three
events can each be "later" than the next, in a cycle, and the result of a sort depends on the order of arrival. On equal clocks it skips the
timestamp, so two events of one process tie. A tuple of plain values has neither fault, and Spark compares a struct of the same columns in
the same way.

>>> early = {"clock": 7, "timestamp": 9.0, "hostname": "b", "pid": 1, "type": "task-sent", "uuid": "t"}
>>> stamp(early) < stamp(early | {"clock": 8, "timestamp": 2.0})
True
"""

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

COUNTER_LAG_US: Final = 2**48
"""A clock that is this far (microseconds, nine years) behind the timestamp of its event is the counter of a process, not a hybrid clock."""
MICRO: Final = 1_000_000


class Stamp(NamedTuple):
    """The position of an event in the total order, and its identity."""

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
    """Return the position of *event* (decoded JSON) in the total order.

    Raises:
        ValueError: a field is missing, has another type, is not finite or does not fit in a double; the message names the field.
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
        raise ValueError("an event's clock and timestamp cannot be compared: one of them does not fit in a double") from None


def is_counter(clock: int, timestamp: float) -> bool:
    """Return whether the *clock* of an event of the time *timestamp* (epoch s) is the counter of a process instead of a hybrid clock."""
    return timestamp * MICRO - clock > COUNTER_LAG_US


def _moment(event: Mapping[str, Any]) -> int:
    """Return the microseconds since 1970 at which a monitor received *event*, or else the timestamp in the event."""
    received = event.get(RECEIVED)
    return int((event["timestamp"] if received is None else received) * MICRO)


def _fits(value: object, kind: type | tuple[type, ...]) -> bool:
    """Return whether *value* can be compared in a total order: it is of this *kind*, and not NaN, an infinity or a boolean."""
    finite = not isinstance(value, float) or math.isfinite(value)
    return isinstance(value, kind) and not isinstance(value, bool) and finite
