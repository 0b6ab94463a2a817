"""The Spark session: the cluster's own where there is one, else a small one that only this machine can reach."""

import os
import sys

from pyspark.sql import SparkSession

_Configuration = dict[str, bool | float | int | str | None]

#: Everywhere. The JVM interprets a method above 8 000 bytes for ever; the one that Spark wrote for reading a task's row off its registers
#: was 8 058 bytes long. With this limit it writes several shorter ones in its place.
_ALWAYS: _Configuration = {"spark.sql.session.timeZone": "UTC", "spark.sql.codegen.hugeMethodLimit": "8000"}

_LOCAL: _Configuration = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "4",
}


#: A short job ends before the JVM's optimising compiler has paid for itself: without it one of 8 000 events took 19
#: CPU-seconds instead of 33, while the work itself becomes about half as fast.
_SHORT: _Configuration = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}


def session(name: str, short: bool = False) -> SparkSession:
    """Return a session called *name* whose times are UTC; *short* when it will work for less than half a minute.

    On Glue, EMR or under spark-submit it is the one that was configured there. Otherwise Spark starts here, on
    Java 17 found by JAVA_HOME or PATH, with this very Python for its workers, and listens on 127.0.0.1 only.
    """
    builder = SparkSession.builder.appName(name).config(map=_ALWAYS)
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # set by whoever started the JVM before this script
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        builder = builder.master("local[*]").config(map=_LOCAL | _SHORT if short else _LOCAL)
    return builder.getOrCreate()
