"""Circuits that workers share, in the weather of tasks: who knows that one is open begins nothing, and no failure is written over."""

import pytest

from tests.simulation.campaign import Tally, campaign, story
from tests.simulation.circuits import stage

SCHEDULES = 250
MUST_FIRE = (
    "began under a closed circuit", "began by what was known", "CircuitsOpen", "a failure was written", "a success was written",
    "tripped, 1 in a row", "tripped, 3 in a row", "found healthy", "found unhealthy", "found permanently unavailable", "clock set back",
    "own write recognised", "late duplicate refused", "steal",
)  # fmt: skip


@pytest.fixture(scope="module")
def tally() -> Tally:
    """The schedules of this run."""
    return campaign(stage, range(SCHEDULES), most=3)


def test_an_open_circuit_lets_nobody_in_and_nothing_is_lost(tally: Tally) -> None:
    assert not tally.violations, "\n\n".join(story(stage, seed) for seed in tally.violations)


def test_every_branch_that_matters_was_taken(tally: Tally) -> None:
    assert [name for name in MUST_FIRE if tally.branches[name] == 0] == []
