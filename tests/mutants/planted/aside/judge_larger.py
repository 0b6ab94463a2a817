"""The last judge of `till`: nothing that its folder set up may be left when a judge of another folder is asked alone."""

import time
from pathlib import Path

from tests.mutants.planted.till import larger


def test_the_larger_one_is_found() -> None:
    assert [larger(1, 2), larger(2, 1), larger(2, 2)] == [2, 2, 2]


def test_the_larger_one_is_found_by_a_test_that_takes_too_long_to_be_early(tmp_path: Path) -> None:
    until = time.process_time() + 1.8
    while time.process_time() < until:
        pass
    assert larger(1, 2) == 2
    assert tmp_path.exists()
