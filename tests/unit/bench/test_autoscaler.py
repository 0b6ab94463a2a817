"""The comparison of autoscalers plays what it says: a queue whose waits can be counted by hand, and rules that behave as theirs do."""

import itertools
import random
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from benchmarks.autoscaler import DATA, TRACES, Arrival, contenders, fixed, of_celery, of_sedano, picture, play
from sedano.model.budgets import Budget, Load

SEED = 20261121
FOUR = [Arrival(0, 10), Arrival(1, 10), Arrival(2, 10), Arrival(30, 5)]


def test_the_waits_are_those_that_one_counts_by_hand():
    one, two = play(FOUR, fixed("one", 1)), play(FOUR, fixed("two", 2))
    assert one.waits == [0, 9, 18, 0]
    assert two.waits == [0, 0, 8, 0]
    assert (one.wait(0.5), one.wait(0.99)) == (9, 18)
    assert one.capacity == pytest.approx(35 / 3_600)
    assert two.limits == [(0.0, 2)]


def test_celerys_rule_grows_at_once_and_shrinks_half_a_minute_later():
    policy = of_celery(least=2, most=50)
    assert policy.decide(Load(100, 2), 0) == 8, "four messages a process are reserved, no more"
    assert policy.decide(Load(100, 8), 1) == 32
    assert policy.decide(Load(100, 32), 2) == 50
    assert policy.decide(Load(0, 1), 31) == 50
    assert policy.decide(Load(0, 1), 33) == 2


def test_every_task_is_served_once_whatever_the_rule():
    print("seed", SEED)
    dice = random.Random(SEED)
    arrivals = sorted(Arrival(dice.uniform(0, 4_000), dice.expovariate(0.2)) for _ in range(2_000))
    for policy in contenders(arrivals):
        played = play(arrivals, policy)
        assert len(played.waits) == len(arrivals)
        assert min(played.waits) >= 0
        assert played.capacity * 3_600 >= sum(arrival.seconds for arrival in arrivals) - 1e-6
        ET.fromstring(picture("x", {policy.name: played}))  # noqa: S314 - our own


def test_sedanos_rule_changes_at_most_once_a_cooldown():
    dice = random.Random(SEED)
    arrivals = sorted(Arrival(dice.uniform(0, 4_000), dice.expovariate(0.1)) for _ in range(4_000))
    moments = [at for at, _ in play(arrivals, of_sedano("s", 1.0, Budget(2, 200, cooldown=30))).limits[1:]]
    assert len(moments) > 3
    assert all(later - earlier >= 30 for earlier, later in itertools.pairwise(moments))


def test_the_plot_in_the_docs_is_the_one_that_is_drawn():
    file, read = TRACES["Azure"]
    if not (DATA / file).exists():
        pytest.skip(f"{file} is not part of the project: put it into ../shared/data to run this")
    arrivals = read()
    played = {policy.name: play(arrivals, policy) for policy in contenders(arrivals)}
    shown = Path(__file__).parents[3] / "docs" / "autoscaler-azure.svg"
    assert shown.read_text(encoding="utf-8") == picture("Azure: limits over time", played)


@pytest.mark.parametrize("trace", TRACES)
def test_a_trace_is_read_in_order(trace: str):
    file, read = TRACES[trace]
    if not (DATA / file).exists():
        pytest.skip(f"{file} is not part of the project: put it into ../shared/data to run this")
    arrivals = read()
    assert len(arrivals) > 5_000
    assert arrivals == sorted(arrivals)
    assert arrivals[0].at >= 0
