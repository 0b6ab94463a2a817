"""Rates and permits under loss, deaths, duplicates and clocks that differ: never more than declared, and nothing is lost."""

import pytest

from tests.simulation.campaign import Schedule, Stage, Tally, campaign, story
from tests.simulation.limits import BoardWorld, LimitWorld, PermitWorld

SCHEDULES = 600
MUST_FIRE = {
    LimitWorld: ("TasksHeld", "started in its slot", "started in a later slot", "rate limit not answered", "steal"),
    PermitWorld: ("PermitsBusy", "permits taken", "after the dead or a zombie", "permit not answered"),
    BoardWorld: ("PermitsBusy", "permits taken", "after the dead or a zombie", "permit not answered"),
}


def stage(world: type[LimitWorld]) -> Stage:
    """The shipped library."""

    def set_up(seed: int, allowed: frozenset[int] | None) -> Schedule:
        return world(seed, allowed=allowed)

    return set_up  # type: ignore[return-value] # a frozen set is a set


@pytest.fixture(scope="module")
def tallies() -> dict[type[LimitWorld], Tally]:
    """The schedules of this run."""
    return {world: campaign(stage(world), range(SCHEDULES), most=3) for world in MUST_FIRE}


@pytest.mark.parametrize("world", MUST_FIRE)
def test_no_limit_is_passed_and_nothing_is_lost(world: type[LimitWorld], tallies: dict[type[LimitWorld], Tally]) -> None:
    found = tallies[world].violations
    assert not found, "\n\n".join(story(stage(world), seed) for seed in found)


@pytest.mark.parametrize("world", MUST_FIRE)
def test_every_branch_fired(world: type[LimitWorld], tallies: dict[type[LimitWorld], Tally]) -> None:
    assert [name for name in MUST_FIRE[world] if tallies[world].branches[name] == 0] == []
