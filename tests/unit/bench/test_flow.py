"""The numbers of limits and fairness, at a size that takes no time."""

import pytest

from benchmarks import flow
from benchmarks.fairness import LEAST, Crowd, Played, percentile, waits


@pytest.mark.parametrize(("rate", "each", "window"), [("120/m", 2.0, 60.0), ("10/s", 10.0, 1.0)])
def test_a_backlog_uses_the_rate_and_no_more_with_few_writes_and_no_reads(rate: str, each: float, window: float) -> None:
    found = flow.backlog(rate, tasks=200, workers=3)
    assert len(found.starts) == 200
    assert 0.95 * each <= found.rate <= 1.01 * each
    assert found.most_in(window) <= (window + 2) * each + 1
    assert sum(found.calls[name] for name in flow.WRITES) <= 1.1 * 200
    assert not any(found.calls[name] for name in flow.READS)


def test_a_quiet_tenant_waits_little_behind_a_noisy_one_and_long_without_fairness() -> None:
    crowd = Crowd(20, 3.5, 100)
    alone, beside, unfair = (
        percentile([wait + took for wait, took in waits(one, 50, fair=fair, seconds=60, seed=3)], 0.95)
        for one, fair in ((Crowd(20, 3.5, 0), True), (crowd, True), (crowd, False))
    )
    assert beside <= 2 * alone
    assert unfair > 10 * alone


def test_a_tenant_is_noisy_by_its_share_of_what_is_in_flight() -> None:
    queue = Played(fair=True)
    queue.busy, queue.flight[0], queue.flight[1] = 10 * LEAST - 1, LEAST, LEAST - 1
    assert queue.is_noisy(0)
    assert not queue.is_noisy(1)
    queue.busy = 10 * LEAST
    assert not queue.is_noisy(0)


def test_a_tenant_is_noisy_by_its_share_of_recent_time() -> None:
    queue = Played(fair=True)
    for moment in range(100):
        queue.took(moment, moment % 20, 1.0)
    assert not queue.is_noisy(3)
    queue.took(100, 3, 10.0)
    assert queue.is_noisy(3)
    queue.took(161, 4, 40.0)
    assert not queue.is_noisy(3)
