"""Extended claims under loss, delay, deaths and freezes: one effect each, and no body begins when another worker may have begun it."""

import pytest

from tests.simulation.campaign import Tally, campaign, story
from tests.simulation.extensions import ExtensionWorld
from tests.simulation.sizes import CI

MUST_FIRE = (
    "extended", "steal", "a claim cannot be extended: the task was taken over", "claims not extended; the next beat does",
    "a claim or a visibility was over before the body began; another worker runs it", "late duplicate refused",
    "own write recognised", "a machine sleeps", "a host is cut",
)  # fmt: skip


def stage(seed: int, allowed: frozenset[int] | None) -> ExtensionWorld:
    """The shipped library."""
    return ExtensionWorld(seed, allowed=allowed)


@pytest.fixture(scope="module")
def tally() -> Tally:
    """The schedules of this run."""
    return campaign(stage, range(CI.schedules("extensions")), most=3)


def test_every_task_has_one_effect_and_no_body_begins_under_a_claim_that_is_over(tally: Tally) -> None:
    assert not tally.violations, "\n\n".join(story(stage, seed) for seed in tally.violations)


def test_every_kind_of_fault_struck_and_every_branch_fired(tally: Tally) -> None:
    assert [name for name, count in tally.faults.items() if count == 0] == []
    assert [name for name in MUST_FIRE if tally.branches[name] == 0] == []
