"""`latency`: how long tasks waited, ran and took from end to end, by task, queue and hour. Percentiles are exact."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from glue_jobs.pipeline.contract import REAL, TEXT, WHOLE, contract, kept_to
from glue_jobs.pipeline.latency import LATENCIES

PERCENTILES: Final = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
HOUR: Final = 3600
_MEANING = {
    "wait_seconds": "from the last publication to the start",
    "run_seconds": "of the last run",
    "total_seconds": "from the first event to the end",
}

SCHEMA: Final = contract(
    name=(TEXT, "the task's name"),
    queue=(TEXT, "the queue"),
    hour=(WHOLE, "epoch seconds at which the hour of the tasks' first events begins"),
    tasks=(WHOLE, "how many tasks"),
    **{
        f"{column}_{figure}": (REAL, f"seconds {_MEANING[column]}: {figure}")
        for column in LATENCIES for figure in (*PERCENTILES, "max")
    },
)  # fmt: skip


def latency(task_rows: DataFrame) -> DataFrame:
    """Return the rows of `SCHEMA` from *task_rows* (`tables.tasks`)."""
    hour = (F.floor(F.col("first") / HOUR) * HOUR).alias("hour")
    grouped = task_rows.groupBy("name", "queue", hour).agg(F.count("*").alias("tasks"), *figures())
    return kept_to(grouped.select("*", *taken_apart()), SCHEMA)


def figures() -> list[Column]:
    """Return the aggregates that `taken_apart` reads: one sort of the group for each latency."""
    shares = F.array(*[F.lit(share) for share in PERCENTILES.values()])
    return [figure for c in LATENCIES for figure in (F.percentile(c, shares).alias(f"_{c}"), F.max(c).alias(f"{c}_max"))]


def taken_apart() -> list[Column]:
    """Return the percentiles as columns of their own."""
    return [F.col(f"_{column}")[n].alias(f"{column}_{figure}") for column in LATENCIES for n, figure in enumerate(PERCENTILES)]
