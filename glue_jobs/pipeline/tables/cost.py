"""`cost`: what tasks cost, by task, queue and tenant, in US dollars as they are listed for us-east-1; nothing here is a bill.

Measured: a worker on Lambda tells of each invocation its billed milliseconds, memory and AWS calls. What the invocations of one worker
cost is shared among its attempts by their run time. Estimated: an attempt of a worker that tells none of this (Celery's, for one) is
charged as if it had run alone on Lambda with `MEMORY_MB`: what it would cost without a server.

Shares are rounded to whole nanodollars, so sums do not depend on the order.
"""

from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from glue_jobs.pipeline.contract import REAL, TEXT, WHOLE, contract, kept_to
from glue_jobs.pipeline.schema import ORDER

MEMORY_MB: Final = 512
#: Dollars a million: of GB-seconds (arm64), of invocations, and of calls; a call that is not listed counts as nothing.
GB_SECONDS: Final = 13.3334
INVOCATIONS: Final = 0.20
CALLS: Final = {
    "sqs.SendMessage": 0.40, "sqs.SendMessageBatch": 0.40, "sqs.ReceiveMessage": 0.40, "sqs.DeleteMessage": 0.40,
    "sqs.DeleteMessageBatch": 0.40, "sqs.ChangeMessageVisibility": 0.40,
    "dynamodb.UpdateItem": 0.625, "dynamodb.PutItem": 0.625, "dynamodb.TransactWriteItems": 2.50, "dynamodb.BatchExecuteStatement": 0.625,
    "dynamodb.GetItem": 0.125, "dynamodb.BatchGetItem": 0.125, "dynamodb.Query": 0.125,
    "s3.PutObject": 5.0, "s3.GetObject": 0.40, "scheduler.CreateSchedule": 1.0,
}  # fmt: skip
_NANO = 1_000_000_000

SCHEMA: Final = contract(
    name=(TEXT, "the task's name"),
    queue=(TEXT, "the queue"),
    tenant=(TEXT, "the tenant"),
    basis=(TEXT, "measured or estimated"),
    tasks=(WHOLE, "how many tasks"),
    attempts=(WHOLE, "how many attempts"),
    run_micros=(WHOLE, "microseconds that they ran"),
    nanodollars=(WHOLE, "what they cost, in 1e-9 dollars"),
    dollars_per_million=(REAL, "what a million such tasks cost, in dollars"),
)

SHARES: Final = contract(
    uuid=(TEXT, "the task's id"),
    number=(WHOLE, "which attempt"),
    basis=(TEXT, "measured or estimated"),
    run_micros=(WHOLE, "microseconds that it ran"),
    nanodollars=(WHOLE, "what it cost, in 1e-9 dollars"),
)


def shares(attempted: DataFrame, events: DataFrame) -> DataFrame:
    """Return what each attempt of *attempted* (`tables.attempts`) cost, rows of `SHARES`, by what *events* say of invocations."""
    ran = attempted.where(F.col("started").isNotNull()).select(
        "uuid", "number", "worker", _micros(F.coalesce("run_seconds", F.lit(0.0)) * 1e6).alias("run_micros")
    )
    paid = _paid(events)
    of_worker = ran.groupBy("worker").agg(F.sum("run_micros").alias("all_micros"), F.count("*").alias("all_runs"))
    priced = ran.join(of_worker.join(paid, on="worker", how="inner"), on="worker", how="left")
    even = F.lit(1.0) / F.col("all_runs")
    share = F.when(F.col("all_micros") > 0, F.col("run_micros") / F.col("all_micros")).otherwise(even)
    measured = F.round(F.col("worker_nanos") * share)
    estimated = F.round(F.col("run_micros") * (MEMORY_MB / 1024 * GB_SECONDS / 1e6 / 1e6 * _NANO) + INVOCATIONS / 1e6 * _NANO)
    known = F.col("worker_nanos").isNotNull()
    columns = {"basis": F.when(known, "measured").otherwise("estimated"), "nanodollars": F.when(known, measured).otherwise(estimated)}
    return kept_to(priced.withColumns(columns), SHARES)


def cost(told: DataFrame, shared: DataFrame) -> DataFrame:
    """Return the rows of `SCHEMA` from *told* (`tables.tasks`) and the `shares` of their attempts."""
    named = shared.join(told.select("uuid", "name", "queue", "tenant"), on="uuid", how="inner")
    sums = named.groupBy("name", "queue", "tenant", "basis").agg(
        F.countDistinct("uuid").alias("tasks"), F.count("*").alias("attempts"),
        F.sum("run_micros").alias("run_micros"), F.sum("nanodollars").alias("nanodollars"),
    )  # fmt: skip
    return kept_to(sums.withColumn("dollars_per_million", F.col("nanodollars") / F.col("tasks") / 1000), SCHEMA)


def _paid(events: DataFrame) -> DataFrame:
    """Return what the invocations of each worker cost, in nanodollars."""
    told = events.where(F.col("type") == "worker-invocation").dropDuplicates(list(ORDER))
    memory = F.coalesce("memory_mb", F.lit(MEMORY_MB))
    compute = F.coalesce("duration_ms", F.lit(0.0)) / 1000 * memory / 1024 * (GB_SECONDS / 1e6 * _NANO)
    calls = [F.coalesce(F.col("calls")[name], F.lit(0)) * (price / 1e6 * _NANO) for name, price in CALLS.items()]
    nanos = _micros(compute + INVOCATIONS / 1e6 * _NANO + reduce(Column.__add__, calls))
    return told.groupBy(F.col("hostname").alias("worker")).agg(F.sum(nanos).alias("worker_nanos"))


def _micros(number: Column) -> Column:
    return F.round(number).cast("long")
