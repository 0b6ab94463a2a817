"""Our contender: the pipeline's own functions on local Spark, asked over standard input for one variant at a time.

CPU is that of the whole process tree: the JVM's, its compiler and collector included, and Python's.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from benchmarks.pipeline.generate import written
from glue_jobs.pipeline.schema import LINE
from glue_jobs.pipeline.session import session
from glue_jobs.pipeline.timeline import finalise, registers, timelines
from sedano.model.states import CUSTOM, STATE_OF_CLASS, SUBJECTS, type_of

_KEY = ("clock", "timestamp", "hostname", "pid")
#: The share of events that an increment brings.
INCREMENT = 20


def full(events: DataFrame) -> DataFrame:
    """The pass that the pipeline makes: every task's timeline."""
    return timelines(events)


def window(events: DataFrame) -> DataFrame:
    """The same with a window: the latest row of each class, then a pivot."""
    latest = Window.partitionBy("uuid", "type").orderBy(*[F.col(field).desc() for field in _KEY])
    rows = events.withColumn("place", F.row_number().over(latest)).where("place = 1")
    last = [F.max(F.when(F.col("type") == type_of(c), F.struct(*_KEY))).alias(c) for c in STATE_OF_CLASS]
    stamp = (*_KEY, "type")
    said = [F.max(F.when(F.col(fields[0]).isNotNull(), F.struct(*stamp, *fields))).alias(s) for s, fields in SUBJECTS.items()]
    none = F.max(F.when(F.lit(False), F.struct(*stamp))).alias(CUSTOM)
    return finalise(rows.groupBy("uuid").agg(F.min("timestamp").alias("first"), *last, none, *said))


def narrow(events: DataFrame) -> DataFrame:
    """The pass for metrics alone: times of fixed width, so that Spark keeps them in a hash table and sorts nothing."""
    times = [F.max(F.when(F.col("type") == type_of(c), F.col("timestamp"))).alias(c) for c in STATE_OF_CLASS]
    return events.groupBy("uuid").agg(F.min("timestamp").alias("first"), *times)


def rebuild(events: DataFrame) -> DataFrame:
    """All registers anew."""
    return registers(events)


def increment(events: DataFrame) -> DataFrame:
    """The registers of the events that came last."""
    return registers(events.where(F.col("clock") > events.agg(F.percentile_approx("clock", 1 - 1 / INCREMENT)).first()[0]))  # type: ignore[index]


VARIANTS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "full": full, "window": window, "narrow": narrow, "rebuild": rebuild, "increment": increment,
}  # fmt: skip


def checksum(tasks: DataFrame) -> list[int]:
    """Return what another engine must find as well: tasks, and sums over states, times and texts."""
    texts = [F.sum(F.coalesce(F.length(name), F.lit(0))) for name in ("name", "args", "queue", "exception", "result")]
    times = [F.sum(F.floor((F.col(name) - 1.79e9) * 1000)) for name in ("sent", "started", "succeeded")]
    ranks = [F.count(F.when(F.col("state") == state, True)) for state in ("SUCCESS", "FAILURE", "REVOKED", "RETRY", "STARTED")]
    row = tasks.agg(F.count("*"), *ranks, *times, *texts).first()
    return [int(value or 0) for value in row] if row is not None else []


def spent(spark: SparkSession) -> float:
    """Return the CPU seconds of the JVM and of this process so far."""
    name: str = spark._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getName()  # type: ignore[union-attr] # noqa: SLF001
    fields = Path(f"/proc/{name.partition('@')[0]}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + time.process_time()


def main(events: int, folder: Path) -> None:
    """Answer each variant that is asked for with one JSON line."""
    spark = session("sedano bench")
    parquet, lines = written(spark, events, folder)
    read = spark.read.schema(LINE).parquet(str(parquet))
    told = {"events": read.count(), "parquet": str(parquet), "lines": str(lines), "checksum": checksum(timelines(read))}
    print(json.dumps(told), flush=True)
    for asked in sys.stdin:
        cpu, wall = spent(spark), time.perf_counter()
        VARIANTS[asked.strip()](read).write.format("noop").mode("overwrite").save()
        print(json.dumps({"cpu": spent(spark) - cpu, "wall": time.perf_counter() - wall}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
