"""The contents of the report, read from the tables: bounded in size, however long the history is."""

import math
from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

from glue_jobs.pipeline.latency import LATENCIES
from glue_jobs.pipeline.report.span import Span, spanned, within
from glue_jobs.pipeline.tables.latency import figures, taken_apart
from sedano.errors import OptionError

Tables = Mapping[str, DataFrame]
Content = dict[str, Any]

INTERVALS: Final = 120
HEAT_COLUMNS: Final = 60
LANES: Final = 24
EACH_KIND: Final = 3
LANE_CELLS: Final = 240
#: Seconds at which the rows of the heat map begin.
HEAT_ROWS: Final = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
#: How long an interval of the curve may be, in seconds.
_WIDTHS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400)
_STEPS = ("sent", "started", "succeeded", "failed", "retried")


def gathered(tables: Tables, root: str | None = None) -> Content:
    """Return everything that the page shows.

    Args:
        tables: the tables of one snapshot, by name.
        root: the canvas whose critical path is shown; None: the one that took longest.

    Raises:
        OptionError: there is no canvas *root*.
    """
    task_rows = tables["tasks"]
    span = spanned(task_rows, tables["workers"])
    return {
        **span._asdict(),
        "states": {row["state"]: row["count"] for row in task_rows.groupBy("state").count().orderBy("state").collect()},
        "quarantined": tables["quarantine"].count(),
        "throughput": _throughput(tables, span),
        "latency": _latency(task_rows),
        "heat": _heat(task_rows, span),
        "flow": _flow(task_rows),
        "failures": _top(tables["failures"], 8, F.desc("poison"), F.desc(F.col("failures") + F.col("retries")), "name"),
        "lanes": _lanes(tables, span),
        "canvas": _canvas(tables["canvas"], root, span),
        "cost": _cost(tables["cost"]),
        "anomalies": _anomalies(tables["anomalies"]),
    }


def _throughput(tables: Tables, span: Span) -> Content:
    """Return what happened in each of at most `INTERVALS` intervals of a round length."""
    begin, end = span.begin, span.end
    seconds = next((width for width in _WIDTHS if width * INTERVALS >= end - begin), (end - begin) / INTERVALS)
    start = math.floor(begin / seconds) * seconds
    curve = tables["throughput"].withColumnRenamed("second", "at") if seconds >= 1 else _moments(tables)
    place = F.floor((F.col("at") - start) / seconds)
    places = range(math.floor((end - start) / seconds) + 1)
    sums = curve.where(place.between(places[0], places[-1])).groupBy(place.alias("place")).agg(*[F.sum(s).alias(s) for s in _STEPS])
    found = {row["place"]: row for row in sums.collect()}
    return {"begin": start, "seconds": seconds, **{step: [found[n][step] if n in found else 0 for n in places] for step in _STEPS}}


def _moments(tables: Tables) -> DataFrame:
    """Return each step with its exact time, for histories that are shorter than a few minutes."""
    sent = tables["tasks"].select(F.col("sent").alias("at"), F.lit("sent").alias("step"))
    started = tables["attempts"].select(F.col("started").alias("at"), F.lit("started").alias("step"))
    words = {"SUCCESS": "succeeded", "FAILURE": "failed", "RETRY": "retried"}
    ends = F.coalesce(*[F.when(F.col("outcome") == state, F.lit(step)) for state, step in words.items()])
    ended = tables["attempts"].select(F.col("ended").alias("at"), ends.alias("step"))
    moments = sent.unionByName(started).unionByName(ended).where(F.col("at").isNotNull())
    return moments.select("at", *[F.when(F.col("step") == step, 1).otherwise(0).alias(step) for step in _STEPS])


def _latency(task_rows: DataFrame) -> Content:
    """Return the percentiles of all tasks, and of the most frequent names."""
    everyone = task_rows.groupBy(F.lit("all tasks").alias("name")).agg(F.count("*").alias("tasks"), *figures()).select("*", *taken_apart())
    by_name = task_rows.where(F.col("name").isNotNull()).groupBy("name")
    named = by_name.agg(F.count("*").alias("tasks"), *figures()).select("*", *taken_apart())
    columns = ["name", "tasks", *[f"{c}_{figure}" for c in LATENCIES for figure in ("p50", "p90", "p95", "p99", "max")]]
    return {"all": _first(everyone.select(*columns)), "by_name": _top(named.select(*columns), 12, F.desc("tasks"), "name")}


def _heat(task_rows: DataFrame, span: Span) -> Content:
    """Return how many tasks ended in each interval after how long, from end to end."""
    width = (span.end - span.begin) / HEAT_COLUMNS
    column = F.least(F.floor((F.col("finished") - span.begin) / width), F.lit(HEAT_COLUMNS - 1))
    row = sum((F.when(F.col("total_seconds") >= edge, 1).otherwise(0) for edge in HEAT_ROWS[1:]), F.lit(0))
    ended = task_rows.where(within("finished", span) & F.col("total_seconds").isNotNull())
    cells = ended.groupBy(column.alias("column"), row.alias("row")).count().collect()
    return {"columns": HEAT_COLUMNS, "cells": sorted((cell["column"], cell["row"], cell["count"]) for cell in cells)}


