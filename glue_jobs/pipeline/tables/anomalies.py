"""`anomalies`: facts that a person should look at: lost workers, stuck tasks, clocks that disagree, lines delivered twice or out of
order."""

from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from glue_jobs.pipeline.contract import REAL, TEXT, contract, kept_to
from glue_jobs.pipeline.schema import ORDER
from sedano.model.states import TERMINAL

#: A task that has begun, has not ended, and had no event for so many seconds is stuck; a task with a wait, after its wait.
SILENT_SECONDS: Final = 3600.0
#: Clocks of two machines that differ by more than this are reported.
SKEW_SECONDS: Final = 0.001
#: The same for senders whose events a Celery monitor received. Celery writes `task-sent` after the message has left, up to 7 ms after the
#: worker began with it on one and the same machine, so a smaller difference says nothing about clocks.
FOREIGN_SKEW_SECONDS: Final = 0.1

SCHEMA: Final = contract(
    kind=(TEXT, "lost-worker, stuck-task, clock-skew, duplicates, out-of-order, or absorbed"),
    subject=(TEXT, "the worker, the task's id, the pair of machines, or the type of event"),
    value=(REAL, "its figure: seconds, or a share from 0 to 1"),
    count=(REAL, "how many it counts"),
    at=(REAL, "epoch seconds at which it was last seen"),
    detail=(TEXT, "in words"),
)


def anomalies(task_rows: DataFrame, sessions: DataFrame, events: DataFrame, until: float | None) -> DataFrame:
    """Return the rows of `SCHEMA` from *task_rows* (`tables.tasks`), *sessions* (`tables.workers`) and *events*, including duplicates."""
    of_tasks = [_lost(sessions), _stuck(task_rows, sessions, until), _skew(task_rows, events)]
    return kept_to(reduce(DataFrame.unionByName, [*of_tasks, _copies(events), _disorder(events), _absorbed(events)]), SCHEMA)


def _rows(table: DataFrame, kind: str, **columns: Column) -> DataFrame:
    return table.select(F.lit(kind).alias("kind"), *[column.alias(name) for name, column in columns.items()])


def _lost(sessions: DataFrame) -> DataFrame:
    detail = F.format_string("process %d, silent after %d runs", "pid", "runs")
    return _rows(
        sessions.where(F.col("fate") == "lost"), "lost-worker", subject=F.col("hostname"), value=F.col("last_seen") - F.col("online"),
        count=F.lit(1), at=F.col("last_seen"), detail=detail,
    )  # fmt: skip


def _stuck(task_rows: DataFrame, sessions: DataFrame, until: float | None) -> DataFrame:
    """Return the tasks that have begun and not ended: without an event for long, or begun by a worker all of whose sessions are over."""
    alive = sessions.groupBy("hostname").agg(
        F.max("last_seen").alias("seen"), F.count(F.when(F.col("fate") == "open", True)).alias("open")
    )
    begun = task_rows.where(~F.col("state").isin(*sorted(TERMINAL)) & F.coalesce("started", "received").isNotNull())
    held = begun.join(alive, begun["worker"] == alive["hostname"], "left")
    latest = F.greatest("started", "received", "retried", "sent")
    silence = F.lit(until) - F.greatest(latest, F.try_to_timestamp("eta").cast("double"))
    is_stuck = (silence > SILENT_SECONDS) | ((F.col("open") == 0) & (silence >= 0))
    detail = F.format_string("%s, %s on %s", F.coalesce("name", F.lit("a task")), "state", F.coalesce("worker", F.lit("no worker")))
    return _rows(
        held.where(is_stuck), "stuck-task", subject=F.col("uuid"), value=silence, count=F.lit(1), at=latest, detail=detail,
    )  # fmt: skip


def _skew(task_rows: DataFrame, events: DataFrame) -> DataFrame:
    """Return the machines on which a task began before another one published it: their clocks differ by at least this time."""
    received = events.where(F.col("local_received").isNotNull()).select(F.col("hostname").alias("worker")).distinct()
    foreign = F.broadcast(received.withColumn("foreign", F.lit(True)))
    known = task_rows.join(foreign, "worker", "left")
    threshold = F.when(F.col("foreign"), FOREIGN_SKEW_SECONDS).otherwise(SKEW_SECONDS)
    backwards = known.where((F.col("started") + threshold < F.col("sent")) & (F.col("attempts") == 1))
    pair = F.concat_ws(" before ", "worker", "client")
    behind = F.col("sent") - F.col("started")
    grouped = backwards.groupBy(pair.alias("pair")).agg(
        F.max(behind).alias("behind"), F.count("*").alias("tasks"), F.max("sent").alias("at")
    )
    detail = F.format_string("a run began up to %.3f s before its publication", "behind")
    return _rows(grouped, "clock-skew", subject=F.col("pair"), value=F.col("behind"), count=F.col("tasks"), at=F.col("at"), detail=detail)


def _copies(events: DataFrame) -> DataFrame:
    """Events that were delivered on more than one line, by type."""
    once = events.groupBy(*ORDER).agg(F.count("*").alias("lines"))
    by_type = once.groupBy("type").agg(
        F.sum(F.col("lines") - 1).alias("copies"), F.sum("lines").alias("lines"),
        F.max(F.when(F.col("lines") > 1, F.col("timestamp"))).alias("at"),
    )  # fmt: skip
    detail = F.format_string("%d of %d lines had been delivered before", "copies", "lines")
    return _rows(
        by_type.where(F.col("copies") > 0), "duplicates", subject=F.col("type"), value=F.col("copies") / F.col("lines"),
        count=F.col("copies"), at=F.col("at"), detail=detail,
    )  # fmt: skip


def _disorder(events: DataFrame) -> DataFrame:
    """Senders whose lines reached the monitor in another order than they happened in; only where lines say when they were received.

    Lines of one process are compared by its own timestamps: the clock of a received line is the moment of its receipt.
    """
    marked = events.where(F.col("local_received").isNotNull() & F.col("clock").isNotNull()).dropDuplicates(list(ORDER))
    arrived = Window.partitionBy("hostname", "pid").orderBy("local_received", "timestamp").rowsBetween(Window.unboundedPreceding, -1)
    late = marked.withColumn("late", F.col("timestamp") < F.max("timestamp").over(arrived))
    by_sender = late.groupBy("hostname").agg(
        F.count(F.when(F.col("late"), True)).alias("late"), F.count("*").alias("lines"),
        F.max(F.when(F.col("late"), F.col("timestamp"))).alias("at"),
    )  # fmt: skip
    detail = F.format_string("%d of %d lines arrived after a later one", "late", "lines")
    return _rows(
        by_sender.where(F.col("late") > 0), "out-of-order", subject=F.col("hostname"), value=F.col("late") / F.col("lines"),
        count=F.col("late"), at=F.col("at"), detail=detail,
    )  # fmt: skip


def _absorbed(events: DataFrame) -> DataFrame:
    """Faults that sedano's workers prevented: duplicates, steals, refused outcomes, parked messages; by type."""
    kinds = ("message-duplicate", "claim-stolen", "claim-refused", "message-parked")
    counted = events.where(F.col("type").isin(*kinds)).dropDuplicates(list(ORDER)).groupBy("type")
    grouped = counted.agg(F.count("*").alias("events"), F.max("timestamp").alias("at"))
    detail = F.format_string("%d times; each was kept from taking effect twice or getting lost", "events")
    return _rows(grouped, "absorbed", subject=F.col("type"), value=F.lit(0.0), count=F.col("events"), at=F.col("at"), detail=detail)
