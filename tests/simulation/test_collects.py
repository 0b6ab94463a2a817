"""Debounced and batched calls in the weather of tasks: the last one runs after the quiet, and no call that is collected is lost."""

import pytest

from tests.simulation.campaign import Tally, campaign, story
from tests.simulation.collects import stage

SCHEDULES = 250
MUST_FIRE = (
    "ran after the quiet", "a later call is known", "superseded", "put", "put again", "in two batches", "shut", "steal",
    "debounce not answered", "call not collected", "basket not opened", "the process dies after it", "late duplicate refused",
)  # fmt: skip


@pytest.fixture(scope="module")
def tally() -> Tally:
    """The schedules of this run."""
    return campaign(stage, range(SCHEDULES), most=3)


def test_the_last_call_runs_after_the_quiet_and_every_call_is_in_a_batch_that_ran(tally: Tally) -> None:
    assert not tally.violations, "\n\n".join(story(stage, seed) for seed in tally.violations)


def test_every_branch_that_matters_was_taken(tally: Tally) -> None:
    assert [name for name in MUST_FIRE if tally.branches[name] == 0] == []
