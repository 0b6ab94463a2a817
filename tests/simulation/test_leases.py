"""One lease under loss, delay, crashes, freezes, steps of clocks, clones and TTL: no token comes twice, two never believe at once."""

import pytest

from tests.simulation.campaign import Tally, campaign, story
from tests.simulation.leases import LeaseWorld
from tests.simulation.sizes import CI

MUST_FIRE = (
    "steal", "own write recognised", "late duplicate refused", "fenced off", "term over", "freeze", "clock step", "deleted by TTL",
    "asked for", "take-over after the faults",
)  # fmt: skip


def stage(seed: int, allowed: frozenset[int] | None) -> LeaseWorld:
    """The shipped library."""
    return LeaseWorld(seed, allowed=allowed)


@pytest.fixture(scope="module")
def tally() -> Tally:
    """The schedules of this run."""
    return campaign(stage, range(CI.leases), most=3)


def test_a_lease_has_one_holder_a_token_and_one_believer_in_any_schedule(tally: Tally) -> None:
    assert not tally.violations, "\n\n".join(story(stage, seed) for seed in tally.violations)


def test_every_kind_of_fault_struck_and_every_branch_of_the_lease_fired(tally: Tally) -> None:
    assert [name for name, count in tally.faults.items() if count == 0] == []
    assert [name for name in MUST_FIRE if tally.branches[name] == 0] == []


def test_the_same_seed_gives_the_same_contest() -> None:
    assert [LeaseWorld(seed).run().digest() for seed in range(30)] == [LeaseWorld(seed).run().digest() for seed in range(30)]
