"""The contender of sedano: the pipeline's own functions on local Spark; standard input requests one variant at a time.

CPU is that of the whole process tree: the JVM, including its compiler and collector, and Python.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from benchmarks.pipeline.generate import EARLY, HUGE, LATE, written
from glue_jobs.pipeline.landing import judged, lines_of
from glue_jobs.pipeline.schema import LINE, ORDER, SAID
from glue_jobs.pipeline.session import session
from glue_jobs.pipeline.timeline import finalise, merged, registers, timelines
from sedano.model.states import STATE_OF_CLASS, type_of

_KEY = ("clock", "timestamp", "hostname", "pid")


class Parts(NamedTuple):
    """The events: those of the existing history, and those of the last increment."""

    early: DataFrame
    late: DataFrame
    packed: DataFrame

    @property
    def whole(self) -> DataFrame:
        """All of them."""
        return self.early.unionByName(self.late)


def full(events: Parts) -> DataFrame:
    """The pass that the pipeline makes: every task's timeline."""
    return timelines(events.whole)


def window(events: Parts) -> DataFrame:
    """The same after a window that keeps the latest row of each type."""
    latest = Window.partitionBy("uuid", "type").orderBy(*[F.col(field).desc() for field in _KEY])
    return timelines(events.whole.withColumn("place", F.row_number().over(latest)).where("place = 1"))


def merge(events: Parts) -> DataFrame:
    """The same from the registers of two parts, which are in memory here."""
    return finalise(merged(registers(events.early).localCheckpoint(), registers(events.late).localCheckpoint()))


def narrow(events: Parts) -> DataFrame:
    """The pass for metrics only: times of fixed width, so that Spark keeps them in a hash table and does not sort."""
    times = [F.max(F.when(F.col("type") == type_of(c), F.col("timestamp"))).alias(c) for c in STATE_OF_CLASS]
    return events.whole.groupBy("uuid").agg(F.min("timestamp").alias("first"), *times)


def rebuild(events: Parts) -> DataFrame:
    """All registers, computed again."""
    return registers(events.whole)


def increment(events: Parts) -> DataFrame:
    """The registers of the last events, from their own files."""
    return registers(events.late)


def read(events: Parts) -> DataFrame:
    """No pass: read every column that the full pass needs."""
    return events.whole.select(*ORDER, *SAID)


def gather(events: Parts) -> DataFrame:
    """No pass: read every column that the full pass needs, and group the rows by task. No formulation on Spark costs less."""
    return read(events).repartition("uuid")


def land(events: Parts) -> DataFrame:
    """Convert packed lines of JSON to checked rows, which happens once for each file."""
    return judged(events.packed)


VARIANTS: dict[str, Callable[[Parts], DataFrame]] = {
    "full": full, "window": window, "narrow": narrow, "rebuild": rebuild, "increment": increment,
    "read": read, "gather": gather, "land": land,
}  # fmt: skip


def checksum(tasks: DataFrame) -> list[int]:
    """Return the values that every engine must find: the number of tasks, and sums over states, times and texts."""
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
    """Answer each requested variant with one JSON line."""
    spark = session("sedano bench")
    places = written(spark, events, folder)
    early, late = (spark.read.schema(LINE).parquet(str(places.parts / name)) for name in (EARLY, LATE))
    held = Parts(early, late, lines_of(spark, [str(places.packed)]))
    told = {"events": held.whole.count(), "landed": held.packed.count(), "checksum": checksum(full(held))}
    same = {f.__name__: checksum(f(held)) == told["checksum"] for f in ((window, merge) if events < HUGE else ())}
    print(json.dumps({**told, "parquet": str(places.parts), "lines": str(places.lines), "same": same}), flush=True)
    for asked in sys.stdin:
        began = spent(spark)
        VARIANTS[asked.strip()](held).write.format("noop").mode("overwrite").save()
        print(json.dumps({"cpu": spent(spark) - began}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
