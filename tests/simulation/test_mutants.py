"""Every planted fault is caught: what the referees let pass would be worth nothing otherwise."""

import pytest

from tests.simulation.campaign import campaign
from tests.simulation.mutants import EQUIVALENT, every
from tests.simulation.sizes import CI

MUTANTS = every()
LEAST = 40


@pytest.mark.parametrize("name", [name for name in MUTANTS if name not in EQUIVALENT])
def test_a_planted_fault_is_caught_in_every_block_of_schedules(name: str) -> None:
    for block in range(CI.blocks):
        first = 1_000_000 + block * CI.block
        assert campaign(MUTANTS[name], range(first, first + CI.block), most=1).violations, f"{name} survives block {block}"


@pytest.mark.parametrize("name", EQUIVALENT)
def test_a_fault_that_is_called_equivalent_breaks_nothing(name: str) -> None:
    assert not campaign(MUTANTS[name], range(CI.block // 10), most=1).violations, EQUIVALENT[name]


def test_a_run_plays_more_of_each_world_than_the_block_that_catches_every_fault_in_it() -> None:
    assert min(CI.claims, CI.leases, CI.elections) >= 2 * CI.block


def test_enough_faults_are_planted() -> None:
    assert len(set(MUTANTS) - set(EQUIVALENT)) >= LEAST
