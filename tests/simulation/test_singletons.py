"""Singletons under loss, deaths and zombies: one run of a key at a time, and whoever waits comes in."""

import pytest

from tests.simulation.campaign import Tally, campaign, story
from tests.simulation.singletons import SingletonWorld

SCHEDULES = 500
MUST_FIRE = (
    "SingletonsBusy", "SingletonsDropped", "beside the dead", "beside a zombie", "take-over", "singleton not answered",
    "singleton not released; it will expire", "dropped",
)  # fmt: skip


def stage(seed: int, allowed: frozenset[int] | None) -> SingletonWorld:
    """The shipped library."""
    return SingletonWorld(seed, allowed=allowed)


@pytest.fixture(scope="module")
def tally() -> Tally:
    """The schedules of this run."""
    return campaign(stage, range(SCHEDULES), most=3)


def test_one_run_of_a_key_at_a_time_and_nobody_who_waits_is_lost(tally: Tally) -> None:
    assert not tally.violations, "\n\n".join(story(stage, seed) for seed in tally.violations)


def test_every_branch_of_singletons_fired(tally: Tally) -> None:
    assert [name for name in MUST_FIRE if tally.branches[name] == 0] == []
