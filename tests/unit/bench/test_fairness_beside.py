"""What is counted of fairness on the local endpoint."""

from pathlib import Path

from benchmarks.fairness_beside import NOISE, NOISY, QUIET, entries, section


def test_who_comes_before_the_quiet_ones_is_counted() -> None:
    quiet, noisy = [f"quiet-{n}" for n in range(QUIET)], [NOISE] * NOISY
    assert [entry.value for entry in entries([*noisy, *quiet])] == [1.0, NOISY]
    assert [entry.value for entry in entries([*quiet, *noisy])] == [1.0, 0]
    kept, before = entries([*noisy[:100], *quiet, *noisy[:100]])
    assert (kept.verdict, before.value) == ("met", 100)
    lost, before = entries([""] * NOISY)
    assert (lost.verdict, before.value) == ("MISSED", 0)


def test_without_the_endpoint_it_says_how_to_get_it(tmp_path: Path) -> None:
    found = section(tmp_path / "python", tmp_path)
    assert (found.entries, "make setup-all" in found.how) == ([], True)
