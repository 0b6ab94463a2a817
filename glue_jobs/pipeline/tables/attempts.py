"""`attempts`: one row per attempt: the runs of a task between its retries, in the total order of events. Partitioned by `day`.

A task that was never retried had one attempt, which its row in `tasks` describes completely; so only the events of the others are put in
order, which is the one place that needs a window.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from glue_jobs.pipeline.contract import REAL, TEXT, WHOLE, contract, kept_to
from glue_jobs.pipeline.schema import ORDER
from sedano.model.states import CLIENT, RESET, STATE_OF_CLASS, type_of

SCHEMA: Final = contract(
    uuid=(TEXT, "the task's id"),
    number=(WHOLE, "which attempt, from 1"),
    name=(TEXT, "the task's name"),
    queue=(TEXT, "the queue it was sent to"),
    tenant=(TEXT, "the tenant that it was published for"),
    root_id=(TEXT, "the first task of its canvas"),
    worker=(TEXT, "the worker that ran it"),
    outcome=(TEXT, "the state that the attempt ended in; null while it has not ended"),
    received=(REAL, "epoch seconds"),
    started=(REAL, "epoch seconds"),
    ended=(REAL, "epoch seconds"),
    run_seconds=(REAL, "what the worker says, else from start to end"),
    exception=(TEXT, "what it failed with"),
    day=(TEXT, "the UTC day of the task's first event"),
)

_ENDS = tuple(event_class for event_class in STATE_OF_CLASS if event_class not in {CLIENT, "received", "started"})
_PLACE = tuple(field for field in ORDER if field != "uuid")
_OF_TASK = ("uuid", "name", "queue", "tenant", "root_id", "day")


def attempts(task_rows: DataFrame, events: DataFrame) -> DataFrame:
    """Return the rows of `SCHEMA` from *task_rows* (`tables.tasks`) and their *events*, including duplicates."""
    retried = F.col(RESET).isNotNull()
    once = task_rows.where(~retried & F.coalesce("received", "started", "finished").isNotNull())
    only = once.select(
        *_OF_TASK, F.lit(1).alias("number"), "worker", F.when(F.col("finished").isNotNull(), F.col("state")).alias("outcome"),
        "received", "started", F.col("finished").alias("ended"), "run_seconds", "exception",
    )  # fmt: skip
    several = _between_retries(events.join(task_rows.where(retried).select("uuid"), on="uuid", how="left_semi"))
    return kept_to(several.join(task_rows.select(*_OF_TASK), on="uuid", how="inner").unionByName(only), SCHEMA)


def _between_retries(events: DataFrame) -> DataFrame:
    """Return the attempts of tasks that were retried: the events between two retries in the total order are one attempt."""
    lives = events.where(F.col("type").isin([type_of(c) for c in STATE_OF_CLASS if c != CLIENT])).dropDuplicates(list(ORDER))
    before = Window.partitionBy("uuid").orderBy(*_PLACE).rowsBetween(Window.unboundedPreceding, -1)
    retries = F.count(F.when(F.col("type") == type_of(RESET), True)).over(before)
    grouped = lives.withColumn("number", retries + 1).groupBy("uuid", "number")
    ended = F.max(F.when(_is(*_ENDS), F.struct(*_PLACE, "runtime", "exception"))).alias("end")
    first = F.min(F.when(_is("received"), F.col("timestamp"))).alias("received")
    started = F.max(F.when(_is("started"), F.col("timestamp"))).alias("started")
    made = grouped.agg(first, started, ended, F.max(F.struct(*_PLACE)).alias("latest"))
    elapsed = F.when(F.col("started") <= F.col("end.timestamp"), F.col("end.timestamp") - F.col("started"))
    return made.select(
        "uuid", "number", F.col("latest.hostname").alias("worker"), _state().alias("outcome"), "received", "started",
        F.col("end.timestamp").alias("ended"), F.coalesce("end.runtime", elapsed).alias("run_seconds"),
        F.col("end.exception").alias("exception"),
    )  # fmt: skip


def _is(*classes: str) -> Column:
    return F.col("type").isin([type_of(event_class) for event_class in classes])


def _state() -> Column:
    return F.coalesce(*[F.when(F.col("end.type") == type_of(c), F.lit(STATE_OF_CLASS[c])) for c in _ENDS])
