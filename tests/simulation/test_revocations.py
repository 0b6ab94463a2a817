"""Tasks that are revoked by id and by header, in the weather of tasks: what was answered stands, and what was revoked runs no more."""

import pytest

from tests.simulation.campaign import Tally, campaign, story
from tests.simulation.revocations import RevocationWorld

SCHEDULES = 1_500
MUST_FIRE = (
    "paused", "MessagesPaused", "marked", "revoked before it ran", "revoked between attempts", "ended itself", "answered REVOKED",
    "answered RUNNING", "answered SUCCESS", "revocation not answered", "ran before the header was heard of", "hello not answered",
    "checkpoint not answered", "a late outcome was refused by the ledger", "change of headers not answered",
)  # fmt: skip


def stage(seed: int, allowed: frozenset[int] | None) -> RevocationWorld:
    """The shipped library."""
    return RevocationWorld(seed, allowed=allowed)


@pytest.fixture(scope="module")
def tally() -> Tally:
    """The schedules of this run."""
    return campaign(stage, range(SCHEDULES), most=3)


def test_what_a_revocation_was_answered_stands_and_nothing_revoked_begins_again(tally: Tally) -> None:
    assert not tally.violations, "\n\n".join(story(stage, seed) for seed in tally.violations)


def test_every_branch_of_revocation_fired(tally: Tally) -> None:
    assert [name for name in MUST_FIRE if tally.branches[name] == 0] == []


def test_the_same_seed_gives_the_same_revocations() -> None:
    assert [RevocationWorld(seed).run().digest() for seed in range(20)] == [RevocationWorld(seed).run().digest() for seed in range(20)]
