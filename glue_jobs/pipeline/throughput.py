"""Throughput: how many tasks were published, started and finished in each interval of time."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from glue_jobs.pipeline.schema import THROUGHPUT

_STEPS = ("sent", "started", "finished")


def throughput(tasks: DataFrame, width: int = 1) -> DataFrame:
    """Return the steps of *tasks* (`schema.TASKS`) by intervals of *width* whole seconds; rows of `schema.THROUGHPUT`.

    An interval in which nothing happened has no row. A task that was published or started several times counts
    once, at the last time.
    """
    steps = F.explode(F.array(*[F.struct(F.lit(step).alias("step"), F.col(step).alias("at")) for step in _STEPS]))
    second = (F.floor(F.col("moment.at") / width) * width).cast("long").alias("second")
    counted = [F.count(F.when(F.col("moment.step") == step, True)).alias(step) for step in _STEPS]
    moments = tasks.select(steps.alias("moment")).where(F.col("moment.at").isNotNull())
    return moments.groupBy(second).agg(*counted).select(THROUGHPUT.names)
