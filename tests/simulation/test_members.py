"""Members that come, work, idle and die, seen by somebody with another clock: idle is never lost, and what is told of them happened."""

import pytest

from tests.simulation.campaign import Tally, campaign, story
from tests.simulation.members import MemberWorld

SCHEDULES = 1_000
MUST_FIRE = (
    "joined", "beat", "lost", "told as lost", "shown ACTIVE", "shown IDLE", "shown LOST", "dead for all to see", "heartbeat not written",
    "look not answered",
)  # fmt: skip


def stage(seed: int, allowed: frozenset[int] | None) -> MemberWorld:
    """The shipped library."""
    return MemberWorld(seed, allowed=allowed)


@pytest.fixture(scope="module")
def tally() -> Tally:
    """The schedules of this run."""
    return campaign(stage, range(SCHEDULES), most=3)


def test_idle_is_never_shown_as_lost_and_what_is_told_of_members_happened(tally: Tally) -> None:
    assert not tally.violations, "\n\n".join(story(stage, seed) for seed in tally.violations)


def test_every_branch_of_membership_fired(tally: Tally) -> None:
    assert [name for name in MUST_FIRE if tally.branches[name] == 0] == []
