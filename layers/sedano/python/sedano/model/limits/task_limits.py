"""The limits of a task, as declared and as changed at run time. Pure.

A change at run time is a text for each task in the control record, which every worker reads anyway; it replaces the declared limit until it
is removed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sedano.errors import MessageRefused, OptionError
from sedano.model import refusals
from sedano.model.limits.concurrency import MOST_PERMITS
from sedano.model.limits.rate import MOST_BURST, MOST_PACES, SECOND, Pace, Paces
from sedano.model.messages.strict_json import load, shown
from sedano.model.messages.timestamps import LAST_SECOND

Key = Callable[[Sequence[Any], Mapping[str, Any]], str]
"""Returns the key of a call from its arguments."""


class Range(NamedTuple):
    """A concurrency limit from *low* to *high*: *strategy* returns it, and is called at most once in *every* seconds.

    ``concurrency=Range(2, 10, free_connections)``
    """

    low: int
    high: int
    strategy: Callable[[], int]
    every: float = 10.0

    def within(self, wanted: int) -> int:
        """Return *wanted*, bounded by *low* and *high*."""
        return min(max(wanted, self.low), self.high)


Concurrency = int | Range


class TaskLimits(NamedTuple):
    """The limits of one task.

    *paces* and their *key*, for all workers or for each of them (*per_worker*). *concurrency*, and the key within which this many tasks run
    at a time (*concurrency_key*). *debounce*: the seconds without calls that a call waits for. *batch*: the most calls and the most seconds
    of a batch; *runs*: this task runs the batches.
    """

    paces: Paces = ()
    key: Key | None = None
    per_worker: bool = False
    concurrency: Concurrency | None = None
    concurrency_key: Key | None = None
    debounce: float = 0.0
    batch: tuple[int, float] | None = None
    runs: bool = False


NO_LIMITS = TaskLimits()


class LimitChange(NamedTuple):
    """The changes at run time; None: as declared. Empty *paces* mean no rate limit; a *concurrency* of -1 means no limit.

    *time*: the soft and the hard time limit in seconds, each None for no limit. *most*: the highest concurrency that these changes have
    set, because permits above a limit that was lowered are held until their bodies end.
    """

    paces: Paces | None = None
    concurrency: int | None = None
    time: tuple[float | None, float | None] | None = None
    most: int = 0


UNLIMITED = -1
MOST_BYTES = 4_096
"""The most characters of a change's text; the texts of `write` have a tenth of it."""
LONGEST_PACE_US = 2**53
LONGEST_LIMIT_S = 10_000_000.0
"""The time limits that a message can carry (`sedano.model.messages.attributes`)."""


def highest(concurrency: Concurrency) -> int:
    """Return the highest limit that *concurrency* allows."""
    return concurrency.high if isinstance(concurrency, Range) else concurrency


def changed(limits: TaskLimits | None, change: LimitChange) -> TaskLimits:
    """Return *limits* with *change*."""
    found = limits or NO_LIMITS
    if change.paces is not None:
        found = found._replace(paces=change.paces)
    if change.concurrency is not None:
        found = found._replace(concurrency=None if change.concurrency == UNLIMITED else change.concurrency)
    return found


def write(change: LimitChange) -> str:
    """Return *change* as a text."""
    paces = None if change.paces is None else [list(pace) for pace in change.paces]
    fields = {"paces": paces, "concurrency": change.concurrency, "time": change.time}
    return json.dumps(fields | ({"most": change.most} if change.most else {}))


def read(text: str) -> LimitChange:
    """Return the change that *text* describes; an empty text means no change.

    Raises:
        MessageRefused: `write` cannot have written *text*; the error names the field.
    """
    if not text:
        return LimitChange()
    found = load(text, MOST_BYTES, 4, "limits")
    if type(found) is not dict:
        raise _wrong("limits", found, "an object with paces, concurrency and time")
    concurrency, most = _number(found.get("concurrency")), _number(found.get("most"), "most")
    return LimitChange(_paces(found.get("paces")), concurrency, _seconds(found.get("time")), max(most or 0, 0))


def is_as_declared(text: str) -> bool:
    """Return whether the change that *text* describes leaves all limits as declared."""
    try:
        return read(text)._replace(most=0) == LimitChange()
    except MessageRefused:
        return False


