"""Spares the collector of cycles what a run holds to its end: the tests and the modules, nearly a million objects.

It would look at all of them again and again, and costs as much as a fifth of the CPU of tests on moto.
"""

import gc

import pytest

COLLECT_AFTER = 20_000
"""So many objects more than were freed make the collector look at the youngest; Python's own number is 700, for smaller programs."""
USUAL = gc.get_threshold()


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """Collect nothing while the tests are found: all that is made then stays."""
    gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Set aside all that is there, and look at what tests make from now on."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 10, 10)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure() -> None:
    """Leave the collector as it was found, for a program that goes on after the tests."""
    gc.unfreeze()
    gc.set_threshold(*USUAL)
    gc.enable()
