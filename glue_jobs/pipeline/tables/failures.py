"""`failures`: the failures by task, exception and place; a place is the digest of a traceback without its numbers.

A task is poison if it fails however often it is tried: a task that the worker set aside as such, one whose attempts are exhausted, or one
of at least `SAME` tasks with the same name and arguments that all failed.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from glue_jobs.pipeline.contract import FLAG, REAL, TEXT, WHOLE, contract, kept_to
from glue_jobs.pipeline.schema import ORDER
from glue_jobs.pipeline.tables.tasks import DIGITS
from sedano.model.states import FAILURE, POISON, type_of

#: So many failed tasks of one name with the same arguments are poison.
SAME: Final = 3

SCHEMA: Final = contract(
    name=(TEXT, "the task's name"),
    exception_type=(TEXT, "the exception's class, as its text begins"),
    stack_digest=(TEXT, f"the first {DIGITS} hex digits of SHA-256 over the traceback without numbers; null without one"),
    failures=(WHOLE, "attempts that failed for good"),
    retries=(WHOLE, "attempts that failed and were tried again"),
    tasks=(WHOLE, "how many tasks it happened to"),
    poisoned=(WHOLE, "how many of these are poison"),
    poison=(FLAG, "whether any is"),
    first=(REAL, "epoch seconds of the first time"),
    last=(REAL, "epoch seconds of the last time"),
    example=(TEXT, "the exception's text, the last time"),
    example_traceback=(TEXT, "its traceback"),
    example_task=(TEXT, "the task that it happened to"),
)

_FAILED, _RETRIED = type_of("failed"), type_of("retried")


def failures(task_rows: DataFrame, events: DataFrame) -> DataFrame:
    """Return the rows of `SCHEMA` from *task_rows* (`tables.tasks`) and *events*, including duplicates."""
    raised = events.where(F.col("type").isin(_FAILED, _RETRIED)).select(*ORDER, "exception", "traceback").dropDuplicates(list(ORDER))
    known = task_rows.select("uuid", "name").join(_poison(task_rows), on="uuid", how="left")
    placed = raised.join(known, on="uuid", how="inner").withColumns({"exception_type": _type(), "stack_digest": _place()})
    latest = F.max(F.struct("clock", "timestamp", "hostname", "pid", "type", "uuid", "exception", "traceback")).alias("latest")
    grouped = placed.groupBy("name", "exception_type", "stack_digest").agg(
        F.count(F.when(F.col("type") == _FAILED, True)).alias("failures"),
        F.count(F.when(F.col("type") == _RETRIED, True)).alias("retries"),
        F.countDistinct("uuid").alias("tasks"), F.countDistinct(F.when(F.col("poison"), F.col("uuid"))).alias("poisoned"),
        F.min("timestamp").alias("first"), F.max("timestamp").alias("last"), latest,
    )  # fmt: skip
    shown = {"example": "exception", "example_traceback": "traceback", "example_task": "uuid"}
    columns = {name: F.col("latest")[field] for name, field in shown.items()}
    return kept_to(grouped.withColumns({**columns, "poison": F.col("poisoned") > 0}), SCHEMA)


def _poison(task_rows: DataFrame) -> DataFrame:
    """Return the ids of the tasks that are poison."""
    failed = task_rows.where(F.col("state").isin(FAILURE, POISON)).select("uuid", "name", "args_digest", "state", "attempts")
    alike = failed.where(F.col("args_digest").isNotNull()).groupBy("name", "args_digest").agg(F.count("*").alias("alike"))
    judged = failed.join(alike, on=["name", "args_digest"], how="left")
    is_poison = (F.col("state") == POISON) | (F.col("attempts") > 1) | (F.col("alike") >= SAME)
    return judged.where(is_poison).select("uuid", F.lit(True).alias("poison"))


def _type() -> Column:
    """Return the class that the text begins with; of Celery's own `Retry` the one of the exception that it carries, if any."""
    found = F.regexp_extract(F.coalesce("exception", F.lit("")), r"^\s*(?:Retry\(Retry\(\.\.\.\), (?!None\b))?([A-Za-z_][\w.]*)", 1)
    return F.when(found != "", found).otherwise("unknown")


def _place() -> Column:
    """Return the digest of the traceback: line numbers, addresses and counts do not identify the place."""
    bare = F.regexp_replace("traceback", r"0x[0-9a-fA-F]+|\d+", "#")
    return F.when(F.col("traceback").isNotNull(), F.substring(F.sha2(bare, 256), 1, DIGITS))
