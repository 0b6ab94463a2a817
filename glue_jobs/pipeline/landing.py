"""Landing: JSON lines become rows, and nothing is lost on the way.

Every line of every file becomes one row. A line that the contract (`schema.LINE`) cannot take keeps its text, the
file it stood in, and what is wrong with it; `quarantine` says so in words that name the field. The parse is paid
once: the job writes the rows to Parquet and everything else reads that.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, StringType, StructField, StructType

from glue_jobs.pipeline.schema import LANDED, LINE, NEEDED, NEEDED_OF_TASKS, QUARANTINE
from sedano.model.states import type_of

NOT_AN_OBJECT, WRONG_TYPE, MISSING, NOT_FINITE = "not a JSON object", "wrong type", "missing", "not finite"

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
    """Parse *lines* (``text``, ``source``) and find what is wrong with each, if anything; rows of `schema.LANDED`.

    Spark's parser reads the first value of a line and drops what follows; that nothing follows is checked apart.
    """
    alone = F.json_array_length(F.concat(F.lit("["), "text", F.lit("]"))).eqNullSafe(1)
    parsed = lines.withColumn("line", F.from_json("text", _PARSED, _OPTIONS)).select("line.*", "text", "source", alone.alias("alone"))
    broken, empty = F.col(_BROKEN).isNotNull(), F.col("type").isNull() & F.col("timestamp").isNull()
    fault = F.coalesce(
        F.when(~F.col("alone") | (broken & empty), F.lit(NOT_AN_OBJECT)),
        F.when(broken, F.lit(WRONG_TYPE)),
        F.when(_any(_missing()), F.lit(MISSING)),
        F.when(_any(_infinite()), F.lit(NOT_FINITE)),
    )
    kept = [F.when(F.col("fault").isNotNull(), F.col(column)).alias(column) for column in ("source", "text")]
    return parsed.withColumn("fault", fault).select(*LINE.names, "fault", *kept).select(LANDED.names)


def events(landed: DataFrame) -> DataFrame:
    """Return the good rows, with the columns of `schema.LINE`."""
    return landed.where(F.col("fault").isNull()).select(LINE.names)


def quarantine(landed: DataFrame) -> DataFrame:
    """Return the rows that could not be used and say why, naming the fields; rows of `schema.QUARANTINE`."""
    faulty = {WRONG_TYPE: _mistyped(), MISSING: _missing(), NOT_FINITE: _infinite()}
    named = [F.when(F.col("fault") == fault, _named(fault, fields)) for fault, fields in faulty.items()]
    reason = F.coalesce(*named, F.col("fault")).alias("reason")
    return landed.where(F.col("fault").isNotNull()).select(reason, "source", "text").select(QUARANTINE.names)


def _missing() -> dict[str, Column]:
    """Say of each needed field whether it is missing; some are needed only of lines about tasks."""
    of_task = F.col("type").startswith(type_of(""))
    needed = {name: F.col(name).isNull() for name in NEEDED}
    return needed | {name: F.coalesce(of_task & F.col(name).isNull(), F.lit(False)) for name in NEEDED_OF_TASKS}


def _infinite() -> dict[str, Column]:
    """Say of each real number whether it is beyond what a number can hold (``1e400``)."""
    return {name: F.coalesce(F.abs(name) == float("inf"), F.lit(False)) for name in _REALS}


def _mistyped() -> dict[str, Column]:
    """Say of each field whether the line has it and the row has not."""
    return {name: F.get_json_object("text", f"$.{name}").isNotNull() & F.col(name).isNull() for name in LINE.names}


def _any(faulty: dict[str, Column]) -> Column:
    """Say whether any field is faulty."""
    return reduce(Column.__or__, faulty.values())


def _named(fault: str, faulty: dict[str, Column]) -> Column:
    """Return *fault* and the names of the fields that have it."""
    names = F.concat_ws(", ", *[F.when(is_faulty, F.lit(name)) for name, is_faulty in faulty.items()])
    return F.concat(F.lit(f"{fault}: "), names)
