"""Partitions under loss, pauses, freezes, deaths and wrong clocks: one holder each, and fair shares soon after the faults have stopped."""

import pytest

from tests.simulation.campaign import Tally, campaign, story
from tests.simulation.partitions import PartitionWorld

SCHEDULES = 200
MUST_FIRE = (
    "lease taken", "take-over", "asked for", "handed over", "a worker died", "a worker left", "freeze", "own write recognised",
    "round not answered", "shares differ by one at most",
)  # fmt: skip


def stage(seed: int, allowed: frozenset[int] | None) -> PartitionWorld:
    """The shipped library."""
    return PartitionWorld(seed, allowed=allowed)


@pytest.fixture(scope="module")
def tally() -> Tally:
    """The schedules of this run."""
    return campaign(stage, range(SCHEDULES), most=3)


def test_a_partition_has_one_holder_and_shares_are_fair_when_the_faults_have_stopped(tally: Tally) -> None:
    assert not tally.violations, "\n\n".join(story(stage, seed) for seed in tally.violations)


def test_every_branch_of_sharing_fired(tally: Tally) -> None:
    assert [name for name in MUST_FIRE if tally.branches[name] == 0] == []


def test_the_same_seed_gives_the_same_shares() -> None:
    assert [PartitionWorld(seed).run().digest() for seed in range(8)] == [PartitionWorld(seed).run().digest() for seed in range(8)]
