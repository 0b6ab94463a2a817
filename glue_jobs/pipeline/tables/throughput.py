"""`throughput`: what happened in each second, by queue. A second in which nothing happened has no row."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from glue_jobs.pipeline.contract import TEXT, WHOLE, contract, kept_to
from sedano.model.states import FAILURE, SUCCESS

SCHEMA: Final = contract(
    second=(WHOLE, "epoch seconds at which the interval begins"),
    queue=(TEXT, "the queue"),
    sent=(WHOLE, "tasks that were published (the last time, if several)"),
    started=(WHOLE, "attempts that began"),
    succeeded=(WHOLE, "attempts that ended well"),
    failed=(WHOLE, "attempts that failed for good"),
    retried=(WHOLE, "attempts that will be tried again"),
    ended=(WHOLE, "attempts that ended in any way"),
)

_OUTCOMES = {"succeeded": SUCCESS, "failed": FAILURE, "retried": "RETRY"}


def throughput(task_rows: DataFrame, attempted: DataFrame) -> DataFrame:
    """Return the rows of `SCHEMA` from *task_rows* (`tables.tasks`) and *attempted* (`tables.attempts`)."""
    sent = task_rows.select("queue", F.lit("sent").alias("step"), F.col("sent").alias("at"), F.lit(None).cast("string").alias("outcome"))
    steps = F.explode(F.array(*[F.struct(F.lit(step).alias("step"), F.col(step).alias("at")) for step in ("started", "ended")]))
    rest = attempted.select("queue", "outcome", steps.alias("moment")).select("queue", "moment.step", "moment.at", "outcome")
    happened = sent.unionByName(rest).where(F.col("at").isNotNull())
    ended = F.col("step") == "ended"
    counts = [F.count(F.when(F.col("step") == step, True)).alias(step) for step in ("sent", "started", "ended")]
    counts += [F.count(F.when(ended & (F.col("outcome") == state), True)).alias(name) for name, state in _OUTCOMES.items()]
    return kept_to(happened.groupBy(F.floor("at").alias("second"), "queue").agg(*counts), SCHEMA)
