"""The last judge of `till`: nothing that its folder set up may be left when a judge of another folder is asked alone."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mutants.planted.till import larger

REHEARSED = os.getpid()
"""The process of the rehearsal, from which that of each mutant is forked."""


@pytest.fixture(scope="module", autouse=True)
def thread() -> Iterator[None]:
    """Leave the error of a thread when the rehearsal is over: no mutant is the cause of it."""
    yield
    if os.getpid() == REHEARSED:
        left = threading.Thread(target=lambda: 1 // 0)
        left.start()
        left.join()


def test_the_larger_one_is_found() -> None:
    assert [larger(1, 2), larger(2, 1), larger(2, 2)] == [2, 2, 2]


def test_the_larger_one_is_found_by_a_test_that_is_green_in_the_rehearsal_alone() -> None:
    assert larger(1, 2) == 2
    assert os.getpid() == REHEARSED


def test_the_larger_one_is_found_by_a_test_that_takes_too_long_to_be_early(tmp_path: Path) -> None:
    until = time.process_time() + 1.8
    while time.process_time() < until:
        pass
    assert larger(1, 2) == 2
    assert tmp_path.exists()
