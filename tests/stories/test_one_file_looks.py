"""A program that waits for a result over one SQLite file looks for it more often than one that pays for each look."""

from pathlib import Path

import pytest

from sedano import Sedano
from sedano.errors import ResultTimeout
from sedano.memory import MemoryTelemetry, SeededEntropy, VirtualClock
from sedano.result.waits import FIRST_PAUSE_S
from sedano.sqlite.deployment import LOOKS, connect


class Noting(VirtualClock):
    """A virtual clock that notes how long a program slept."""

    def __init__(self) -> None:
        super().__init__(1e9)
        self.slept = list[float]()

    def sleep(self, seconds: float) -> None:
        """Note the pause, and let it pass."""
        self.slept.append(seconds)
        self.advance(seconds)


def test_a_result_over_one_file_arrives_soon_after_its_worker_recorded_it(tmp_path: Path) -> None:
    clock, app = Noting(), Sedano("shop")
    app.attach(connect(tmp_path / "one.db", ("default",), clock, SeededEntropy(1), MemoryTelemetry()))
    result = app.send_task("never")
    with pytest.raises(ResultTimeout):
        result.get(timeout=10)
    assert clock.slept[0] == LOOKS.first
    assert LOOKS.first <= 0.005 < FIRST_PAUSE_S
    assert max(clock.slept) == LOOKS.most <= 0.05
