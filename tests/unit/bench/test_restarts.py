"""The benchmark of restarts: what its witness counts, and a small slice of it with real processes."""

import sqlite3
from pathlib import Path

import pytest

from benchmarks.report import Entry
from benchmarks.restart_witness import Restart, Witness, late, outcome
from benchmarks.restarts import DRAIN_S, EXIT_S, LATE_S, Load, killed, published, restarted
from sedano.host import one_file
from sedano.model.states import RUNNING, SUCCESS

TASKS = {"a", "b"}
BUSY_S = 3.0
"""The seconds that a busy machine may add: the benchmark itself measures the promise."""


@pytest.mark.parametrize(
    ("ends", "left", "found"),
    [
        (["a", "b"], 0, (0, 0)),
        (["a"], 0, (1, 0)),
        (["a", "b"], 3, (3, 0)),
        (["a", "b", "a", "a"], 0, (0, 2)),
        (["a", "b", "stranger"], 0, (0, 1)),
        ([], 2, (2, 0)),
    ],
)
def test_what_was_lost_and_what_happened_twice_is_counted(ends: list[str], left: int, found: tuple[int, int]) -> None:
    assert outcome(TASKS, ends, left) == found


@pytest.mark.parametrize(("moment", "delay"), [(100.2, 0.2), (100.9, 0.9), (101.0, 0.0), (101.3, 0.3)])
def test_a_message_is_late_by_what_passed_since_it_could_go_back(moment: float, delay: float) -> None:
    assert late(moment, Restart(100.0, 102.0), 1.0) == pytest.approx(delay), "bodies are cancelled 1 s after the signal"


def test_the_witness_sees_second_ends_steals_and_what_goes_back(tmp_path: Path) -> None:
    file = tmp_path / "own" / "restarts.db"
    tasks = published(file, 2)
    with Witness(file) as witness:
        ports = one_file.ports(file)
        (first, second) = ports.queues.receive("commands:default")
        ports.queues.hold(first, 0)
        assert len(witness.given_back(0.0, 9e9)) == 1
        ports.queues.hold(second, 20_000)
        assert len(witness.given_back(0.0, 9e9)) == 1, "a longer hold gives nothing back"
        ports.queues.delete([second])
        assert witness.left("commands:default") == 1
        assert (witness.ended(), witness.holds(77)) == (0, False)
        database = sqlite3.connect(file, isolation_level=None)
        values = {"id": "x", "state": RUNNING, "attempt": 0, "nonce": "n", "owner": "host.77.0123abcd.1", "ttl": 9}
        marks = ", ".join(f":{name}" for name in values)
        database.execute(f"INSERT INTO task ({', '.join(values)}) VALUES ({marks})", values)  # noqa: S608 - our own words
        assert (witness.holds(77), witness.holds(7)) == (True, False)
        database.execute("UPDATE task SET nonce = 'm', fence = 2")
        assert witness.taken_over() == 1
        database.execute("UPDATE task SET state = ?, result = '1'", (SUCCESS,))
        database.execute("UPDATE task SET tail = '', ttl = 10")
        assert witness.ends() == ["x"], "to note what followed is no second end"
        database.execute("UPDATE task SET result = '2'")
        assert witness.ends() == ["x", "x"]
        assert outcome({"x"}, witness.ends(), 0) == (0, 1)
        database.close()
    assert len(tasks) == 2


def _values(entries: list[Entry]) -> dict[str, float]:
    assert not [entry.name for entry in entries if entry.name.rpartition(": ")[2] in ("lost", "second effects") and entry.value]
    return {entry.name: entry.value for entry in entries}


def test_a_rolling_restart_loses_nothing_and_ends_with_its_drain() -> None:
    """Half of the bodies take 10 s, so some still run when a process is asked to end, even if the other process began seconds later."""
    found = _values(restarted(Load(60, 2, 2, 20, long=10.0)))
    assert found["messages whose bodies were cancelled: given back"] > 0
    assert found[f"slowest exit, with a drain of {DRAIN_S:g} s"] <= DRAIN_S + EXIT_S + BUSY_S
    assert found["messages whose bodies were cancelled: visible after"] <= LATE_S + BUSY_S


def test_a_kill_under_load_loses_nothing() -> None:
    """One process alone needs nine seconds until the kill, so both are at work then, even if one of them began seconds later."""
    assert _values(killed(Load(60, 1, 2, 5, long=3.0)))["kills of a process at work"] == 1
