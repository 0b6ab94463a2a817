"""Three controllers in the weather of tasks: one decision a cool-down, one call a decision, and in the end what was decided is in force."""

import pytest

from tests.simulation.campaign import Tally, campaign, story
from tests.simulation.controllers import stage

SCHEDULES = 250
MUST_FIRE = (
    "limit decided", "limit set", "limit set again", "check asked for", "written down as lost", "own write recognised",
    "late duplicate refused", "the process dies after it", "the process pauses", "arrives after the sender gave up",
    "this machine's clock is wrong; the store's is used",
)  # fmt: skip


@pytest.fixture(scope="module")
def tally() -> Tally:
    """The schedules of this run."""
    return campaign(stage, range(SCHEDULES), most=3)


def test_controllers_decide_once_and_what_they_decided_is_in_force_in_the_end(tally: Tally) -> None:
    assert not tally.violations, "\n\n".join(story(stage, seed) for seed in tally.violations)


def test_every_branch_that_matters_was_taken(tally: Tally) -> None:
    assert [name for name in MUST_FIRE if tally.branches[name] == 0] == []
