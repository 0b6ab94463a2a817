"""The Spark session: the cluster's own if there is one, else a small one that only this machine can reach."""

import os
import sys
from pathlib import Path

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped] # py4j ships no types
from pyspark.sql import SparkSession

from sedano.errors import ConfigurationError

_Configuration = dict[str, bool | float | int | str | None]

#: For every session. The JVM never compiles a method above 8 000 bytes, and the method that Spark generated for reading a task's row from
#: its registers had 8 058. With this limit Spark generates several shorter methods instead.
_ALWAYS: _Configuration = {"spark.sql.session.timeZone": "UTC", "spark.sql.codegen.hugeMethodLimit": "8000"}

_LOCAL: _Configuration = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.extraClassPath": str(Path(__file__).parent / "quiet"),  # the settings of its log, in log4j2.properties
    "spark.sql.shuffle.partitions": "4",
}


#: A short job ends before the JVM's optimising compiler has paid for itself: without it one of 8 000 events took 19
#: CPU-seconds instead of 33, while the work itself becomes about half as fast. Such a JVM keeps 48 MB for compiled code unless it is
#: told otherwise, and a session of many queries that had filled them lost its SparkContext; the usual 240 are reserved, not taken.
_SHORT: _Configuration = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"}


def session(name: str, short: bool = False) -> SparkSession:
    """Return a session called *name* whose times are UTC; *short* when it will work for less than half a minute.

    On Glue, EMR or under spark-submit the session that was configured there is used. Otherwise Spark starts here, on
    Java 17 found by JAVA_HOME or PATH, with this very Python for its workers, and listens on 127.0.0.1 only.
    """
    builder = SparkSession.builder.appName(name).config(map=_ALWAYS)
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # set if the JVM was started before this script
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        builder = builder.master("local[*]").config(map=_LOCAL | _SHORT if short else _LOCAL)
    return builder.getOrCreate()


def must_open(spark: SparkSession, *places: str) -> None:
    """Check that Spark can open addresses like *places*, before anything is read or written.

    Raises:
        ConfigurationError: Spark has no file system for one of them, as Spark from PyPI has none for S3; Glue's and EMR's have one.
    """
    hadoop = spark._jvm.org.apache.hadoop.fs.FileSystem  # type: ignore[union-attr] # noqa: SLF001 - PySpark has no API for it
    for scheme in sorted({place.partition("://")[0] for place in places if "://" in place}):
        try:
            hadoop.getFileSystemClass(scheme, spark._jsc.hadoopConfiguration())  # noqa: SLF001
        except Py4JJavaError as error:
            way = "run the job on Glue or EMR, or copy the landed files to a folder of this machine and build from there"
            raise ConfigurationError(f"this Spark has no file system for {scheme}:// addresses; {way}") from error
