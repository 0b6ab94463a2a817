"""The Spark session: the cluster's own where there is one, else a small one that only this machine can reach."""

import os
import sys
from collections.abc import Mapping

from pyspark.sql import SparkSession

_LOCAL: Mapping[str, bool | float | int | str | None] = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "4",
}


def session(name: str) -> SparkSession:
    """Return a session called *name* whose times are UTC.

    On Glue, EMR or under spark-submit it is the one that was configured there. Otherwise Spark starts here, on
    Java 17 found by JAVA_HOME or PATH, with this very Python for its workers, and listens on 127.0.0.1 only.
    """
    builder = SparkSession.builder.appName(name).config("spark.sql.session.timeZone", "UTC")
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # set by whoever started the JVM before this script
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        builder = builder.master("local[*]").config(map=dict(_LOCAL))
    return builder.getOrCreate()
