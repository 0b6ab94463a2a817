"""Group commit under loss, deaths, statements with fates of their own and replies that are missing: one effect each, none lost."""

import pytest

from tests.simulation.campaign import Tally, campaign, story
from tests.simulation.groups import GroupWorld
from tests.simulation.sizes import CI

MUST_FIRE = (
    "statements together", "statement carried out", "DuplicateItem", "ConditionalCheckFailed", "a statement is throttled",
    "a statement is carried out and not known to be", "a reply is missing", "steal", "own write recognised", "late duplicate refused",
    "a late outcome was refused by the ledger", "killed at the deadline",
)  # fmt: skip


def stage(seed: int, allowed: frozenset[int] | None) -> GroupWorld:
    """The shipped library."""
    return GroupWorld(seed, allowed=allowed)


@pytest.fixture(scope="module")
def tally() -> Tally:
    """The schedules of this run."""
    return campaign(stage, range(CI.schedules("groups")), most=3)


def test_every_task_has_one_effect_and_nobody_believes_in_a_claim_that_was_not_granted(tally: Tally) -> None:
    assert not tally.violations, "\n\n".join(story(stage, seed) for seed in tally.violations)


def test_every_kind_of_fault_struck_and_every_branch_fired(tally: Tally) -> None:
    assert [name for name, count in tally.faults.items() if count == 0] == []
    assert [name for name in MUST_FIRE if tally.branches[name] == 0] == []
