"""Two meanings of cron that were written apart from ours, and expressions, zones and changes of clocks to compare them on.

The first is the library cronsim, which follows Debian's cron. The second reads nothing but matching wall times out of cronsim and finds
the moments by looking at every minute of a window on the zone's clock: slow, plain, and for every policy.
"""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from cronsim import CronSim

from sedano.model.schedules.timetable import cron

BEGIN, END = datetime(2020, 1, 1, tzinfo=UTC), datetime(2036, 1, 1, tzinfo=UTC)
ZONES = (
    "Europe/Berlin", "Europe/London", "Europe/Dublin", "America/New_York", "America/St_Johns", "America/Havana", "America/Asuncion",
    "America/Santiago", "America/Nuuk", "Atlantic/Azores", "Africa/Casablanca", "Africa/Cairo", "Asia/Beirut", "Asia/Gaza", "Asia/Tehran",
    "Asia/Amman", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Sydney", "Australia/Lord_Howe", "Antarctica/Casey", "Antarctica/Troll",
    "Pacific/Auckland", "Pacific/Chatham", "Pacific/Norfolk", "Pacific/Apia", "Europe/Volgograd", "UTC",
)  # fmt: skip
POLICIES = tuple((gap, fold) for gap in (None, "next", "skip") for fold in (None, "first", "both"))
_WINDOW = timedelta(hours=14)
_MARGIN_S = 4 * 3_600


class Change(NamedTuple):
    """Clocks of *zone* that leap by *leap* seconds at *moment* (epoch s)."""

    zone: str
    moment: int
    leap: int


@cache
def changes(zone: str) -> tuple[Change, ...]:
    """Return every change of the clocks of *zone* from 2020 to 2035."""
    place, found = ZoneInfo(zone), []
    day = BEGIN
    while day < END:
        after = day + timedelta(days=1)
        if _offset(day, place) != _offset(after, place):
            early, late = day, after
            while late - early > timedelta(seconds=1):
                middle = early + (late - early) // 2
                early, late = (middle, late) if _offset(middle, place) == _offset(day, place) else (early, middle)
            moment = round(late.timestamp())
            found.append(Change(zone, moment, int((_offset(after, place) - _offset(day, place)).total_seconds())))
        day = after
    return tuple(found)


def expression(rng: random.Random) -> str:
    """Draw an expression; hours of the night, when clocks change, more often than others."""
    minute = rng.choice(["0", "30", "*/15", "*/7", "*", "5-50/9", "59", "1,31", str(rng.randrange(60))])
    hour = rng.choice(["*", "*/2", "*/5", "0", "1", "2", "3", "23", "0-3", "1,2", "22-23", "2-4/2", str(rng.randrange(24))])
    day = rng.choice(["*", "*", "*", "*/2", "L", "LW", "1-15", "25-31", "1,15,29", str(rng.randint(1, 28))])
    month = rng.choice(["*", "*", "*", "MAR,OCT", "3-4", "*/2", "9-11", str(rng.randint(1, 12))])
    week = rng.choice(["*", "*", "*", "SUN", "0,7", "MON-FRI", "5-7", "6L", "SUN#4", "SUN#1,SUN#5", "*/3", "SAT"])
    return f"{minute} {hour} {day} {month} {week}"


def by_cronsim(text: str, zone: str, after: int, until: int) -> list[int]:
    """Return what cronsim, with its own rule for changes of clocks, answers between two moments (epoch s)."""
    found: list[int] = []
    for moment in CronSim(text, datetime.fromtimestamp(after, ZoneInfo(zone))):
        if moment.timestamp() > until:
            break
        if moment.timestamp() > after:
            found.append(int(moment.timestamp()))
    return sorted(set(found))


