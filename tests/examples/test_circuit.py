"""The example of a circuit: it trips while the carrier is down, for longer each time, and every order is shipped once it is back."""

import pytest

from examples.circuit.demo import main


def test_the_circuit_trips_recovers_and_loses_no_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    told = capsys.readouterr().out
    assert "circuit tripped: 3 × failure within 60 s; open for 30 s" in told
    assert "open for 60 s" in told
    assert told.index("circuit tripped") < told.index("the carrier has recovered") < told.index("order 4 is on its way")
