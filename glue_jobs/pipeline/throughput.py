"""Throughput: how many tasks were published, started and finished in each interval of time."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from glue_jobs.pipeline.schema import THROUGHPUT

_STEPS = ("sent", "started", "finished")


def throughput(tasks: DataFrame) -> DataFrame:
    """Return the steps of *tasks* (`schema.TASKS`) by the second; rows of `schema.THROUGHPUT`.

    A second in which nothing happened has no row. A task that was published or started several times counts once,
    at the last time.
    """
    steps = F.explode(F.array(*[F.struct(F.lit(step).alias("step"), F.col(step).alias("at")) for step in _STEPS]))
    moments = tasks.select(steps.alias("moment")).where(F.col("moment.at").isNotNull())
    counted = [F.count(F.when(F.col("moment.step") == step, True)).alias(step) for step in _STEPS]
    return moments.groupBy(F.floor("moment.at").alias("second")).agg(*counted).select(THROUGHPUT.names)


def widened(curve: DataFrame, seconds: int) -> DataFrame:
    """Return *curve* (from `throughput`) by intervals of so many whole *seconds*."""
    begin = (F.col("second") - F.pmod("second", F.lit(seconds))).alias("second")
    return curve.groupBy(begin).agg(*[F.sum(step).alias(step) for step in _STEPS])
