"""The moments of a schedule: cron in a time zone, an interval in seconds, or given moments. Pure: the start of a search is an argument.

All times are whole seconds since the epoch (UTC), so two controllers compute the same numbers. The behaviour at clock changes is declared:

- a **gap** (02:30 does not exist): ``next`` runs at the first moment after the gap, ``skip`` does not run;
- a **fold** (02:30 occurs twice): ``first`` runs at the first of the two, ``both`` runs at each.

The defaults are the behaviour of Debian's cron: an expression whose minute or hour begins with a star runs by elapsed time (not in a gap,
twice in a fold); any other expression runs once a day in both cases (``next``, ``first``). See docs/time.md.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sedano.errors import OptionError
from sedano.model.schedules.cron import Expression, read_cron

OnGap = Literal["next", "skip"]
OnFold = Literal["first", "both"]
ON_GAP: tuple[OnGap, ...] = ("next", "skip")
ON_FOLD: tuple[OnFold, ...] = ("first", "both")
Policy = TypeVar("Policy", OnGap, OnFold)
YEAR_S = 366 * 86_400
MOST_MOMENTS = 1_000
END_S = 253_370_764_800
"""The beginning of the year 9999, the end of every timetable: no time zone of a calendar reaches the year 10 000."""
_DAY = timedelta(days=1)
_DAY_S = 86_400


class Cron(NamedTuple):
    """A cron *expression* on the wall clock of *tz*; *on_gap* and *on_fold* are the behaviour at clock changes. Created by `cron`."""

    expression: str
    tz: str = "UTC"
    on_gap: OnGap | None = None
    on_fold: OnFold | None = None

    def following(self, after: float) -> Iterator[int]:
        """Yield the moments later than *after* (epoch s), in order."""
        read, zone = read_expression(self.expression), read_zone(self.tz)
        gap = self.on_gap or ("skip" if read.wild else "next")
        fold = self.on_fold or ("both" if read.wild else "first")
        waiting: set[int] = set()
        last = after
        for day in read.dates((datetime.fromtimestamp(after, zone) - _DAY).date()):
            begin = min(_showing(datetime.combine(day, time()), zone))
            ready = {moment for moment in waiting if moment < begin}
            for moment in sorted(ready):
                if moment > last:
                    yield (last := moment)
            waiting = waiting - ready | set(_moments_of(read, day, zone, gap, fold))
        yield from sorted(moment for moment in waiting if moment > last)


class Every(NamedTuple):
    """Every *seconds* seconds (1 to a year), counted from *start* (epoch s), its first moment. Created by `every`."""

    seconds: int
    start: int = 0

    def following(self, after: float) -> Iterator[int]:
        """Yield the moments later than *after* (epoch s), in order, up to the end of the calendar."""
        number = max(0, int((after - self.start) // self.seconds) + 1)
        yield from range(self.start + number * self.seconds, END_S, self.seconds)


class At(NamedTuple):
    """At these *moments* (epoch s), in order. Created by `at`."""

    moments: tuple[int, ...]

    def following(self, after: float) -> Iterator[int]:
        """Yield the moments later than *after* (epoch s), in order."""
        return (moment for moment in self.moments if moment > after)


Timetable = Cron | Every | At


def cron(expression: str, *, tz: str = "UTC", on_gap: OnGap | None = None, on_fold: OnFold | None = None) -> Cron:
    """Return a timetable by a cron *expression* of five fields on the wall clock of the zone *tz* (``Europe/Berlin``).

    Args:
        expression: minute, hour, day-of-month, month, day-of-week; or ``@hourly``, ``@daily``, ``@weekly``, ``@monthly``, ``@yearly``.
        tz: a name of the IANA time zone database.
        on_gap: the behaviour for a time that a clock change skips: ``next`` runs at the end of the gap, ``skip`` does not run.
        on_fold: the behaviour for a time that occurs twice: ``first`` runs once, ``both`` runs each time.

    Raises:
        OptionError: the expression is not valid or never occurs, the time zone is unknown, or a policy is not one of these.
    """
    read_expression(expression)
    read_zone(tz)
    for name, given, known in (("on_gap", on_gap, ON_GAP), ("on_fold", on_fold, ON_FOLD)):
        if given is not None and given not in known:
            raise OptionError(f"{name}: {given!r} is not one of {', '.join(known)}")
    return Cron(expression, tz, on_gap, on_fold)


def every(seconds: float = 0, *, minutes: float = 0, hours: float = 0, days: float = 0, start: datetime | None = None) -> Every:
    """Return a timetable by elapsed time, with an interval of whole seconds from 1 s to a year.

    Args:
        seconds: added to *minutes*, *hours* and *days* of 60, 3 600 and 86 400 seconds; a day always has 86 400 s, despite clock changes.
        start: the first moment, with a time zone; by default the epoch, so that all processes compute the same moments.

    Raises:
        OptionError: the interval is not a whole number of seconds from 1 s to a year, or *start* has no time zone.
    """
    for value in (seconds, minutes, hours, days):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise OptionError(f"every: expected a number, got {type(value).__name__}")
    length = seconds + 60 * minutes + 3_600 * hours + 86_400 * days
    if not 1 <= length <= YEAR_S or length != int(length):
        raise OptionError(f"every: {length} s is not a whole number of seconds from 1 to {YEAR_S}")
    return Every(int(length), _moment("start", start) if start is not None else 0)


def at(*moments: datetime) -> At:
    """Return a timetable of given moments (datetimes with a time zone, at most a thousand); fractions of a second are rounded up.

    Raises:
        OptionError: there are no moments or too many, or one has no time zone.
    """
    if not 1 <= len(moments) <= MOST_MOMENTS:
        raise OptionError(f"at: {len(moments)} moments; give 1 to {MOST_MOMENTS}")
    return At(tuple(sorted({_moment("at", moment) for moment in moments})))


def upcoming(timetable: Timetable, after: float, number: int) -> list[datetime]:
    """Return the next *number* moments later than *after* (epoch s), in the timetable's time zone; fewer if the timetable ends."""
    zone = read_zone(timetable.tz) if isinstance(timetable, Cron) else UTC
    return [datetime.fromtimestamp(moment, zone) for moment in islice(timetable.following(after), number)]


