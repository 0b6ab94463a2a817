"""Landing: JSON lines become rows, and nothing is lost on the way.

Every line of every file becomes one row. A line that the contract (`schema.LINE`) cannot take keeps its text, the
file it stood in, and the reason, in words that name the field. The parse is paid once: the job writes the rows to
Parquet and everything else reads that.
"""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, StringType, StructField, StructType

from glue_jobs.pipeline.schema import LANDED, LINE, NEEDED, NEEDED_OF_TASKS, QUARANTINE
from sedano.model.states import type_of

_BROKEN = "_broken"
_PARSED = StructType([*LINE.fields, StructField(_BROKEN, StringType())])
_OPTIONS = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _BROKEN, "allowNonNumericNumbers": "false"}
_REALS = [field.name for field in LINE.fields if field.dataType == DoubleType()]


def land(spark: SparkSession, source: str) -> DataFrame:
    """Read all ``*.jsonl`` and ``*.jsonl.gz`` files below *source* into rows of `schema.LANDED`.

    Blank lines are passed over. Raises Spark's AnalysisException when *source* does not exist.
    """
    lines = (
        spark.read.option("recursiveFileLookup", "true").option("pathGlobFilter", "*.jsonl{,.gz}").text(source)
        .where(F.trim("value") != "")
        .select(F.col("value").alias("text"), F.col("_metadata.file_path").alias("source"))
    )  # fmt: skip
    return judged(lines)


def judged(lines: DataFrame) -> DataFrame:
    """Parse *lines* (``text``, ``source``) and say for each why it cannot be used, if so; rows of `schema.LANDED`."""
    parsed = lines.withColumn("line", F.from_json("text", _PARSED, _OPTIONS)).withColumn("reason", _reason())
    kept = [F.when(F.col("reason").isNotNull(), F.col(column)).alias(column) for column in ("source", "text")]
    return parsed.select("line.*", "reason", *kept).select(LANDED.names)


def events(landed: DataFrame) -> DataFrame:
    """Return the good rows, with the columns of `schema.LINE`."""
    return landed.where(F.col("reason").isNull()).select(LINE.names)


def quarantine(landed: DataFrame) -> DataFrame:
    """Return the rows that could not be used, with the columns of `schema.QUARANTINE`."""
    return landed.where(F.col("reason").isNotNull()).select(QUARANTINE.names)


def _reason() -> Column:
    """Say in words why a parsed line cannot be used; null when it can.

    Spark's parser reads the first value of a line and drops what follows, so that nothing does is checked apart.
    """
    of_task = F.col("line.type").startswith(type_of(""))
    alone = F.json_array_length(F.concat(F.lit("["), "text", F.lit("]"))).eqNullSafe(1)
    empty = F.col("line.type").isNull() & F.col("line.timestamp").isNull()
    return F.coalesce(
        F.when(~alone | (_is_broken() & empty), F.lit("not a JSON object")),
        F.when(_is_broken(), _named("wrong type", [(name, _mistyped(name)) for name in LINE.names])),
        _named("missing", [(name, _absent(name)) for name in NEEDED]),
        F.when(of_task, _named("missing", [(name, _absent(name)) for name in NEEDED_OF_TASKS])),
        _named("not finite", [(name, F.abs(F.col(f"line.{name}")) == float("inf")) for name in _REALS]),
    )


def _is_broken() -> Column:
    return F.col(f"line.{_BROKEN}").isNotNull()


def _absent(name: str) -> Column:
    return F.col(f"line.{name}").isNull()


def _mistyped(name: str) -> Column:
    return F.get_json_object("text", f"$.{name}").isNotNull() & _absent(name)


def _named(what: str, faults: Sequence[tuple[str, Column]]) -> Column:
    """Return *what* and the names of the fields whose fault is true; null when none is."""
    names = F.concat_ws(", ", *[F.when(fault, F.lit(name)) for name, fault in faults])
    anywhere = reduce(Column.__or__, [fault for _, fault in faults])
    return F.when(anywhere, F.concat(F.lit(f"{what}: "), names))
