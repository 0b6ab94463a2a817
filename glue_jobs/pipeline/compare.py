"""Compares events with the ledger: two independent records of the same tasks, which must agree."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from glue_jobs.pipeline.schema import LEDGER
from sedano.model.states import TRANSITIONS, seen_as


def read_ledger(spark: SparkSession, path: str) -> DataFrame:
    """Read JSON lines ``{"uuid", "state"}``; a malformed line ends the job, because the state of its task is unknown."""
    return spark.read.schema(LEDGER).option("mode", "FAILFAST").json(path)


def mismatches(tasks: DataFrame, ledger: DataFrame) -> DataFrame:
    """Return the tasks of *ledger* (`schema.LEDGER`) whose timeline in *tasks* (`schema.TASKS`) has another state.

    Rows of ``uuid``, ``ledger`` (in the words of events) and ``events``; the latter is null for a task without events. Tasks
    unknown to the ledger are not mismatches: not every task keeps a record. An event of a custom class has the ledger's own word, such
    as POISON, and agrees with it too.
    """
    renamed = [F.when(F.col("state") == s, F.lit(seen_as(s))) for s in TRANSITIONS if seen_as(s) != s]
    expected = ledger.select("uuid", "state", F.coalesce(*renamed, F.col("state")).alias("ledger"))
    told = tasks.select("uuid", F.col("state").alias("events"))
    agrees = F.col("events").eqNullSafe(F.col("ledger")) | F.col("events").eqNullSafe(F.col("state"))
    return expected.join(told, on="uuid", how="left").where(~agrees).drop("state")
