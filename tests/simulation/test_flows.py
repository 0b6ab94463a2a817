"""Runs of workflows in the weather of tasks: they end as they have to, each effect once; what ended well is undone once, afterwards."""

import pytest

from tests.simulation.campaign import Tally, campaign, story
from tests.simulation.flows import FlowWorld, stage

SCHEDULES = 150
MUST_FIRE = (
    "run SUCCEEDED", "run FAILED", "run CANCELLED", "flow run is FAILING", "ClaimsStolen", "Duplicates", "killed at the deadline",
)  # fmt: skip


@pytest.fixture(scope="module")
def tally() -> Tally:
    """The schedules of this run."""
    return campaign(stage, range(SCHEDULES), most=3)


def test_a_run_ends_as_it_has_to_whatever_the_weather(tally: Tally) -> None:
    assert not tally.violations, "\n\n".join(story(stage, seed) for seed in tally.violations)


def test_every_kind_of_end_was_seen(tally: Tally) -> None:
    assert [name for name in MUST_FIRE if tally.branches[name] == 0] == []


def test_the_same_seed_gives_the_same_run() -> None:
    assert [FlowWorld(seed).run().digest() for seed in range(5)] == [FlowWorld(seed).run().digest() for seed in range(5)]
