"""The summary: the tables of one run as a few hundred numbers of JSON, for a report or a gate."""

import math
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from glue_jobs.pipeline.latency import latency
from glue_jobs.pipeline.throughput import widened

#: The most intervals of the curve: people do not read every second.
MOST_INTERVALS = 120


def summary(tables: Mapping[str, DataFrame]) -> dict[str, Any]:
    """Return the sums of the *tables* of a run (by name, as the job writes them)."""
    tasks = tables["tasks"]
    states, reasons = _counts(tasks, "state"), _counts(tables["quarantine"], "reason")
    by_type = {row["type"]: {"events": row["events"], "lines": row["lines"]} for row in tables["lines"].collect()}
    everyone = _first(latency(tasks, F.lit("all"))) or {"tasks": 0}
    return {
        "tasks": sum(states.values()),
        "states": states,
        "lines": sum(count["lines"] for count in by_type.values()),
        "events": sum(count["events"] for count in by_type.values()),
        "by_type": dict(sorted(by_type.items())),
        "quarantined": sum(reasons.values()),
        "reasons": reasons,
        "latency": {key: value for key, value in everyone.items() if key != "name"},
        "latency_by_task": [row.asDict() for row in tables["latency"].orderBy("name").collect()],
        **_invoked(tables["workers"], tables["calls"]),
        "throughput": _curve(tables["throughput"]),
    }


def disagreement(differing: DataFrame) -> dict[str, int]:
    """Return how many tasks differ between ledger and events, and how many have no events (`compare`)."""
    missing = F.col("events").isNull()
    row = differing.agg(F.count(F.when(~missing, True)).alias("mismatches"), F.count(F.when(missing, True)).alias("missing"))
    return _first(row)


def _invoked(workers: DataFrame, calls: DataFrame) -> dict[str, Any]:
    """Return how many workers there were, and the sums over them, the router and the recorder."""
    sums = [F.sum(column).alias(column) for column in ("invocations", "cold", "messages", "duration_ms")]
    total = _first(workers.agg(F.count(F.when(F.col("function") == "worker", True)).alias("workers"), *sums))
    by_call = calls.groupBy("call").agg(F.sum("calls").alias("calls")).orderBy("call").collect()
    return {
        **{key: value or 0 for key, value in total.items()},
        "calls": {row["call"]: row["calls"] for row in by_call},
    }


def _curve(by_second: DataFrame) -> dict[str, Any]:
    """Return the throughput in intervals wide enough (``seconds``) that there are at most `MOST_INTERVALS` of them."""
    ends = _first(by_second.agg(F.min("second").alias("begin"), F.max("second").alias("end")))
    if ends["begin"] is None:
        return {"seconds": 1, "intervals": []}
    seconds = math.ceil((ends["end"] - ends["begin"] + 1) / (MOST_INTERVALS - 1))
    rows = widened(by_second, seconds).orderBy("second").collect()
    return {"seconds": seconds, "intervals": [row.asDict() for row in rows]}


def _counts(table: DataFrame, column: str) -> dict[str, int]:
    """Return how many rows of *table* have each value of *column*."""
    rows = table.groupBy(column).agg(F.count("*").alias("rows")).orderBy(column).collect()
    return {row[column]: row["rows"] for row in rows}


def _first(table: DataFrame) -> dict[str, Any]:
    """Return the first row as a dictionary; an empty one without rows."""
    row: Row | None = table.first()
    return {} if row is None else row.asDict()
