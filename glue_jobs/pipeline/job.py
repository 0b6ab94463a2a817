"""The steps of the job, in order: land the lines, build the timeline, measure, sum up. Each table is written once and read from there."""

import json
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from glue_jobs.pipeline.compare import mismatches, read_ledger
from glue_jobs.pipeline.invocations import calls, invocations, lines, workers
from glue_jobs.pipeline.landing import events, land, quarantine
from glue_jobs.pipeline.latency import latency
from glue_jobs.pipeline.summary import disagreement, summary
from glue_jobs.pipeline.throughput import throughput
from glue_jobs.pipeline.timeline import timelines

SUMMARY = "summary.json"


def run(spark: SparkSession, source: str, target: str, ledger: str | None = None) -> dict[str, Any]:
    """Turn the event files below *source* into the tables below *target*, and return the summary.

    If *target* is a folder of this machine the summary is also written there as ``summary.json``. With *ledger*, a
    file of final states, it also holds ``mismatches`` (tasks whose events show another state) and ``missing``
    (tasks without events).
    """
    tables = build(spark, source, target)
    told = summary(tables)
    if ledger is not None:
        told |= disagreement(mismatches(tables["tasks"], read_ledger(spark, ledger)))
    if "://" not in target:
        Path(target, SUMMARY).write_text(json.dumps(told, indent=2) + "\n")
    return told


def build(spark: SparkSession, source: str, target: str) -> dict[str, DataFrame]:
    """Write all tables below *target*, replacing those of an earlier run, and return them by name."""

    def kept(name: str, table: DataFrame) -> DataFrame:
        place = f"{target.rstrip('/')}/{name}"
        table.write.mode("overwrite").parquet(place)
        return spark.read.schema(table.schema).parquet(place)

    landed = kept("landed", land(spark, source))
    good = landed.transform(events)
    tasks = kept("tasks", good.transform(timelines))
    invoked = good.transform(invocations)
    return {
        "landed": landed,
        "quarantine": kept("quarantine", landed.transform(quarantine)),
        "tasks": tasks,
        "latency": kept("latency", tasks.transform(latency)),
        "workers": kept("workers", invoked.transform(workers)),
        "calls": kept("calls", invoked.transform(calls)),
        "lines": kept("lines", good.transform(lines)),
        "throughput": kept("throughput", tasks.transform(throughput)),
    }
