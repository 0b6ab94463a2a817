"""`workers`: one row a session, that is one process of a worker: its start, its work, its end, and its silences.

A session is `offline` if it reported so, `lost` if another worker reported so or its heartbeats stopped before the history ends, else
`open`. A worker without heartbeats (a Lambda function that is scaled to zero) never becomes lost by silence. Router and recorder report
their invocations too, but are not workers: their cost is in `cost`.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from glue_jobs.pipeline.contract import REAL, TEXT, WHOLE, contract, kept_to
from glue_jobs.pipeline.schema import INVOCATION_TYPES, ORDER, WORKED
from sedano.model.states import CLIENT, type_of

#: After so many missed heartbeats a worker counts as silent.
MISSED: Final = 2.5
ONLINE, BEAT, OFFLINE, LOST = ("worker-online", "worker-heartbeat", "worker-offline", "worker-lost")

SCHEMA: Final = contract(
    hostname=(TEXT, "the worker's name"),
    pid=(WHOLE, "its process id: one session each"),
    software=(TEXT, "program and version, as it says"),
    online=(REAL, "epoch seconds: its online event, else its first event"),
    last_seen=(REAL, "epoch seconds of its last event"),
    offline=(REAL, "epoch seconds: its offline event"),
    fate=(TEXT, "offline, lost, or open"),
    heartbeats=(WHOLE, "how many it sent"),
    last_heartbeat=(REAL, "epoch seconds of the last of them"),
    freq=(REAL, "seconds between them, as it says"),
    gaps=(WHOLE, f"silences longer than {MISSED} heartbeats"),
    longest_gap_seconds=(REAL, "the longest time between two heartbeats"),
    runs=(WHOLE, "how many tasks it started"),
    invocations=(WHOLE, "Lambda: how many invocations"),
    cold_starts=(WHOLE, "Lambda: how many of them began a new environment"),
    billed_micros=(WHOLE, "Lambda: microseconds at work, without the starts of environments"),
)


def workers(events: DataFrame, until: float | None) -> DataFrame:
    """Return the rows of `SCHEMA` from *events*, including duplicates; the history ends at *until* (epoch seconds)."""
    spoken = events.where((F.col("type") != type_of(CLIENT)) & F.col("hostname").isNotNull())
    sessions = _told(spoken).groupBy("hostname", "pid").agg(*_sums()).where(F.col("last_seen").isNotNull() & ~F.col("aside"))
    lost = events.where(F.col("type") == LOST).groupBy("hostname").agg(F.max("timestamp").alias("told_lost"))
    joined = sessions.join(lost, on="hostname", how="left")
    silent = F.col("last_seen") + F.col("freq") * MISSED < F.lit(until)
    fate = F.when(F.col("offline").isNotNull(), "offline").when(F.col("told_lost").isNotNull() | silent, "lost").otherwise("open")
    return kept_to(joined.withColumn("fate", fate), SCHEMA)


def _told(spoken: DataFrame) -> DataFrame:
    """Return each event once, a heartbeat with the seconds since the one before it."""
    kinds = F.col("type").isin(ONLINE, BEAT, OFFLINE, *INVOCATION_TYPES, type_of("started"))
    own = spoken.where(F.col("type") != LOST)
    narrow = own.select(*ORDER, "freq", "sw_ident", "sw_ver", "cold", "duration_ms", kinds.alias("counted")).dropDuplicates(list(ORDER))
    beats = Window.partitionBy("hostname", "pid", "type").orderBy("clock", "timestamp")
    since = F.when(F.col("type") == BEAT, F.col("timestamp") - F.lag("timestamp").over(beats))
    return narrow.withColumn("since", since)


def _sums() -> list[Column]:
    count = {"heartbeats": _is(BEAT), "runs": _is(type_of("started")), "invocations": _is(WORKED), "cold_starts": F.col("cold")}
    gap = F.col("since") > F.col("freq") * MISSED
    return [
        F.coalesce(F.min(F.when(_is(ONLINE), F.col("timestamp"))), F.min("timestamp")).alias("online"),
        F.max("timestamp").alias("last_seen"),
        F.max(F.when(_is(OFFLINE), F.col("timestamp"))).alias("offline"),
        F.max(F.when(_is(BEAT), F.col("timestamp"))).alias("last_heartbeat"),
        F.max("freq").alias("freq"),
        F.max(F.concat_ws(" ", "sw_ident", "sw_ver")).alias("software"),
        *[F.count(F.when(condition, True)).alias(name) for name, condition in count.items()],
        F.count(F.when(gap, True)).alias("gaps"),
        F.max(F.col("type").isin(*[kind for kind in INVOCATION_TYPES if kind != WORKED])).alias("aside"),
        F.max("since").alias("longest_gap_seconds"),
        F.coalesce(F.sum(F.round(F.col("duration_ms") * 1000).cast("long")), F.lit(0)).alias("billed_micros"),
    ]


def _is(kind: str) -> Column:
    return F.col("type") == kind
