"""Stories of packs over the adapters of AWS, on moto, and in memory: the same ends by the same conditional writes."""

import pytest

from sedano.engine.worker.pipeline import WorkerSettings
from sedano.errors import Reject
from sedano.model import packs, states
from sedano.ports import PARKED
from tests.stories.packed import Crate
from tests.stories.processes import LONG_S
from tests.stories.stage import Stage
from tests.stories.taps import Crash


def test_the_members_of_packs_end_once_each(stage: Stage) -> None:
    crate = Crate(stage=stage)
    result = crate.chord(10)
    crate.processes.drain()
    crate.assert_whole(result, 10)
    assert crate.sums == [[n * n for n in range(10)]]
    assert set(crate.bodies.values()) == {1}
    assert stage.audit.writes["claim"] == 3 + 2, "three packs, the launch and the body"


def test_a_member_that_fails_or_is_revoked_or_rejected_concerns_no_neighbour(stage: Stage) -> None:
    crate = Crate(size=8, stage=stage)

    def during(number: int) -> None:
        if number == 1 and crate.bodies[1] == 1:
            raise RuntimeError("once")
        if number == 2:
            result[2].revoke()
            raise RuntimeError("once")
        if number == 3:
            raise Reject("never")

    crate.during = during
    result = crate.group(8)
    result[4].revoke()
    crate.processes.drain()
    ends = ["SUCCESS", "SUCCESS", "REVOKED", "FAILURE", "REVOKED", "SUCCESS", "SUCCESS", "SUCCESS"]
    assert [one.state for one in result] == ends
    assert crate.bodies == {0: 1, 1: 2, 2: 1, 3: 1, 5: 1, 6: 1, 7: 1}
    assert len(stage.peek(PARKED)) == 1
    assert stage.ports.ledger.read([result[1].id])[result[1].id].fence == packs.LEFT_FENCE


def test_a_pack_that_is_taken_over_is_split_and_its_poison_ends_alone(stage: Stage) -> None:
    crate = Crate(stage=stage)

    def kills(number: int) -> None:
        if number == 2:
            raise Crash

    crate.during = kills
    result = crate.group(4)
    for _ in range(20):
        try:
            crate.processes.drain()
        except Crash:
            crate.processes.restart()
            stage.pass_time(LONG_S)
    assert [one.state for one in result] == ["SUCCESS", "SUCCESS", "POISON", "SUCCESS"]
    assert (crate.bodies[0], crate.bodies[1], crate.bodies[3]) == (2, 2, 1), "those that began before the death run again, alone"


def test_a_pack_whose_worker_is_cut_keeps_its_ends(stage: Stage) -> None:
    crate = Crate(settings=WorkerSettings(lanes=0, visibility=30.0), stage=stage)

    def during(number: int) -> None:
        if number == 2 and crate.bodies[2] == 1:
            crate.processes.worker.cut()

    crate.during = during
    result = crate.chord(4)
    crate.processes.drain()
    assert result.get(timeout=1) == 14
    assert crate.bodies == {0: 1, 1: 1, 2: 2, 3: 1}


@pytest.mark.parametrize("members", [4, 9])
def test_results_in_packs_are_forgotten(stage: Stage, members: int) -> None:
    crate = Crate(stage=stage)
    result = crate.group(members)
    crate.processes.drain()
    result[1].forget()
    assert [one.result for one in result if one.id != result[1].id] == [n * n for n in range(members) if n != 1]
    assert result[1].state == states.SUCCESS
