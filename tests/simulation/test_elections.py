"""One election under loss, delay, duplicates, crashes and late closers: one close, the lowest that registered wins, one dispatch."""

import pytest

from tests.simulation.campaign import Tally, campaign, story
from tests.simulation.elections import ElectionWorld, PausedElectionWorld
from tests.simulation.sizes import CI

MUST_FIRE = ("registered", "closed", "closed fast", "dispatch noted", "steal", "election closed", "late duplicate refused")


def stage(seed: int, allowed: frozenset[int] | None) -> ElectionWorld:
    """The shipped library."""
    return ElectionWorld(seed, allowed=allowed)


@pytest.fixture(scope="module")
def tally() -> Tally:
    """The schedules of this run."""
    return campaign(stage, range(CI.elections), most=3)


def test_an_election_is_closed_once_and_what_it_is_about_runs_once_in_any_schedule(tally: Tally) -> None:
    assert not tally.violations, "\n\n".join(story(stage, seed) for seed in tally.violations)


def test_every_branch_of_the_election_fired(tally: Tally) -> None:
    assert [name for name in MUST_FIRE if tally.branches[name] == 0] == []


def test_whoever_stood_still_while_its_call_was_taken_over_closes_nothing() -> None:
    found = campaign(lambda seed, allowed: PausedElectionWorld(seed, allowed=allowed), range(300), most=3)
    assert not found.violations
    assert [name for name in ("closed", "closed fast", "steal", "the process pauses") if found.branches[name] == 0] == []
