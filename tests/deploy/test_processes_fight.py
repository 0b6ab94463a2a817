"""Sixteen processes fight on a real endpoint over leases, permits, tasks and elections, some are killed, and no promise is broken."""

from pathlib import Path

import pytest

from sedano.local import LocalStage
from tests.deploy.fight.arena import Arena, fight
from tests.deploy.fight.referees import judge
from tests.plugins.resources import Resources

SECONDS = 15.0


FIRED = (
    "operations that overlap", "terms believed in", "tasks that ended as SUCCESS", "steal", "permits taken",
)  # fmt: skip


@pytest.fixture
def arena(ministack: LocalStage, ministack_resources: Resources) -> Arena:
    """Tables and queues of their own on the endpoint."""
    resources = ministack_resources
    return Arena(resources.session, str(resources.endpoint_url), ministack.endpoint.environment, resources.settings)


@pytest.mark.ministack
def test_no_promise_is_broken_though_processes_are_killed(arena: Arena, tmp_path: Path) -> None:
    verdict = judge(fight(arena, tmp_path, SECONDS))
    print(dict(sorted(verdict.figures.items())))
    assert not verdict.broken, "\n".join(verdict.broken[:10])
    for fired in FIRED:
        assert verdict.figures[fired] > 0, f"a fight without {fired} proves nothing"


PLANTED = {"RELEASE": "I7", "GIVE_BACK": "P4", "RECORD": "I7"}
"""A write that loses its condition, and the promise that this breaks by itself: a lease's, a permit's, a task's."""
HARMFUL_S = 15.0
"""A planted fault does harm only when somebody is late at the wrong moment."""


@pytest.mark.ministack
@pytest.mark.parametrize("write", PLANTED)
def test_a_write_that_lost_its_condition_is_found(write: str, arena: Arena, tmp_path: Path) -> None:
    verdict = judge(fight(arena, tmp_path, HARMFUL_S, processes=12, kills=0, planted=write))
    found = [broken for broken in verdict.broken if broken.startswith(PLANTED[write])]
    print(len(found), "times", found[:2], dict(sorted(verdict.figures.items())))
    assert found, verdict.figures
