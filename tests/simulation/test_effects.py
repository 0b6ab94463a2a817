"""Effects under loss, delay, deaths, copies and zombies: applied if and only if their run is the recorded success, all of them, once."""

from collections.abc import Set as AbstractSet

import pytest

from tests.simulation.campaign import Tally, campaign, story
from tests.simulation.effects import EffectWorld
from tests.simulation.sizes import CI

MUST_FIRE = (
    "effects applied", "steal", "a late outcome was refused by the ledger", "own write recognised", "a token was remembered",
    "late duplicate refused", "TasksFailed", "TasksRetried", "duplicate message discarded",
)  # fmt: skip


def stage(seed: int, allowed: AbstractSet[int] | None) -> EffectWorld:
    """The shipped library."""
    return EffectWorld(seed, allowed=allowed)


@pytest.fixture(scope="module")
def tally() -> Tally:
    """The schedules of this run."""
    return campaign(stage, range(CI.schedules("effects")), most=3)


def test_effects_happen_with_the_recorded_run_alone_all_of_them_and_once(tally: Tally) -> None:
    assert not tally.violations, "\n\n".join(story(stage, seed) for seed in tally.violations)


def test_every_kind_of_fault_struck_and_every_branch_fired(tally: Tally) -> None:
    assert [name for name, count in tally.faults.items() if count == 0] == []
    assert [name for name in MUST_FIRE if tally.branches[name] == 0] == []