def _flow(task_rows: DataFrame) -> list[Content]:
    """Return how many tasks went which way: received or not, started or not, and the state they are in."""
    way = [F.col("received").isNotNull().alias("received"), F.col("started").isNotNull().alias("started"), F.col("state")]
    grouped = task_rows.groupBy(*way).agg(F.count("*").alias("tasks"), F.count(F.when(F.col("attempts") > 1, True)).alias("again"))
    return [row.asDict() for row in grouped.orderBy(F.desc("tasks"), "state", "received", "started").collect()]


def _lanes(tables: Tables, span: Span) -> list[Content]:
    """Return the busiest sessions, each with how many tasks it was running on average in each cell of time, and when some failed."""
    sessions, begin, end = _top(tables["workers"], LANES, F.desc("runs"), "hostname", "pid"), span.begin, span.end
    width = (end - begin) / LANE_CELLS
    until = F.greatest(F.coalesce("ended", F.lit(end)), "started")
    of_these = F.col("worker").isin([one["hostname"] for one in sessions])
    ran = tables["attempts"].where(of_these & within("started", span) & within(until, span))
    touched = F.sequence(_cell("started", begin, width), _cell(until, begin, width))
    cells = ran.select("worker", "started", until.alias("until"), F.explode(touched).alias("cell"))
    begins = F.lit(begin) + F.col("cell") * width
    overlap = F.greatest(F.least("until", begins + width) - F.greatest("started", begins), F.lit(0.0))
    busy = cells.groupBy("worker", "cell").agg((F.sum(overlap) / width).alias("busy")).collect()
    failed = ran.where(F.col("outcome") == "FAILURE").groupBy("worker", _cell("ended", begin, width).alias("cell")).count().collect()
    for one in sessions:
        one["busy"] = sorted((c["cell"], c["busy"]) for c in busy if _of(one, c, begin, width))
        one["failed"] = sorted(c["cell"] for c in failed if _of(one, c, begin, width))
    return sorted(sessions, key=lambda one: (one["hostname"], one["online"]))


def _cell(at: str | Column, begin: float, width: float) -> Column:
    place = F.floor(((F.col(at) if isinstance(at, str) else at) - begin) / width)
    return F.least(F.greatest(place, F.lit(0)), F.lit(LANE_CELLS - 1)).cast("int")


def _of(session: Content, cell: Row, begin: float, width: float) -> bool:
    """Return whether a cell belongs to a session: one name may have had several."""
    within = session["online"] - 2 * width <= begin + cell["cell"] * width <= session["last_seen"] + 2 * width
    return within and bool(cell["worker"] == session["hostname"])


def _canvas(canvases: DataFrame, root: str | None, span: Span) -> Content | None:
    """Return the canvas *root*; without a root the one that took longest, preferably one that is completely shown."""
    if root is None:
        shown = within("began", span) & within(F.coalesce("ended", "began"), span)
        order = (F.desc(shown), F.desc(F.least(F.size("critical_path"), F.lit(3))), F.desc("seconds"), "root_id")
        return next(iter(_top(canvases, 1, *order)), None)
    found = _top(canvases.where(F.col("root_id") == root), 1, "root_id")
    if not found:
        raise OptionError(f"--root: no canvas begins with the task {root!r}; the table `canvas` lists them")
    return found[0]


def _cost(cost: DataFrame) -> Content:
    measured = F.count(F.when(F.col("basis") == "measured", True)).alias("measured")
    total = _first(cost.agg(F.sum("nanodollars").alias("nanodollars"), measured))
    named = cost.groupBy("name").agg(*[F.sum(c).alias(c) for c in ("tasks", "attempts", "nanodollars")])
    by_name = _top(named, 12, F.desc("nanodollars"), "name")
    return {"nanodollars": total["nanodollars"] or 0, "measured": total["measured"], "by_name": by_name}


def _anomalies(anomalies: DataFrame) -> list[Content]:
    """Return the most important findings of each kind, with the number of all."""
    kinds = ("lost-worker", "stuck-task", "clock-skew", "absorbed", "out-of-order", "duplicates")
    rank = F.coalesce(*[F.when(F.col("kind") == kind, F.lit(n)) for n, kind in enumerate(kinds)])
    of_kind = Window.partitionBy("kind")
    placed = F.row_number().over(of_kind.orderBy(F.desc("count"), F.desc("value"), "subject"))
    ranked = anomalies.select("*", rank.alias("rank"), placed.alias("place"), F.count("*").over(of_kind).alias("all"))
    return _top(ranked.where(F.col("place") <= EACH_KIND), EACH_KIND * len(kinds), "rank", "place")


def _top(table: DataFrame, most: int, *order: str | Column) -> list[Content]:
    return [row.asDict(recursive=True) for row in table.orderBy(*order).limit(most).collect()]


def _first(table: DataFrame) -> Content:
    row = table.first()
    return row.asDict() if row is not None else {}
