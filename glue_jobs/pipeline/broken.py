"""Files that cannot be read to their end: they were cut off during a copy, or are not of the type that their names state.

A run that finds a broken file adds all the others, and reports which file it left out and why. No line of a broken file is added, so the
next run reads it again: a file that was repaired meanwhile is then added completely, once.
"""

from collections.abc import Sequence

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped] # py4j ships no types
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from glue_jobs.pipeline.landing import lines_of

#: Java's exceptions for a compressed file that is cut off or damaged, or for a file that is not compressed: the end of its name, and the
#: meaning.
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
    """Return those of *files* that cannot be read to their end, with the reason; the search bisects, so it reads few files several times.

    Raises:
        PySparkException, Py4JJavaError: a file cannot be read for a reason outside the file, such as a service that does not answer.
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
    """Return what *wrong* means for the one file that was read; raise it again if the file is not the reason."""
    text = str(wrong)
    for name, meaning in DAMAGE.items():
        if name in text:
            return meaning
    raise wrong
