"""One Spark session for the whole run: starting it costs more than any test in this folder."""

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from glue_jobs.pipeline.session import session

SPARK = os.environ.get("SEDANO_SPARK", "4.1")
"""Which Spark the tests are to run on: `make test-spark35` says 3.5."""


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    started = session("sedano tests", short=True)
    assert started.version.startswith(f"{SPARK}."), f"this is Spark {started.version}, not {SPARK}"
    yield started
    started.stop()
