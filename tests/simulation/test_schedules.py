"""Periodic tasks under three schedulers in the weather of tasks: each moment one task, at its time, whoever dies; no edit is lost."""

import pytest

from tests.simulation.campaign import Tally, campaign, story
from tests.simulation.schedules import ScheduleWorld, stage

SCHEDULES = 250
MUST_FIRE = (
    "decided", "crossed off", "occurrence sent", "occurrence sent again", "own write recognised", "late duplicate refused", "Duplicates",
    "the process dies after it", "the process dies before it", "agenda not worked on; the next round does", "agenda changed",
    "this machine's clock is wrong; the store's is used", "claim", "claim taken over",
    "agenda of an older version replaced", "agenda written", "written beside another schedule",
)  # fmt: skip


@pytest.fixture(scope="module")
def tally() -> Tally:
    """The schedules of this run."""
    return campaign(stage, range(SCHEDULES), most=3)


def test_each_moment_becomes_one_task_whatever_the_weather(tally: Tally) -> None:
    assert not tally.violations, "\n\n".join(story(stage, seed) for seed in tally.violations)


def test_every_branch_that_matters_was_taken(tally: Tally) -> None:
    assert [name for name in MUST_FIRE if tally.branches[name] == 0] == []


def test_the_same_seed_gives_the_same_world() -> None:
    assert [ScheduleWorld(seed).run().digest() for seed in range(5)] == [ScheduleWorld(seed).run().digest() for seed in range(5)]
