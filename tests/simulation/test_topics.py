"""A topic that runs on the winner of its election: one leads at a time, the dead are succeeded, and it ends."""

import pytest

from tests.simulation.campaign import Tally, campaign, story
from tests.simulation.topics import TopicWorld

SCHEDULES = 500
MUST_FIRE = (
    "leads", "succeeded by a candidate", "succeeded by whoever holds it", "beside the dead", "beside a zombie", "election not answered",
)  # fmt: skip


def stage(seed: int, allowed: frozenset[int] | None) -> TopicWorld:
    """The shipped library."""
    return TopicWorld(seed, allowed=allowed)


@pytest.fixture(scope="module")
def tally() -> Tally:
    """The schedules of this run."""
    return campaign(stage, range(SCHEDULES), most=3)


def test_what_must_run_on_the_winner_runs_on_one_at_a_time_and_ends(tally: Tally) -> None:
    assert not tally.violations, "\n\n".join(story(stage, seed) for seed in tally.violations)


def test_every_branch_of_the_succession_fired(tally: Tally) -> None:
    assert [name for name in MUST_FIRE if tally.branches[name] == 0] == []
