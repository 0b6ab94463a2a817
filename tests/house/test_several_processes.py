"""A run of several processes: what waits begins first, and what is slow to make is made once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.plugins.resources import Shared
from tests.plugins.workers import group_of, turn_of

IN_ORDER = ("tests/house/test_rules.py::test_a", "tests/conformance/test_it.py::test_b[ministack]", "tests/stories/test_canvas.py::test_c")


def _order(processes: int) -> list[str]:
    return [test.rpartition("_")[2] for test in sorted(IN_ORDER, key=lambda test: turn_of(test, processes))]


def test_the_tests_on_the_endpoint_begin_first_so_that_the_other_processes_compute_while_they_wait() -> None:
    assert _order(2) == _order(3) == ["b[ministack]", "a", "c"]


def test_a_run_of_one_process_keeps_them_for_its_end() -> None:
    assert _order(1) == ["a", "c", "b[ministack]"]


def test_the_files_of_the_templates_are_shared_out_and_the_ones_on_the_endpoint_are_not() -> None:
    assert group_of("tests/infra/test_cost.py::test_a") == "tests/infra/test_cost.py"
    assert {group_of(f"tests/{file}::test_a") for file in ("infra/test_refusals.py", "deploy/test_polls.py")} == {"endpoint"}


def test_a_shared_folder_is_filled_by_the_first_that_asks_while_the_others_wait(tmp_path: Path) -> None:
    begun, go, filled = threading.Event(), threading.Event(), list[Path]()

    def fill(folder: Path) -> None:
        begun.set()
        assert go.wait(60)
        folder.mkdir()
        (folder / "made").touch()
        filled.append(folder)

    with ThreadPoolExecutor(2) as processes:
        first = processes.submit(Shared(tmp_path).folder, "stage", fill)
        assert begun.wait(60)
        second = processes.submit(Shared(tmp_path).folder, "stage", fill)
        go.set()
        assert first.result() == second.result() == tmp_path / "stage"
    assert filled == [tmp_path / "stage"]


def test_a_shared_folder_that_could_not_be_filled_is_filled_anew_by_the_next(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        folder.mkdir()
        (folder / "half").touch()
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        Shared(tmp_path).folder("stage", fail)
    assert [*Shared(tmp_path).folder("stage", Path.mkdir).iterdir()] == []