def _paces(found: Any) -> Paces | None:
    if found is None:
        return None
    if type(found) is not list or len(found) > MOST_PACES or not all(map(_is_pace, found)):
        raise _wrong("limits.paces", found, f"at most {MOST_PACES} pairs: microseconds from 1 on, and a burst from 1 to {MOST_BURST}")
    return tuple(Pace(every, burst) for every, burst in found)


def _is_pace(found: Any) -> bool:
    if type(found) is not list or len(found) != 2 or not all(type(number) is int for number in found):
        return False
    every, burst = int(found[0]), int(found[1])
    return 1 <= every <= LONGEST_PACE_US and 1 <= burst <= MOST_BURST


def _number(found: Any, field: str = "concurrency") -> int | None:
    if found is None or (type(found) is int and UNLIMITED <= found <= MOST_PERMITS):
        return found
    raise _wrong(f"limits.{field}", found, f"a whole number from 0 to {MOST_PERMITS}, {UNLIMITED} for no limit, or null")


def _seconds(found: Any) -> tuple[float | None, float | None] | None:
    if found is None:
        return None
    if type(found) is not list or len(found) != 2 or not all(map(_is_seconds, found)):
        raise _wrong("limits.time", found, "two numbers of seconds above 0 (either may be null), or null")
    return found[0], found[1]


def _is_seconds(found: Any) -> bool:
    return found is None or (type(found) in (int, float) and 0 < found < LONGEST_LIMIT_S)


def _wrong(field: str, found: object, wanted: str) -> MessageRefused:
    return MessageRefused(refusals.SCHEMA, field, f"{shown(str(found))} is not {wanted}")


def concurrency(value: object, name: str = "concurrency") -> Concurrency:
    """Return *value* as a limit of concurrency: 0 (suspended) to 1 000, or a range.

    Raises:
        OptionError: it is not one of these.
    """
    if isinstance(value, Range):
        ends: tuple[object, object] = value.low, value.high
        if not all(_is_whole(end) for end in ends) or not 0 <= value.low <= value.high <= MOST_PERMITS:
            raise OptionError(f"{name}: Range({value.low!r}, {value.high!r}): give whole numbers, 0 <= low <= high <= {MOST_PERMITS}")
        strategy: object = value.strategy
        if not callable(strategy) or not value.every > 0:
            raise OptionError(f"{name}: a Range takes a function without arguments that returns the limit, and seconds above 0")
        return value
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_PERMITS:
        raise OptionError(f"{name}: {value!r} is not a whole number from 0 (suspended) to {MOST_PERMITS}, nor a Range(low, high, function)")
    return value


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


class Slot(NamedTuple):
    """The slot of a message: *at* (epoch µs), under the *rule* (`sedano.model.limits.rate.rule_text`); *late*: how many earlier slots it
    missed.
    """

    at: int
    late: int
    rule: str


SLOT, QUIET = "sedano-slot", "sedano-quiet"
"""Attributes of a message that was sent again: its slot, and the time since when it waits for a debounce (epoch µs)."""
LATE_US, LATE_FACTOR, LATE_MOST_US = 2 * SECOND, 4, 3_600 * SECOND
"""How long the first slot stays valid. After each missed slot, the next one stays valid for four times as long, so that a task also runs if
workers are far behind.
"""


def slot_text(slot: Slot) -> str:
    """Return *slot* as the attribute of a message."""
    return f"{slot.at}/{slot.late}/{slot.rule}"


def slot_of(text: str) -> Slot | None:
    """Return the slot in the text of an attribute; None if it is not valid."""
    at, _, rest = text.partition("/")
    late, _, rule = rest.partition("/")
    if not (at.isascii() and at.isdigit() and late.isascii() and late.isdigit() and rule) or len(at) > 18 or len(late) > 3:
        return None
    if int(at) > LAST_SECOND * SECOND:
        return None
    return Slot(int(at), int(late), rule)


def kept(slot: Slot) -> int:
    """Return until when *slot* is valid (epoch µs)."""
    patience: int = LATE_US * LATE_FACTOR**slot.late
    return slot.at + min(patience, LATE_MOST_US)
