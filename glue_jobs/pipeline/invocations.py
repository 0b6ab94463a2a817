"""Invocations: the batches, AWS calls and time in the functions' lines; and how often each event happened.

These are sums, which would count a line twice if it was delivered twice. So lines are reduced to events first:
the fields of the total order are an event's identity.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from glue_jobs.pipeline.schema import CALLS, INVOCATION_TYPES, LINES, ORDER, WORKERS


def invocations(events: DataFrame) -> DataFrame:
    """Return the rows of *events* (`schema.LINE`) about invocations, each once, with their `function` and how many `invocations`."""
    told = events.where(F.col("type").isin(*INVOCATION_TYPES)).dropDuplicates(list(ORDER))
    many = F.coalesce("invocations", F.lit(1))
    return told.withColumns({"function": F.substring_index("type", "-", 1), "invocations": many})


def workers(invoked: DataFrame) -> DataFrame:
    """Sum *invoked* (from `invocations`) by process; rows of `schema.WORKERS`."""
    sums = [F.coalesce(F.sum(column), F.lit(0)).alias(column) for column in ("messages", "duration_ms")]
    counts = [F.sum("invocations").alias("invocations"), F.count(F.when(F.col("cold"), True)).alias("cold")]
    return invoked.groupBy("function", "hostname").agg(*counts, *sums).select(WORKERS.names)


def calls(invoked: DataFrame) -> DataFrame:
    """Sum the AWS calls of *invoked* (from `invocations`) by process and operation; rows of `schema.CALLS`."""
    each = invoked.select("function", "hostname", F.explode("calls").alias("call", "calls"))
    return each.groupBy("function", "hostname", "call").agg(F.sum("calls").alias("calls")).select(CALLS.names)


def lines(events: DataFrame) -> DataFrame:
    """Count the events of each type, and the lines that carried them; rows of `schema.LINES`."""
    once = events.groupBy(*ORDER).agg(F.count("*").alias("copies"))
    counts = [F.count("*").alias("events"), F.sum("copies").alias("lines")]
    return once.groupBy("type").agg(*counts).select(LINES.names)
