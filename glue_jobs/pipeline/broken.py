"""Files that cannot be read to their end: cut off while they were copied, or not what their name says.

A run that meets one takes in all the others and says which it left and why. Nothing of a broken file is taken in, so the next run reads
it again: a copy that was made good meanwhile is taken in whole, once.
"""

from collections.abc import Sequence

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped] # py4j ships no types
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from glue_jobs.pipeline.landing import lines_of

#: What Java says of a compressed file that is cut off, is damaged, or is none: the end of the exception's name, and what it means here.
DAMAGE = {
    "java.io.EOFException": "it ends in the middle of its compressed data",
    "java.util.zip.ZipException": "its compressed data is damaged",
    "java.util.zip.DataFormatException": "its compressed data is damaged",
    "java.io.IOException: not a gzip file": "its name ends in .gz and its content is not gzip",
    "java.io.IOException: incorrect header check": "its name ends in .gz and its content is not gzip",
    "java.io.IOException: invalid": "its compressed data is damaged",
    "java.io.IOException: incorrect data check": "its compressed data is damaged",
    "java.io.IOException: stored gzip": "its compressed data is damaged",
}


FAILED = (PySparkException, Py4JJavaError)
"""The exceptions of a failed Spark job: which of the two depends on the version, and on whether it read or wrote."""


def broken(spark: SparkSession, files: Sequence[str]) -> dict[str, str]:
    """Return those of *files* that cannot be read to their end, with the reason; the search halves, so it reads few files often.

    Raises:
        PySparkException, Py4JJavaError: a file cannot be read for a reason that says nothing of it, such as a service that does not answer.
    """
    if not files:
        return {}
    try:
        lines_of(spark, files).count()
    except FAILED as wrong:
        if len(files) == 1:
            return {files[0]: reason(wrong)}
        half = len(files) // 2
        return broken(spark, files[:half]) | broken(spark, files[half:])
    return {}


def reason(wrong: Exception) -> str:
    """Return what *wrong* says of the one file that was read; raise it again when that is nothing."""
    text = str(wrong)
    for name, meaning in DAMAGE.items():
        if name in text:
            return meaning
    raise wrong
