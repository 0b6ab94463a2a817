"""The budget grows by the backlog, then exponentially, shrinks to what runs, and rests after each change."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import ConfigurationError, OptionError
from sedano.model.budgets import NAMED, Budget, Level, Load, from_text, scaled, to_text, tracking

NOW = 1_767_225_600.0
BUDGET = Budget(least=2, most=100, cooldown=60, cooldown_growth=2, cooldown_most=200, exponent=0.5)
budgets = st.builds(
    Budget, least=st.integers(1, 5), most=st.integers(5, 500), cooldown=st.integers(0, 60), cooldown_growth=st.integers(1, 4),
    cooldown_most=st.integers(60, 600), exponent=st.floats(0, 3),
)  # fmt: skip
looks = st.lists(st.tuples(st.integers(0, 120), st.integers(0, 2_000), st.integers(0, 500)), max_size=50)


def test_first_it_grows_by_the_backlog_then_exponentially_and_rounds_up():
    first = scaled(BUDGET, Level(5), Load(7, 5), NOW)
    assert first == Level(12, 1, 1, NOW, NOW + 60)
    second = scaled(BUDGET, first, Load(40, 12), NOW + 60)
    assert (second.limit, second.increases, second.until) == (24, 2, NOW + 60 + 120)
    third = scaled(BUDGET, second, Load(40, 24), NOW + 180)
    assert (third.limit, third.until) == (68, NOW + 180 + 200), "ceil(24 * 2 ** 1.5), and the cool-down has reached its limit"


def test_while_it_rests_nothing_changes():
    level = scaled(BUDGET, Level(5), Load(7, 5), NOW)
    assert scaled(BUDGET, level, Load(1_000, 12), NOW + 59.9) is level
    assert scaled(BUDGET, level, Load(0, 0), NOW + 59.9) is level


def test_it_shrinks_to_what_runs_but_never_below_its_least():
    assert scaled(BUDGET, Level(50), Load(3, 9), NOW).limit == 12, "what waits could run at once"
    assert scaled(BUDGET, Level(50), Load(0, 0), NOW).limit == 2


def test_a_look_that_finds_nothing_to_change_ends_the_row():
    level = scaled(BUDGET, scaled(BUDGET, Level(5), Load(7, 5), NOW), Load(0, 12), NOW + 60)
    assert level == Level(12, 0, 0, NOW, NOW + 60)
    again = scaled(BUDGET, level, Load(13, 12), NOW + 61)
    assert (again.limit, again.until - again.at) == (25, 60)


@pytest.mark.parametrize("rule", NAMED)
@given(budget=budgets, told=looks)
def test_it_stays_within_its_bounds_and_changes_at_most_once_a_cooldown(rule, budget, told):
    level, now, changed, decide = Level(budget.least), NOW, [], NAMED[rule]
    for pause, waiting, running in told:
        now += pause
        before, level = level, decide(budget, level, Load(waiting, running), now)
        assert budget.least <= level.limit <= budget.most
        if level.limit != before.limit:
            grows_for = waiting if rule == "cep" else waiting + running
            assert grows_for > before.limit if level.limit > before.limit else waiting + running < before.limit
            assert now >= before.until
            assert budget.cooldown <= level.until - now <= budget.cooldown_most
            changed.append(now)
        assert from_text(to_text(level)) == level
        assert decide(budget, level, Load(waiting, running), now) == decide(budget, level, Load(waiting, running), now)
    assert all(later - earlier >= budget.cooldown for earlier, later in itertools.pairwise(changed))


def test_tracking_has_as_many_as_there_is_work_for_and_then_rests():
    level = tracking(BUDGET, Level(5), Load(3, 5), NOW)
    assert level == Level(8, 0, 0, NOW, NOW + 60), "who waits is served, however few wait"
    assert tracking(BUDGET, level, Load(40, 8), NOW + 59.9) is level
    assert tracking(BUDGET, level, Load(40, 8), NOW + 60).limit == 48
    assert tracking(BUDGET, level, Load(0, 0), NOW + 60).limit == 2
    assert tracking(BUDGET, level, Load(0, 8), NOW + 60) is level
    assert tracking(BUDGET, level, Load(40, 8), NOW - 3_600).limit == 48, "a clock that ran backwards does not stop it"


@given(budgets, st.integers(1, 5_000))
def test_a_backlog_that_stays_takes_it_to_its_most(budget, waiting):
    budget = Budget(budget.least, budget.most, 1, 1, 1, max(budget.exponent, 0.1))
    level, now = Level(budget.least), NOW
    for _ in range(60):
        level, now = scaled(budget, level, Load(waiting, level.limit), now), now + 2
    assert level.limit >= min(budget.most, waiting)


def test_a_clock_that_runs_backwards_does_not_stop_it():
    level = scaled(BUDGET, Level(5), Load(7, 5), NOW)
    assert scaled(BUDGET, level, Load(40, 12), NOW - 3_600).limit == 24


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"least": 0}, "least"), ({"least": 11, "most": 10}, "least"), ({"most": 20_000}, "most"), ({"cooldown": -1}, "cooldown"),
        ({"cooldown": 700}, "cooldown_most"), ({"cooldown_growth": 0.5}, "cooldown_growth"), ({"exponent": float("inf")}, "exponent"),
    ],
)  # fmt: skip
def test_what_cannot_be_honoured_is_named(options, named):
    with pytest.raises(OptionError, match=f"^{named}"):
        Budget(**options)


@pytest.mark.parametrize("text", ["", "{}", "[1, 2]"])
def test_a_text_that_is_no_level_is_refused(text):
    with pytest.raises(ConfigurationError, match="budget"):
        from_text(text)
