"""The time that the charts show: all of the history, except for a few events that are far from all others.

Otherwise one machine whose clock showed 1970 would compress all other events into one column. A clock cannot be proved wrong, so the
distribution of the events decides: they are left out if they are at most one in twenty and an empty period separates them from the rest.
They are left out of the charts over time, and the page shows their number; tables and figures include them.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from glue_jobs.pipeline.schema import TIMES

#: At most one event in so many is left out on either side, and never more than `MOST`; of fewer than `FEWEST` all are shown.
ONE_IN: Final = 20
MOST: Final = 1000
FEWEST: Final = 4
#: Empty time separates when it is so many times as long as all the rest, and longer than a day.
FAR: Final = 100.0
DAY_S: Final = 86_400.0
SHORTEST_S: Final = 1e-3


class Span(NamedTuple):
    """The period that the charts show (epoch seconds), how many events are *outside*, and the *earliest* and *latest* of all."""

    begin: float
    end: float
    outside: int = 0
    earliest: float = 0.0
    latest: float = 0.0


def spanned(task_rows: DataFrame, sessions: DataFrame) -> Span:
    """Return the span of the tasks *task_rows*; without any task that of the workers' *sessions*; without both the beginning of 1970."""
    return _span(task_rows, "first", *TIMES) or _span(sessions, "online", "last_seen") or Span(0.0, SHORTEST_S)


def within(at: str | Column, span: Span) -> Column:
    """Return whether a time is shown."""
    return (F.col(at) if isinstance(at, str) else at).between(span.begin, span.end)


def near(lowest: Sequence[float], highest: Sequence[float]) -> tuple[float, float]:
    """Return the interval without the distant events.

    Args:
        lowest: the earliest times, in order; the last of them is shown in any case.
        highest: the latest times, the very latest first; the last of them is shown in any case.
    """
    begin, end = lowest[-1], highest[-1]
    for at in reversed(lowest[:-1]):
        if _is_far(begin - at, end - begin):
            break
        begin = at
    for at in reversed(highest[:-1]):
        if _is_far(at - end, end - begin):
            break
        end = at
    return begin, end


def _is_far(gap: float, rest: float) -> bool:
    return gap > max(DAY_S, FAR * rest)


def _span(table: DataFrame, *times: str) -> Span | None:
    """Return the span of these columns; None when they hold no time."""
    moments = table.select(F.explode(F.array_distinct(F.array(*times))).alias("at")).where(F.col("at").isNotNull())
    known = moments.agg(F.min("at").alias("earliest"), F.max("at").alias("latest"), F.count("*").alias("count")).collect()[0]
    if not known["count"]:
        return None
    begin, end = earliest, latest = known["earliest"], known["latest"]
    if known["count"] >= FEWEST and latest - earliest > DAY_S:
        few = min(MOST, max(1, known["count"] // ONE_IN))
        begin, end = near(*(_ends(moments.orderBy(order), few + 1) for order in (F.asc("at"), F.desc("at"))))
    end = max(end, begin + SHORTEST_S)
    outside = 0 if begin == earliest and end >= latest else moments.where(~F.col("at").between(begin, end)).count()
    return Span(begin, end, outside, earliest, latest)


def _ends(ordered: DataFrame, most: int) -> list[float]:
    return [row["at"] for row in ordered.limit(most).collect()]