def by_minutes(text: str, zone: str, policy: tuple[str | None, str | None], after: int, until: int) -> list[int]:
    """Return what the declared *policy* says, by looking at each minute of the clocks between two moments and a margin around them."""
    place, fields = ZoneInfo(zone), text.split()
    wild = fields[0].startswith("*") or fields[1].startswith("*")
    gap, fold = policy[0] or ("skip" if wild else "next"), policy[1] or ("both" if wild else "first")
    shown: dict[datetime, list[int]] = {}
    order: list[tuple[int, datetime]] = []
    for moment in range(after - _MARGIN_S - after % 60, until + _MARGIN_S, 60):
        wall = datetime.fromtimestamp(moment, place).replace(tzinfo=None, fold=0)
        shown.setdefault(wall, []).append(moment)
        order.append((moment, wall))
    found: set[int] = set()
    for wall in _walls(text, order[0][1], max(wall for _, wall in order)):
        moments = shown.get(wall)
        if moments is not None:
            found.update(moments if fold == "both" else moments[:1])
        elif gap == "next":
            found.add(next(moment for moment, other in order if other > wall and moment > order[0][0]))
    return sorted(moment for moment in found if after < moment <= until)


def ours(text: str, zone: str, policy: tuple[str | None, str | None], after: int, until: int) -> list[int]:
    """Return what `sedano.model.schedules.timetable` answers between two moments (epoch s)."""
    found: list[int] = []
    for moment in cron(text, tz=zone, on_gap=policy[0], on_fold=policy[1]).following(after):  # type: ignore[arg-type]
        if moment > until:
            break
        found.append(moment)
    return found


def every_change() -> tuple[Change, ...]:
    """Return every change of the clocks of all `ZONES` from 2020 to 2035."""
    return tuple(change for zone in ZONES for change in changes(zone))


def disagreements(rng: random.Random, number: int) -> Iterator[str]:
    """Compare *number* drawn expressions, each over 28 hours around one of all changes in turn and around any moment of any zone."""
    span, all_changes = int(_WINDOW.total_seconds()), every_change()
    for turn in range(number):
        change, policy = all_changes[turn % len(all_changes)], POLICIES[turn % len(POLICIES)]
        anywhere = (rng.choice(ZONES), rng.randrange(int(BEGIN.timestamp()), int(END.timestamp())))
        for zone, moment in ((change.zone, change.moment), anywhere):
            yield from _differing(expression(rng), zone, policy, moment - span, moment + span)


def _differing(text: str, zone: str, policy: tuple[str | None, str | None], after: int, until: int) -> Iterator[str]:
    mine, plain = ours(text, zone, policy, after, until), by_minutes(text, zone, policy, after, until)
    if mine != plain:
        yield f"{text} in {zone} under {policy} from {after} to {until}: {mine} and by minutes {plain}"
    if not _cronsim_misses(text, zone, after, until):
        default, theirs = ours(text, zone, (None, None), after, until), by_cronsim(text, zone, after, until)
        if default != theirs:
            yield f"{text} in {zone} from {after} to {until}: {default} and by cronsim {theirs}"


def _cronsim_misses(text: str, zone: str, after: int, until: int) -> bool:
    """Tell whether cronsim answers what its own rule does not say: it walks through wild expressions by whole hours, so it leaps over
    minutes where clocks change by half an hour or amid an hour, and it takes a midnight for shown that a gap has swallowed."""
    if not any(field.startswith("*") for field in text.split()[:2]):
        return False
    place = ZoneInfo(zone)
    for change in changes(zone):
        if after - 86_400 < change.moment < until + 86_400:
            begin, end = (datetime.fromtimestamp(change.moment - 1, place), datetime.fromtimestamp(change.moment, place))
            amid = change.leap % 3_600 != 0 or begin.minute != 59
            if amid or (change.leap > 0 and end.date() != begin.date()):
                return True
    return False


def _offset(moment: datetime, place: ZoneInfo) -> timedelta:
    return moment.astimezone(place).utcoffset() or timedelta()


def _walls(text: str, first: datetime, last: datetime) -> Iterator[datetime]:
    for wall in CronSim(text, first - timedelta(minutes=1)):
        if wall > last:
            return
        yield wall
