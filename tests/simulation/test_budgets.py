"""The budgets of coordination hold in every schedule in which nothing fails; every request counts, also a refused one."""

from collections import Counter

from tests.simulation.budgets import CalmLeases, CalmTasks

SCHEDULES = 150


def test_a_lease_that_is_known_costs_one_write_another_two_requests_a_renewal_and_a_release_one_write_each() -> None:
    spent: Counter[str] = Counter()
    for seed in range(SCHEDULES):
        spent += CalmLeases(seed).run().branches
    assert [branch for branch in ("took known", "took unknown", "refused unknown", "renew", "release") if not spent[branch]] == []


def test_a_claimed_task_costs_two_writes_and_a_member_one() -> None:
    spent: Counter[str] = Counter()
    for seed in range(SCHEDULES):
        spent += CalmTasks(seed, 1 + seed % 7).run().branches
    assert spent["tasks"] > SCHEDULES
    assert spent["joined"] > SCHEDULES
