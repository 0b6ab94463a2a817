"""Latencies: how long tasks waited, ran and took from end to end, as percentiles."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from glue_jobs.pipeline.schema import LATENCY

LATENCIES = ("wait_seconds", "run_seconds", "total_seconds")
_PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


def latency(tasks: DataFrame, name: Column | None = None) -> DataFrame:
    """Return the latencies of *tasks* (`schema.TASKS`) by task name, or by *name* when given; rows of `schema.LATENCY`.

    Percentiles are exact (interpolated), so the same tasks always give the same figures. A latency that is not
    known for any task of the group is null.
    """
    named = tasks.withColumn("name", F.col("name") if name is None else name)
    figures = [figure for column in LATENCIES for figure in _figures(column)]
    return named.groupBy("name").agg(F.count("*").alias("tasks"), *figures).select(LATENCY.names)


def _figures(column: str) -> list[Column]:
    percentiles = [F.percentile(column, share).alias(f"{column}_{figure}") for figure, share in _PERCENTILES.items()]
    return [*percentiles, F.max(column).alias(f"{column}_max")]
