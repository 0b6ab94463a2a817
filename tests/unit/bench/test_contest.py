"""What makes a comparison fair, and a report honest."""

import json
from collections.abc import Callable
from pathlib import Path

from benchmarks import report
from benchmarks.contest import Sample, contest, in_turns, ratio
from benchmarks.report import Entry, Section, Target


def test_contenders_take_turns() -> None:
    order: list[str] = []

    def asked(name: str) -> Callable[[], Sample]:
        return lambda: order.append(name) or Sample(1.0, 1.0)  # type: ignore[func-returns-value] # None is what makes it go on

    in_turns({"a": asked("a"), "b": asked("b")}, 3, lambda: None)
    assert order == ["a", "b"] * 3


def test_a_round_that_was_disturbed_for_both_does_not_change_the_ratio() -> None:
    assert ratio([1.0, 50.0, 1.0], [2.0, 100.0, 2.0]) == 0.5


def test_a_contender_is_measured_in_a_process_of_its_own_and_a_missing_one_is_left_out() -> None:
    contenders = {"bare": ("bare_python", "call"), "gone": ("nobody", "nothing")}
    samples = contest(contenders, tasks=50, rounds=2, progress=lambda: None)
    assert list(samples) == ["bare"]
    assert all(0 < sample.cpu < 1 for sample in samples["bare"])


def test_a_missed_target_is_told(tmp_path: Path) -> None:
    section = Section("speed", "by watch", [Entry("ours", 16.0, "µs", Target(15)), Entry("theirs", 9.0, "µs")])
    report.write(tmp_path / "out" / "bench.json", [section], 1.0)
    (written,) = json.loads((tmp_path / "out" / "bench.json").read_text())["sections"]
    assert [entry["verdict"] for entry in written["entries"]] == ["MISSED", ""]
    assert "MISSED" in report.table([section])


def test_a_target_from_below_is_met_from_above() -> None:
    assert [Target(0.8, "least").met(value) for value in (0.79, 0.8, 0.81)] == [False, True, True]