def between(timetable: Timetable, after: float, until: float) -> Iterator[int]:
    """Yield the moments later than *after* and not later than *until* (epoch s), in order."""
    for moment in timetable.following(after):
        if moment > until:
            return
        yield moment


@lru_cache(maxsize=256)
def read_expression(text: str) -> Expression:
    """Return the parsed cron expression; the result is cached."""
    return read_cron(text)


@lru_cache(maxsize=256)
def read_zone(name: str) -> ZoneInfo:
    """Return the time zone *name* of the IANA database.

    Raises:
        OptionError: the time zone does not exist, or this machine has no time zone data.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError) as wrong:
        raise OptionError(f"tz: {name!r} is not a time zone of this machine; give a name such as 'Europe/Berlin' or 'UTC'") from wrong


def _moment(name: str, moment: object) -> int:
    if not isinstance(moment, datetime) or moment.utcoffset() is None:
        raise OptionError(f"{name}: expected a datetime with a time zone, got {moment!r}")
    return -int(-moment.timestamp() // 1)


def _showing(wall: datetime, zone: ZoneInfo) -> tuple[int, int]:
    """Return the moments of the wall time *wall* with the offsets before and after a clock change; they are equal without a change."""
    early, late = wall.replace(tzinfo=zone), wall.replace(tzinfo=zone, fold=1)
    return int(early.timestamp()), int(late.timestamp())


def _moments_of(read: Expression, day: date, zone: ZoneInfo, gap: OnGap, fold: OnFold) -> Iterator[int]:
    """Yield the moments of one day, in any order, possibly with duplicates; clocks change at most once a day."""
    midnight = datetime.combine(day, time())
    begin, end = min(_showing(midnight, zone)), max(_showing(midnight + _DAY, zone))
    before, after = _offset(begin, zone), _offset(end, zone)
    change = _clock_change(begin, end, zone) if before != after else end
    clock = int(midnight.replace(tzinfo=UTC).timestamp())
    for hour in read.hours:
        for minute in read.minutes:
            wall = clock + 3_600 * hour + 60 * minute
            early, late = wall - before, wall - after
            if early < change:
                yield early
                if late >= change and fold == "both":
                    yield late
            elif late >= change:
                yield late
            elif gap == "next":
                yield change


def _clock_change(early: int, late: int, zone: ZoneInfo) -> int:
    """Return the moment of the clock change after *early* and not after *late* (epoch s); *late* if the clocks do not change."""
    before = _offset(early, zone)
    return early + bisect_left(range(early, late), True, key=lambda moment: _offset(moment, zone) != before)


def read_timetable(kind: str, values: Sequence[object]) -> Timetable:
    """Return the timetable that `written` wrote as *kind* and *values*, after checking it.

    Raises:
        OptionError: it is not a valid timetable; the message names the field.
    """
    try:
        if kind == "cron":
            expression, tz, on_gap, on_fold = _fields(values, Cron._fields)
            gap, fold = _policy("on_gap", on_gap, ON_GAP), _policy("on_fold", on_fold, ON_FOLD)
            return cron(_text("expression", expression), tz=_text("tz", tz), on_gap=gap, on_fold=fold)
        if kind == "every":
            seconds, start = _fields(values, Every._fields)
            _calendar("start", start)
            return every(_whole("seconds", seconds))._replace(start=_whole("start", start))
        if kind == "at":
            return at(*(_calendar(f"moments[{number}]", moment) for number, moment in enumerate(values)))
    except OptionError as wrong:
        raise OptionError(f"timetable: {kind}: {wrong}") from None
    raise OptionError(f"timetable: {kind!r} is not one of cron, every, at")


def _fields(values: Sequence[object], names: Sequence[str]) -> Sequence[object]:
    if len(values) != len(names):
        raise OptionError(f"{len(values)} values instead of {len(names)}: {', '.join(names)}")
    return values


def _text(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise OptionError(f"{field}: {value!r} is not a string")
    return value


def _whole(field: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise OptionError(f"{field}: {value!r} is not a whole number")
    return value


def _calendar(field: str, value: object) -> datetime:
    seconds = _whole(field, value)
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        raise OptionError(f"{field}: {value!r} is not a time before the year 9999 (epoch s)") from None


def _policy(field: str, value: object, known: Sequence[Policy]) -> Policy | None:
    found = next((policy for policy in known if policy == value), None)
    if found is None and value is not None:
        raise OptionError(f"{field}: {value!r} is not one of {', '.join(known)}")
    return found


def written(timetable: Timetable) -> tuple[str, list[object]]:
    """Return *timetable* as a kind and JSON values, for `read_timetable`."""
    values = timetable.moments if isinstance(timetable, At) else timetable
    return type(timetable).__name__.lower(), list(values)


class ClockChange(NamedTuple):
    """A clock change of this *kind* at *at* (epoch s) that affects a schedule; *policy* is the behaviour; *chosen*: it was declared, not
    the default.
    """

    kind: Literal["gap", "fold"]
    at: int
    policy: str
    chosen: bool


def clock_changes(timetable: Cron, after: float, until: float) -> Iterator[ClockChange]:
    """Yield the clock changes between *after* and *until* (epoch s) at which the policy of *timetable* has an effect.

    A gap affects a schedule of fixed times if its time does not exist on a day, and a fold if its time occurs twice. A clock change does
    not affect a schedule that runs by elapsed time.
    """
    if read_expression(timetable.expression).wild:
        return
    plain = timetable._replace(on_gap="next", on_fold="first")
    for at in _offsets_change(read_zone(timetable.tz), int(after), int(until)):
        span = at - _DAY_S, at + _DAY_S
        usual = list(between(plain, *span))
        if usual != list(between(plain._replace(on_gap="skip"), *span)):
            yield ClockChange("gap", at, timetable.on_gap or "next", timetable.on_gap is not None)
        if usual != list(between(plain._replace(on_fold="both"), *span)):
            yield ClockChange("fold", at, timetable.on_fold or "first", timetable.on_fold is not None)


def _offsets_change(zone: ZoneInfo, after: int, until: int) -> Iterator[int]:
    """Yield the moments of the clock changes of *zone*, in order; two changes within one day count as one."""
    for begin in range(after, until, _DAY_S):
        end = min(begin + _DAY_S, until)
        if _offset(begin, zone) != _offset(end, zone):
            yield _clock_change(begin, end, zone)


def _offset(moment: int, zone: ZoneInfo) -> int:
    """Return by how many seconds the clocks of *zone* are ahead of UTC at *moment* (epoch s)."""
    return int((datetime.fromtimestamp(moment, zone).utcoffset() or timedelta()).total_seconds())
