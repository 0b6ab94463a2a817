"""Events for the pipeline's benchmark: the events of tasks as lines with all fields, the same for the same size, written as Parquet.

Five events a task or more: one in seven is retried; one event in twenty is delivered twice; the files have no order, but the last events
are in separate files, as those of an increment are. `State` gets the events as JSON lines, each once and in the total order, because it is
correct only with this order. Landing gets JSON lines as they arrive, packed.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from glue_jobs.pipeline.schema import LINE, ORDER

EVENTS_A_TASK = 4.6
COPIES = 20
#: The ticks of the logical clock between the first events of two tasks.
TICKS = 4
FILES = 4
#: The share of the events in the last increment.
INCREMENT = 20
EARLY, LATE = "early", "late"
#: From so many events on, only the variants with a target are measured.
HUGE = 9_000_000
#: The most events that are written as lines: `State` replays them repeatedly, and the rate of landing does not depend on their number.
LINES = 200_000
_TRACEBACK = 'Traceback (most recent call last):\n  File "tasks.py", line 13, in flaky\n    raise ValueError(n)\nValueError: n'


class Written(NamedTuple):
    """The places of the events: both parts as Parquet, the lines in order for `State`, and the packed lines for landing."""

    parts: Path
    lines: Path
    packed: Path


def written(spark: SparkSession, events: int, folder: Path) -> Written:
    """Write about *events* events below *folder*, unless they exist."""
    places = Written(*[folder / f"{name}-{events}" for name in Written._fields])
    delivered, is_late = _delivered(spark, round(events / EVENTS_A_TASK))
    for name, part, files in ((EARLY, delivered.where(~is_late), FILES), (LATE, delivered.where(is_late), 1)):
        if not (places.parts / name / "_SUCCESS").exists():
            _shuffled(part, files).write.mode("overwrite").parquet(str(places.parts / name))
    tasks = round(min(events, LINES) / EVENTS_A_TASK)
    if not (places.lines / "_SUCCESS").exists():
        some = lives(spark, tasks).coalesce(1).sortWithinPartitions(*ORDER)
        some.write.mode("overwrite").json(str(places.lines))
    if not (places.packed / "_SUCCESS").exists():
        _shuffled(_delivered(spark, tasks)[0], FILES).write.mode("overwrite").json(str(places.packed), compression="gzip")
    return places


def _delivered(spark: SparkSession, tasks: int) -> tuple[DataFrame, Column]:
    """Return the events of *tasks* tasks, some of them twice, and a column that marks the last ones."""
    once = lives(spark, tasks)
    twice = F.pmod(F.xxhash64("uuid", "clock", "type"), F.lit(COPIES)) == 0
    return once.unionByName(once.where(twice)), F.col("clock") > TICKS * tasks * (1 - 1 / INCREMENT)


def _shuffled(events: DataFrame, files: int) -> DataFrame:
    """Return *events* without an order, in *files* partitions."""
    return events.repartition(files, F.xxhash64("uuid", "clock", "type")).sortWithinPartitions(F.xxhash64("clock", "uuid"))


def lives(spark: SparkSession, tasks: int) -> DataFrame:
    """Return the events of *tasks* tasks, each once, as rows of `schema.LINE`."""
    number = F.col("id")
    luck = F.pmod(F.xxhash64(number), F.lit(100))
    digits = F.md5(number.cast("string"))
    uuid = F.concat_ws("-", *[F.substring(digits, begin, size) for begin, size in ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))])
    retries = F.when(luck < 85, 0).when(luck < 95, 1).otherwise(2)
    end = F.when(luck % 20 < 17, "succeeded").when(luck % 20 < 19, "failed").otherwise("revoked")
    again = F.array(*map(F.lit, ("received", "started", "retried")))
    steps = F.concat(F.array(F.lit("sent")), F.flatten(F.array_repeat(again, retries)), F.array(F.lit("received"), F.lit("started"), end))
    stepped = spark.range(0, tasks, numPartitions=FILES).select("id", uuid.alias("uuid"), F.posexplode(steps).alias("place", "step"))
    columns = {**_placed(), **_told()}
    return stepped.select(*[columns.get(f.name, F.lit(None)).cast(f.dataType).alias(f.name) for f in LINE])


def _placed() -> dict[str, Column]:
    """Return the fields of the total order."""
    jitter = F.pmod(F.xxhash64("id", "place"), F.lit(1000)) / 1e5
    worker = F.concat(F.lit("worker-"), F.pmod(F.xxhash64("id", F.floor(F.col("place") / 3)), F.lit(24)), F.lit("@node-7"))
    return {
        "clock": F.col("id") * TICKS + F.col("place") * 7 + 1,
        "timestamp": F.lit(1.79e9) + F.col("id") * 0.01 + F.col("place") * 0.05 + jitter,
        "hostname": F.when(_is("sent"), F.concat(F.lit("client-"), _drawn(1, 4))).otherwise(worker),
        "pid": _drawn(2, 30_000), "type": F.concat(F.lit("task-"), F.col("step")), "uuid": F.col("uuid"),
    }  # fmt: skip


def _told() -> dict[str, Column]:
    """Return the contents of the events."""
    described = {
        "name": F.concat(F.lit("proj.tasks.t"), _drawn(3, 40)), "kwargs": F.lit("{}"),
        "args": F.concat(F.lit("("), F.col("id"), F.lit(', "x")')),
        "root_id": F.col("uuid"), "retries": F.floor((F.col("place") + 1) / 4),
    }  # fmt: skip
    routed = {"queue": F.concat(F.lit("queue-"), _drawn(4, 3)), "exchange": F.lit(""), "routing_key": F.lit("celery")}
    raised = {"exception": F.concat(F.lit("ValueError("), _drawn(7, 9), F.lit(")")), "traceback": F.lit(_TRACEBACK)}
    returned = {"runtime": _drawn(5, 10_000) / 1000, "result": _drawn(6, 1000).cast("string")}
    said = ((("sent", "received"), described), (("sent",), routed), (("failed", "retried"), raised), (("succeeded",), returned))
    return {name: F.when(_is(*steps), value) for steps, fields in said for name, value in fields.items()}


def _is(*steps: str) -> Column:
    return F.col("step").isin(*steps)


def _drawn(salt: int, many: int) -> Column:
    return F.pmod(F.xxhash64("id", F.lit(salt)), F.lit(many))
