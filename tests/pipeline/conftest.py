"""One Spark session for the whole run: starting it costs more than any test in this folder."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from glue_jobs.pipeline.session import session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    started = session("sedano tests", short=True)
    yield started
    started.stop()
