"""The estimate of a canvas: calls are counted, the cost of a call includes its retries, and what is not known is said."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import OptionError, SpendingExceeded
from sedano.model.canvas.tree import Chain, Fork, Group, TaskNode, Tree, calls_of
from sedano.model.history.cost_estimates import CostEstimate, costs_of_calls, estimate, required
from sedano.model.history.rollups import OTHERS, RunPlace, RunSums, Sums
from sedano.model.messages.message import MAP
from sedano.model.tasks.signature import Signature
from tests.unit.test_rollups import SUMS


def sums(spent: int, **ran: tuple[int, int, int]) -> Sums:
    """An object in which workers spent so much; by task the calls that ended, the retries, and the microseconds."""
    runs = {RunPlace(name, "default", 7): RunSums({"SUCCESS": done, "RETRY": again}, micros) for name, (done, again, micros) in ran.items()}
    return Sums(runs, {("worker", 7): spent, ("recorder", 7): 10**9})


def node(name: str, *links: Tree) -> TaskNode:
    """A task with links."""
    return TaskNode(Signature(name), links)


def test_the_cost_of_the_workers_is_divided_by_run_time_and_a_call_pays_for_its_retries() -> None:
    assert costs_of_calls([sums(900, a=(2, 1, 200), b=(1, 0, 100))]) == {"a": 300.0, "b": 300.0}
    assert costs_of_calls([sums(900, a=(1, 0, 200), b=(1, 0, 100)), sums(100, a=(1, 0, 5))]) == {"a": 350.0, "b": 300.0}
    assert costs_of_calls([sums(90, a=(2, 0, 0), b=(1, 0, 0))]) == {"a": 30.0, "b": 30.0}, "equally if none took time"
    assert costs_of_calls([sums(0, a=(1, 0, 1)), sums(50), sums(50, **{OTHERS: (1, 0, 9)}), sums(50, c=(0, 1, 9))]) == {}
    assert costs_of_calls([sums(5, a=(0, 0, 0))]) == {}, "no run ended"
    assert costs_of_calls([Sums({RunPlace("a", "q", 7): RunSums({"SUCCESS": 2})}, {("worker", 7): 10})]) == {"a": 5.0}


def test_an_unknown_task_costs_the_median_of_the_known_ones_and_is_named() -> None:
    objects = [sums(600, a=(1, 0, 100), b=(1, 0, 200), c=(1, 0, 300))]
    assert estimate({"a": 2, "b": 1}, objects) == CostEstimate(3, 400)
    assert estimate({"a": 1, "c": 1, "y": 2, "x": 1}, objects) == CostEstimate(5, 1_000, ("x", "y"))
    assert estimate({"x": 3}, objects) == CostEstimate(3, 600, ("x",)), "the median of all tasks"
    assert estimate({"x": 3}, []) == CostEstimate(3, None, ("x",))
    assert estimate({}, []) == CostEstimate(0, 0)
    skewed = [sums(900, a=(1, 0, 100), b=(1, 0, 200), c=(1, 0, 600))]
    assert estimate({"a": 1, "x": 1}, skewed) == CostEstimate(2, 200, ("x",)), "the median of those of the canvas"


@given(st.dictionaries(st.text(max_size=3), st.integers(1, 9)), st.lists(SUMS, max_size=4))
def test_an_estimate_is_not_negative_and_twice_the_calls_cost_twice(calls: dict[str, int], objects: list[Sums]) -> None:
    one, both = estimate(calls, objects), estimate({name: 2 * number for name, number in calls.items()}, objects)
    assert (one.nanodollars is None) == (both.nanodollars is None)
    if one.nanodollars is not None and both.nanodollars is not None:
        assert one.nanodollars >= 0
        assert abs(both.nanodollars - 2 * one.nanodollars) <= 1


def test_an_estimate_above_the_amount_is_refused_with_both() -> None:
    required(CostEstimate(2, 500_000_000), "0.50 USD")
    with pytest.raises(SpendingExceeded) as refused:
        required(CostEstimate(3, 510_000_000, ("x", "y")), "0.50 USD")
    assert str(refused.value) == (
        "within 0.50 USD: 3 tasks cost about 0.51 USD; a guess for x, y, without a run in the last day; publish less at once, or allow more"
    )
    with pytest.raises(SpendingExceeded, match=r"within 1 USD: the cost of 3 tasks is not known, because no task ran in the last day"):
        required(CostEstimate(3, None, ("x",)), "1 USD")
    with pytest.raises(OptionError, match="within: '1' is not an amount in US dollars; write '1 USD'"):
        required(CostEstimate(1, 1), "1")
    assert str(CostEstimate(3, None)) == "3 tasks cost about ?"


def test_every_task_of_a_canvas_is_counted_and_a_map_as_the_calls_of_its_task() -> None:
    mapped = TaskNode(Signature(MAP, ("b", [1, 2, 3])))
    last = TaskNode(Signature("c"), forks=(node("f"),))
    tree = Chain((Group((node("a"), node("a"), mapped), (node("link"),)), Fork((node("side"),)), last))
    assert calls_of(tree) == Counter(a=2, b=3, link=1, side=1, c=1, f=1)
    assert calls_of(TaskNode(Signature(MAP, ("b", "no list")))) == {MAP: 1}
    assert calls_of(TaskNode(Signature("own", ("b", [1])))) == {"own": 1}
