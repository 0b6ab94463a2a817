"""The collector of cycles leaves alone what a run holds to its end, and looks at what tests make."""

import gc

from tests.plugins.garbage import COLLECT_AFTER

MANY = 50_000
"""Fewer objects than pytest and one room of tests are made of."""


def test_the_tests_and_the_modules_are_set_aside() -> None:
    assert gc.get_freeze_count() > MANY


def test_what_tests_leave_is_collected() -> None:
    assert gc.isenabled()
    assert gc.get_threshold()[0] == COLLECT_AFTER
