"""`cost`: what tasks cost, by task, queue and tenant, in US dollars at the list prices of us-east-1; it is not a bill.

Rule and prices are those of `sedano.model.history.task_costs`, which a live view computes.

Measured: a function on Lambda reports the milliseconds at work, the memory and the AWS calls of each invocation. The cost of the
invocations of one worker is shared among its attempts by their run time; the cost of router and recorder does not belong to a task and is
in rows of its own. Estimated: an attempt of a worker that does not report this (Celery's, for one) is charged as if it had run alone on
Lambda with `MEMORY_MB`: what it would cost without a server. Left out: the starts of environments, and the calls and time after a process's
last line.

Shares are rounded to whole nanodollars, so sums do not depend on the order.
"""

from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from glue_jobs.pipeline.contract import REAL, TEXT, WHOLE, contract, kept_to
from glue_jobs.pipeline.invocations import invocations
from sedano.model.history.invocation_prices import CALLS, GB_SECONDS, INVOCATIONS, MEMORY_MB
from sedano.model.history.task_costs import ASIDE

_NANO = 1_000_000_000

SCHEMA: Final = contract(
    name=(TEXT, "the task's name, or sedano.router or sedano.recorder"),
    queue=(TEXT, "the queue"),
    tenant=(TEXT, "the tenant"),
    basis=(TEXT, "measured or estimated"),
    tasks=(WHOLE, "how many tasks; none of router and recorder"),
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
    invoked = _priced(invocations(events).where(F.col("function") == "worker"))
    paid = invoked.groupBy(F.col("hostname").alias("worker")).agg(F.sum("nanodollars").alias("worker_nanos"))
    of_worker = ran.groupBy("worker").agg(F.sum("run_micros").alias("all_micros"), F.count("*").alias("all_runs"))
    priced = ran.join(of_worker.join(paid, on="worker", how="inner"), on="worker", how="left")
    even = F.lit(1.0) / F.col("all_runs")
    share = F.when(F.col("all_micros") > 0, F.col("run_micros") / F.col("all_micros")).otherwise(even)
    measured = F.round(F.col("worker_nanos") * share)
    estimated = F.round(F.col("run_micros") * (MEMORY_MB / 1024 * GB_SECONDS / 1e6 / 1e6 * _NANO) + INVOCATIONS / 1e6 * _NANO)
    known = F.col("worker_nanos").isNotNull()
    columns = {"basis": F.when(known, "measured").otherwise("estimated"), "nanodollars": F.when(known, measured).otherwise(estimated)}
    return kept_to(priced.withColumns(columns), SHARES)


def cost(task_rows: DataFrame, shared: DataFrame, events: DataFrame) -> DataFrame:
    """Return rows of `SCHEMA` from *task_rows* (`tables.tasks`), the `shares` of their attempts, and the reports of other functions in
    *events*."""
    named = shared.join(task_rows.select("uuid", "name", "queue", "tenant"), on="uuid", how="inner")
    sums = named.groupBy("name", "queue", "tenant", "basis").agg(
        F.countDistinct("uuid").alias("tasks"), F.count("*").alias("attempts"),
        F.sum("run_micros").alias("run_micros"), F.sum("nanodollars").alias("nanodollars"),
    )  # fmt: skip
    each = F.when(F.col("tasks") > 0, F.col("nanodollars") / F.col("tasks") / 1000)
    return kept_to(sums.unionByName(_aside(events)).withColumn("dollars_per_million", each), SCHEMA)


def _aside(events: DataFrame) -> DataFrame:
    """Return the cost of the functions that run no tasks, one row for each."""
    priced = _priced(invocations(events).where(F.col("function").isin(*ASIDE)))
    sums = priced.groupBy("function").agg(F.sum("micros").alias("run_micros"), F.sum("nanodollars").alias("nanodollars"))
    name, queue = (F.coalesce(*[F.when(F.col("function") == f, names[n]) for f, names in ASIDE.items()]) for n in (0, 1))
    none = F.lit(0).cast("long")
    return sums.select(
        name.alias("name"), queue.alias("queue"), F.lit(None).cast("string").alias("tenant"), F.lit("measured").alias("basis"),
        none.alias("tasks"), none.alias("attempts"), "run_micros", "nanodollars",
    )  # fmt: skip


def _priced(invoked: DataFrame) -> DataFrame:
    """Return *invoked* with the microseconds that each took, and what it cost in nanodollars."""
    memory, took = F.coalesce("memory_mb", F.lit(MEMORY_MB)), F.coalesce("duration_ms", F.lit(0.0))
    compute = took / 1000 * memory / 1024 * (GB_SECONDS / 1e6 * _NANO)
    calls = [F.coalesce(F.col("calls")[name], F.lit(0)) * (price / 1e6 * _NANO) for name, price in CALLS.items()]
    nanos = _micros(compute + F.col("invocations") * (INVOCATIONS / 1e6 * _NANO) + reduce(Column.__add__, calls))
    return invoked.select("function", "hostname", _micros(took * 1000).alias("micros"), nanos.alias("nanodollars"))


def _micros(number: Column) -> Column:
    return F.round(number).cast("long")
