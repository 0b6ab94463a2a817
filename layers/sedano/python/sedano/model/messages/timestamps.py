"""Times: on the wire RFC 3339 in UTC with microseconds (``2026-11-20T11:00:00.123456Z``), in the code seconds since the epoch.

Reads every RFC 3339 time with upper-case ``T`` and ``Z`` from 1970 to 9999, offsets included; digits beyond the microsecond are dropped and
a leap second (``:60``) is refused. A time in whole microseconds survives the round trip exactly until 2106 (a double is not precise enough
for later ones). Both directions cache the last seconds, because a batch has few different ones.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

LAST_SECOND = 253_402_300_799
"""The last second of the year 9999 (since the epoch)."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WANTED = "not a time such as 2026-11-20T11:00:00.123456Z (RFC 3339)"
_DAY_AND_TIME = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
_ZONE = "Z|[+-][0-9]{2}:[0-9]{2}"
_PARTS = re.compile(rf"({_DAY_AND_TIME})(?:\.([0-9]{{1,9}}))?({_ZONE})").fullmatch
_WHOLE = re.compile(rf"{_DAY_AND_TIME}(?:{_ZONE})").fullmatch


def write(moment: float) -> str:
    """Return *moment* (epoch seconds) as RFC 3339 text.

    Raises:
        ValueError: it is before 1970 or after the year 9999.
    """
    if not 0 <= moment < LAST_SECOND:
        raise ValueError(f"{moment} is not between 1970 and 9999")
    second = int(moment)
    micros = round((moment - second) * 1e6)
    if micros == 1_000_000:
        second, micros = second + 1, 0
    return f"{_second_text(second)}.{micros:06d}Z"


def read(text: str) -> float:
    """Return the epoch seconds of RFC 3339 *text*.

    Raises:
        ValueError: it is not RFC 3339, names a day that does not exist, or is before 1970 or after the year 9999.
    """
    if len(text) == 27 and text[19] == "." and text[26] == "Z" and text.isascii() and text[20:26].isdigit():
        return moment(text[:19], text[20:26])
    parts = _PARTS(text)
    if parts is None:
        raise ValueError(_WANTED)
    second, fraction, zone = parts.groups()
    micros = int(fraction[:6].ljust(6, "0")) if fraction else 0
    return (_second(second + zone) * 1_000_000 + micros) / 1_000_000


def shown(moment: float) -> str:
    """Return *moment* (epoch seconds) as readable text in UTC, to the second."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def moment(second: str, micros: str) -> float:
    """Return the epoch seconds of *second* (such as 2026-11-21T18:00:00, UTC) and six digits of *micros*; raise as `read` does."""
    return (_second(second + "Z") * 1_000_000 + int(micros)) / 1_000_000


@lru_cache(maxsize=128)
def _second_text(second: int) -> str:
    return (_EPOCH + timedelta(seconds=second)).isoformat()[:19]


@lru_cache(maxsize=128)
def _second(text: str) -> int:
    if not _WHOLE(text):
        raise ValueError(_WANTED)
    second = (datetime.fromisoformat(text) - _EPOCH) // timedelta(seconds=1)
    if not 0 <= second < LAST_SECOND:
        raise ValueError("is not between 1970 and 9999")
    return second
