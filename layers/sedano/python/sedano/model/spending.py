"""Spending: the dollars that the tasks of an app, or of one tenant, cost in a UTC day, and the limit of that. Pure.

The costs are those of the history at list prices (`sedano.model.history.invocation_prices`), in nanodollars. When the spending of a day
reaches the limit, tasks are paused until the end of the day. Such a pause lasts from the begin to the end of the UTC day. A person's pause
begins when it is made, so the window shows which pauses belong to a spending limit, and no other pause is changed.

The controller keeps a `SpendingMark` for each limit. It acts once for each level that the spending reaches: if a person ends the pause,
it is not made again on the same day, unless the limit changes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import NamedTuple

from sedano.errors import OptionError
from sedano.model.history.invocation_prices import NANO
from sedano.model.memos import SPENDING, memo_name, parts
from sedano.model.pauses import QUEUE, TENANT, Pause, parsed, without_pause

DAY_S = 86_400
NEAR, REACHED = 80, 100
"""The levels, in percent of a limit, at which the controller warns, and pauses."""
MOST_NANODOLLARS = 1_000_000 * NANO
BY = "spending"
"""The author of the pauses, as operators see it."""
_amount = re.compile(r"(\d{1,7})(?:\.(\d{1,9}))? USD").fullmatch
_number = re.compile(r"\d{1,7}(?:\.\d{1,9})?").match


class SpendingLimit(NamedTuple):
    """The most *nanodollars* that the tasks of *tenant* may cost in a UTC day; an empty tenant: the whole app."""

    tenant: str
    nanodollars: int

    @property
    def owner(self) -> str:
        """The owner of the limit in words."""
        return f"the tenant {self.tenant}" if self.tenant else "the app"


class SpendingMark(NamedTuple):
    """The last level of one limit that the controller acted on: the *day* (its first second, epoch s), the *limit* at that time, the
    *level* in percent, and the *spent* nanodollars."""

    day: int = 0
    limit: int = 0
    level: int = 0
    spent: int = 0

    @property
    def text(self) -> str:
        """This mark as the text of its memo."""
        return json.dumps([*self])


class SpendingVerdict(NamedTuple):
    """The decision for one limit: keep *mark* in place of the last one if it *changed*, and *pause* or *resume* tasks."""

    mark: SpendingMark
    changed: bool = False
    pause: bool = False
    resume: bool = False


def nanodollars(text: object, what: str) -> int:
    """Return the amount in *text*, such as ``0.50 USD``; *what* is the name of the option for the error.

    Raises:
        OptionError: it is not such an amount, or not between 0 and a million dollars.
    """
    found = _amount(text) if isinstance(text, str) else None
    if found is None:
        near = _number(text) if isinstance(text, str) else None
        raise OptionError(f"{what}: {text!r} is not an amount in US dollars; write '{near[0] if near else '0.50'} USD'")
    amount = int(found[1]) * NANO + int((found[2] or "").ljust(9, "0"))
    if not 0 < amount <= MOST_NANODOLLARS:
        raise OptionError(f"{what}: {text} is not more than 0 and at most 1000000 USD")
    return amount


def dollars(nanos: int) -> str:
    """Return *nanos* nanodollars as an amount, with as many digits as it needs and at least two decimals: ``0.50 USD``."""
    whole, rest = divmod(nanos, NANO)
    return f"{whole}.{f'{rest:09}'.rstrip('0').ljust(2, '0')} USD"


def day_of(now: float) -> int:
    """Return the first second (epoch s) of the UTC day of *now*."""
    return int(now) // DAY_S * DAY_S


def level_of(spent: int, limit: int) -> int:
    """Return the level that *spent* has reached of *limit*: 0, `NEAR` or `REACHED`."""
    return REACHED if spent >= limit else NEAR if spent * 100 >= limit * NEAR else 0


def judged(limit: SpendingLimit, spent: int, last: SpendingMark, now: float) -> SpendingVerdict:
    """Return what follows from the nanodollars *spent* in the day of *now*, after the *last* mark of this limit.

    The level does not fall while day and limit are the same. A changed limit is judged anew: it pauses again, or resumes.
    """
    day = day_of(now)
    is_same = (last.day, last.limit) == (day, limit.nanodollars)
    level = level_of(spent, limit.nanodollars)
    if (last.level if is_same else 0) >= level and (is_same or last.day != day):
        return SpendingVerdict(last)
    pause, was_paused = level == REACHED, (last.day, last.level) == (day, REACHED)
    return SpendingVerdict(SpendingMark(day, limit.nanodollars, level, spent), changed=True, pause=pause, resume=was_paused and not pause)


def pauses_of(limit: SpendingLimit, queues: tuple[str, ...], now: float) -> tuple[Pause, ...]:
    """Return the pauses of *limit* for the day of *now*: of its tenant, or of all *queues* of the app."""
    targets = ((TENANT, limit.tenant),) if limit.tenant else tuple((QUEUE, queue) for queue in queues)
    return tuple(Pause(kind, name, day_of(now), day_of(now) + DAY_S) for kind, name in targets)


def with_own(paused: frozenset[str], own: Iterable[Pause], now: float) -> frozenset[str]:
    """Return the pauses *paused* with the *own* ones beside those of people; expired pauses are removed."""
    return without_pause(paused, "", "", now) | {one.text for one in own}


def is_alone(paused: Iterable[str], own: Pause) -> bool:
    """Return whether *own* is in *paused*, and no other pause of its target is."""
    found = [one for one in map(parsed, paused) if one is not None and (one.kind, one.name) == (own.kind, own.name)]
    return found == [own]


def reason_of(limit: SpendingLimit, spent: int) -> str:
    """Return the reason of a pause: the dollars *spent* and the limit."""
    return f"{dollars(spent)} of {dollars(limit.nanodollars)} spent in this UTC day"


def memo_of(limit: SpendingLimit) -> str:
    """Return the name of the memo with the mark of *limit*."""
    return memo_name(SPENDING, f"tenant={limit.tenant}" if limit.tenant else "app")


def mark_of(text: str) -> SpendingMark:
    """Return the mark in the *text* of a memo; an empty mark if *text* is not valid."""
    try:
        found = parts(text) if text else None
    except ValueError:
        return SpendingMark()
    if not isinstance(found, list) or len(found) != len(SpendingMark._fields) or not all(type(one) is int for one in found):
        return SpendingMark()
    return SpendingMark(*found)
