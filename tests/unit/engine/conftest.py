"""What every test of a step begins with: no worker runs."""

from collections.abc import Iterator

import pytest

from sedano.engine.task_log import TELEMETRY
from tests.unit.engine.boxed import Processes


@pytest.fixture(autouse=True)
def _no_worker_runs() -> Iterator[None]:
    """Take back the telemetry that a step sets for its body: steps that are called alone share the context of the tests after them."""
    before = TELEMETRY.set(None)
    yield
    TELEMETRY.reset(before)


@pytest.fixture
def processes() -> Iterator[Processes]:
    """Programs of the shell that end with the test."""
    some = Processes()
    yield some
    some.end()
