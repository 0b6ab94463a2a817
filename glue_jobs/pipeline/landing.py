"""Landing: every JSON line becomes a row, and no line is lost.

A line that violates the contract (`schema.LINE`) keeps its text, its file, and its fault; `quarantine` describes the fault and names the
field. Lines are parsed once: the job writes the rows to Parquet and everything else reads that.
"""

import re
from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, StringType, StructField, StructType

from glue_jobs.pipeline.schema import CALLS_LIMIT, EXTRA, LANDED, LIMITS, LINE, NEEDED, NEEDED_OF_TASKS, QUARANTINE
from sedano.model.history.event_order import COUNTER_LAG_US, MICRO, RECEIVED
from sedano.model.states import type_of

NOT_AN_OBJECT, WRONG_TYPE, MISSING, NOT_FINITE, BEYOND = "not a JSON object", "wrong type", "missing", "not finite", "out of range"
NOT_UTF_8 = "not UTF-8"

_BROKEN = "_broken"
_PARSED = StructType([*LINE.fields, StructField(_BROKEN, StringType())])
_OPTIONS = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _BROKEN, "allowNonNumericNumbers": "false"}
_TEXTS = "map<string, string>"
#: Java reads bytes that are not UTF-8 as this character. Replacing the character by itself makes the text again only if it is found, so the
#: text changes exactly if the character was not in the line; Spark 3.5 has no function that checks this.
_REPLACEMENT = "\ufffd"
_GLOB = re.compile(r"[\[\]{}*?\\]")
_REALS = [field.name for field in LINE.fields if field.dataType == DoubleType()]


def land(spark: SparkSession, source: str) -> DataFrame:
    """Read all ``*.jsonl`` and ``*.jsonl.gz`` files below *source* into rows of `schema.LANDED`.

    Blank lines are skipped. Raises Spark's AnalysisException when *source* does not exist.
    """
    reader = spark.read.option("recursiveFileLookup", "true").option("pathGlobFilter", "*.jsonl{,.gz}")
    return judged(_lines(reader.text(source)))


