"""A history's rows: the rows that one run writes for new files, the merge of a compaction, and the view of a reader of a snapshot.

A part holds `landed` (every line, good or not) and `registers`; a base holds merged `registers` and the finalised `tables`. If a snapshot
has parts that are not yet in a base, its reader merges them: the rows are the same, but reading takes longer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from glue_jobs.pipeline import landing, timeline
from glue_jobs.pipeline.broken import FAILED, broken
from glue_jobs.pipeline.schema import LANDED, LINE, QUARANTINE
from glue_jobs.pipeline.tables import anomalies, attempts, canvas, cost, failures, latency, tasks, throughput, workers

REGISTERS: Final = "registers"
LINES: Final = "landed"
TABLES: Final = "tables"

#: The contract of every table, by name.
SCHEMAS: Final[Mapping[str, StructType]] = {
    "tasks": tasks.SCHEMA, "attempts": attempts.SCHEMA, "workers": workers.SCHEMA, "latency": latency.SCHEMA,
    "throughput": throughput.SCHEMA, "failures": failures.SCHEMA, "canvas": canvas.SCHEMA, "cost": cost.SCHEMA,
    "anomalies": anomalies.SCHEMA, "quarantine": QUARANTINE,
}  # fmt: skip
PARTITIONED: Final = ("tasks", "attempts")

Kept = Callable[[str, DataFrame], DataFrame]
"""A function that keeps a table under its name, and returns the kept table: written and read again, or held in memory."""


class Places(NamedTuple):
    """The addresses of the rows of one snapshot: of its parts, of its base (if any), and of the parts that the base lacks."""

    parts: Sequence[str]
    base: str | None
    pending: Sequence[str]


class Taken(NamedTuple):
    """The result for landed files: *broken* are those without a usable line, with the reason; *quarantined* counts lines."""

    broken: dict[str, str]
    quarantined: int


class Finalised:
    """The tables of one snapshot, each made once, when it, or a table that needs it, is requested.

    Each is *kept* before others are made from it: Spark needs longer to analyse a plan that contains all earlier plans than to execute it.
    """

    def __init__(self, known: DataFrame, lines: DataFrame, kept: Kept) -> None:
        """Make them from the registers *known* and all *lines*, good or not."""
        self._known, self._lines, self._kept = known, lines, kept
        self._events = landing.events(lines)
        self._made: dict[str, DataFrame] = {}
        self._makers: Mapping[str, Callable[[], DataFrame]] = {
            "tasks": lambda: tasks.tasks(self._known),
            "attempts": lambda: attempts.attempts(self.table("tasks"), self._events),
            "workers": lambda: workers.workers(self._events, self._until),
            "latency": lambda: latency.latency(self.table("tasks")),
            "throughput": lambda: throughput.throughput(self.table("tasks"), self.table("attempts")),
            "failures": lambda: failures.failures(self.table("tasks"), self._events),
            "canvas": lambda: canvas.canvas(self.table("tasks"), self._shares()),
            "cost": lambda: cost.cost(self.table("tasks"), self._shares(), self._events),
            "anomalies": lambda: anomalies.anomalies(self.table("tasks"), self.table("workers"), self._events, self._until),
            "quarantine": lambda: landing.quarantine(self._lines),
        }

    def table(self, name: str) -> DataFrame:
        """Return the table *name*."""
        if name not in self._made:
            made = self._makers[name]()
            self._made[name] = self._kept(name, made if name in PARTITIONED else made.coalesce(1))
        return self._made[name]

    def _shares(self) -> DataFrame:
        return cost.shares(self.table("attempts"), self._events)

    @cached_property
    def _until(self) -> float | None:
        """When the history ends, in epoch seconds; None when it is empty."""
        row = self._events.agg(F.max("timestamp").alias("until")).first()
        return row["until"] if row is not None else None


def take_in(spark: SparkSession, files: Sequence[str], place: str) -> Taken:
    """Write one part below *place* from these landed *files*, unless all of them are broken; they are parsed once."""
    left: dict[str, str] = {}
    try:
        landed = _written(landing.land_files(spark, files), f"{place}{LINES}")
    except FAILED:
        left = broken(spark, files)
        whole = [file for file in files if file not in left]
        if not left:
            raise
        if not whole:
            return Taken(left, 0)
        landed = _written(landing.land_files(spark, whole), f"{place}{LINES}")
    _written(landed.transform(landing.events).transform(timeline.registers), f"{place}{REGISTERS}")
    return Taken(left, landing.quarantine(landed).count())


def merge(spark: SparkSession, places: Places, place: str) -> None:
    """Write a base below *place*: the registers of all parts, merged, and all tables."""
    merged = _written(_registers(spark, places), f"{place}{REGISTERS}")

    def kept(name: str, table: DataFrame) -> DataFrame:
        return _written(table, f"{place}{TABLES}/{name}", ("day",) if name in PARTITIONED else ())

    made = Finalised(merged, _lines(spark, places), kept)
    for name in SCHEMAS:
        made.table(name)


def read(spark: SparkSession, places: Places, names: Iterable[str] = SCHEMAS) -> dict[str, DataFrame]:
    """Return the tables *names* of the snapshot at *places*; rows that no base holds are merged here, and held until the session ends."""
    if places.base is not None and not places.pending:
        return {name: spark.read.schema(SCHEMAS[name]).parquet(f"{places.base}{TABLES}/{name}") for name in names}
    made = Finalised(_registers(spark, places), _lines(spark, places), lambda _, table: table.localCheckpoint())
    return {name: made.table(name) for name in names}


def _registers(spark: SparkSession, places: Places) -> DataFrame:
    """Return the registers of every task of the snapshot."""
    held = [places.base] if places.base is not None else []
    nothing = spark.createDataFrame([], LINE).transform(timeline.registers)
    reader = spark.read.schema(nothing.schema)
    parts = [reader.parquet(f"{place}{REGISTERS}") for place in (*held, *places.pending)]
    return timeline.merged(*(parts or [nothing]))


def _lines(spark: SparkSession, places: Places) -> DataFrame:
    """Return every line of the snapshot, good or not."""
    paths = [f"{place}{LINES}" for place in places.parts]
    return spark.read.schema(LANDED).parquet(*paths) if paths else spark.createDataFrame([], LANDED)


def _written(table: DataFrame, place: str, by: Sequence[str] = ()) -> DataFrame:
    """Write *table* at *place*, where no other run writes, and read it from there."""
    table.write.mode("overwrite").partitionBy(*by).parquet(place)
    return table.sparkSession.read.schema(table.schema).parquet(place)
