"""The benchmark of boxed tasks: a small slice of it, with real processes."""

from benchmarks.boxes import KILL_MS, WARM_US, Size, section

BUSY_MS = 3_000.0
"""How late a busy machine may be: the benchmark itself measures the promise."""


def test_a_small_slice_measures_calls_and_kills_against_the_promises() -> None:
    warm, cpu, noisy, kills = section(Size(200, 2)).entries
    assert [entry.target and entry.target.value for entry in (warm, cpu, noisy, kills)] == [WARM_US, None, 0, KILL_MS]
    assert (warm.value > 0, cpu.value > 0, noisy.verdict) == (True, True, "met")
    assert (noisy.name, kills.name) == ("200 calls of a noisy program: mismatched replies", "2 kills: latest")
    assert 0 < kills.value < BUSY_MS