def land_files(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """Read just these *files* (paths or addresses, plain or ``.gz``) into rows of `schema.LANDED`; at least one."""
    return judged(lines_of(spark, files))


def lines_of(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """Return the lines of just these *files*, not parsed: text, and the file of each."""
    return _lines(spark.read.text([_GLOB.sub(r"\\\g<0>", file) for file in files]))


def _lines(read: DataFrame) -> DataFrame:
    """Return the lines that are not blank, with the file of each."""
    return read.where(F.trim("value") != "").select(F.col("value").alias("text"), F.col("_metadata.file_path").alias("source"))


def judged(lines: DataFrame) -> DataFrame:
    """Parse *lines* (``text``, ``source``) and find what is wrong with each, if anything; rows of `schema.LANDED`.

    Spark's parser reads the first value of a line and drops the rest, and reads bytes that are not text as if they were
    text; both are checked separately. The text of such a line is kept in a form that can be shown.
    """
    alone = F.json_array_length(F.concat(F.lit("["), "text", F.lit("]"))).eqNullSafe(1)
    shown = F.regexp_replace("text", _REPLACEMENT, _REPLACEMENT)
    line = F.from_json("text", _PARSED, _OPTIONS)
    parsed = lines.select(line.alias("line"), "text", "source", alone.alias("alone"), _extra().alias(EXTRA), shown.alias("shown")).select(
        "line.*", EXTRA, "text", "source", "alone", "shown"
    )
    broken, empty = F.col(_BROKEN).isNotNull(), F.col("type").isNull() & F.col("timestamp").isNull()
    fault = F.coalesce(
        F.when(F.col("text") != F.col("shown"), F.lit(NOT_UTF_8)),
        F.when(~F.col("alone") | (broken & empty), F.lit(NOT_AN_OBJECT)),
        F.when(broken, F.lit(WRONG_TYPE)),
        F.when(_any(_missing()), F.lit(MISSING)),
        F.when(_any(_infinite()), F.lit(NOT_FINITE)),
        F.when(_any(_beyond()), F.lit(BEYOND)),
    )
    kept = [F.when(F.col("fault").isNotNull(), F.col(column)).alias(name) for name, column in (("source", "source"), ("text", "shown"))]
    return parsed.withColumn("fault", fault).select(*LINE.names, EXTRA, "fault", *kept).select(LANDED.names)


def events(landed: DataFrame) -> DataFrame:
    """Return the good rows, with the columns of `schema.LINE`.

    Where `clock` is a process's counter, the moment of receipt replaces it (`sedano.model.history.event_order`).
    """
    good = landed.where(F.col("fault").isNull())
    return good.withColumn("clock", _placed()).select(LINE.names)


def _placed() -> Column:
    """Return the clock by which an event is ordered: its own, or the moment at which it was received if its own is a counter."""
    is_counter = F.col("timestamp") * MICRO - F.col("clock") > COUNTER_LAG_US
    moment = (F.coalesce(RECEIVED, "timestamp") * MICRO).cast("long")
    return F.when(is_counter, moment).otherwise(F.col("clock"))


def quarantine(landed: DataFrame) -> DataFrame:
    """Return the rows that could not be used, with the reason, which names the fields; rows of `schema.QUARANTINE`."""
    faulty = {WRONG_TYPE: _mistyped(), MISSING: _missing(), NOT_FINITE: _infinite(), BEYOND: _beyond()}
    named = [F.when(F.col("fault") == fault, _named(fault, fields)) for fault, fields in faulty.items()]
    reason = F.coalesce(*named, F.col("fault")).alias("reason")
    return landed.where(F.col("fault").isNotNull()).select(reason, "source", "text").select(QUARANTINE.names)


def _extra() -> Column:
    """Return the fields that the contract does not list, as texts by name; null without such fields, which costs no second parse."""
    known = F.array(*[F.lit(name) for name in LINE.names])
    others = F.map_filter(F.from_json("text", F.lit(_TEXTS)), lambda name, _: ~F.array_contains(known, name))
    return F.when(F.size(F.array_except(F.json_object_keys("text"), known)) > 0, others)


def _missing() -> dict[str, Column]:
    """Return for each required field whether it is missing; some are required only in lines about tasks."""
    of_task = F.col("type").startswith(type_of(""))
    needed = {name: F.col(name).isNull() for name in NEEDED}
    return needed | {name: F.coalesce(of_task & F.col(name).isNull(), F.lit(False)) for name in NEEDED_OF_TASKS}


def _infinite() -> dict[str, Column]:
    """Return for each real number whether it is beyond what a number can hold (``1e400``)."""
    return {name: F.coalesce(F.abs(name) == float("inf"), F.lit(False)) for name in _REALS}


def _beyond() -> dict[str, Column]:
    """Return for each number in a computation whether it is smaller or larger than it can be (`schema.LIMITS`)."""
    low, high = CALLS_LIMIT
    told = {name: ~F.col(name).between(*limits) for name, limits in LIMITS.items()}
    told["calls"] = F.exists(F.map_values("calls"), lambda many: ~many.between(low, high))
    return {name: F.coalesce(is_beyond, F.lit(False)) for name, is_beyond in told.items()}


def _mistyped() -> dict[str, Column]:
    """Return for each field whether the line has it but the row does not."""
    return {name: F.get_json_object("text", f"$.{name}").isNotNull() & F.col(name).isNull() for name in LINE.names}


def _any(faulty: dict[str, Column]) -> Column:
    """Return whether any field is faulty."""
    return reduce(Column.__or__, faulty.values())


def _named(fault: str, faulty: dict[str, Column]) -> Column:
    """Return *fault* and the names of the fields that have it."""
    names = F.concat_ws(", ", *[F.when(is_faulty, F.lit(name)) for name, is_faulty in faulty.items()])
    return F.concat(F.lit(f"{fault}: "), names)
