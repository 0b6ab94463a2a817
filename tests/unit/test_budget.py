"""The budget grows by the backlog, then exponentially, shrinks to what runs, and rests after each change."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import ConfigurationError, OptionError
from sedano.model.budgets import NAMED, Budget, Level, Load, from_text, pause, rests, scaled, to_text, tracking

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
    for seconds, waiting, running in told:
        now += seconds
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


@pytest.mark.parametrize(
    ("field", "edges", "wrong", "told"),
    [
        ("least", (1, 10_000), (0, 10_001, 1.0, True), "is not a whole number from 1 to 10000"),
        ("most", (1, 10_000), (0, 10_001, 1.0, True), "is not a whole number from 1 to 10000"),
        ("cooldown", (0, 86_400.0), (-0.5, 86_400.5, "1", True), "is not a number from 0 to 86400"),
        ("cooldown_growth", (1, 100.0), (0.5, 100.5, None), "is not a number from 1 to 100"),
        ("cooldown_most", (60, 86_400.0), (59.5, 86_400.5, None), "is not a number from 60 to 86400"),
        ("exponent", (0, 10.0), (-0.5, 10.5, float("nan")), "is not a number from 0 to 10"),
    ],
)
def test_each_field_has_its_range(field, edges, wrong, told):
    given_most = {"most": 10_000} if field == "least" else {"cooldown_most": 86_400} if field == "cooldown" else {}
    for value in edges:
        assert getattr(Budget(**{**given_most, field: value}), field) == value
    for value in wrong:
        with pytest.raises(OptionError) as caught:
            Budget(**{**given_most, field: value})
        assert str(caught.value) == f"{field}: {value!r} {told}"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"least": 0, "most": 0, "cooldown": -1}, "least"), ({"least": 5, "most": 4, "cooldown": -1}, "least"),
        ({"cooldown": -1, "cooldown_growth": 0}, "cooldown"), ({"cooldown_growth": 0, "cooldown_most": -1}, "cooldown_growth"),
        ({"cooldown_most": -1, "exponent": -1}, "cooldown_most"),
    ],
)  # fmt: skip
def test_of_several_wrong_fields_the_first_is_named(options, named):
    with pytest.raises(OptionError, match=f"^{named}: "):
        Budget(**options)


@pytest.mark.parametrize(("after", "expected"), [(-5.5, False), (-5, True), (0, True), (9.5, True), (10, False)])
def test_a_level_rests_from_its_change_to_the_end_of_its_cool_down(after, expected):
    assert rests(Level(1, at=NOW, until=NOW + 10), NOW + after) is expected


@pytest.mark.parametrize(("changes", "times"), [(0, 0), (1, 1), (64, 64), (65, 64), (10**6, 64)])
def test_a_cool_down_grows_with_each_change_up_to_the_longest(changes, times):
    assert pause(Budget(cooldown=1, cooldown_growth=1.1, cooldown_most=86_400), Level(1, changes=changes)) == 1.1**times
    assert pause(BUDGET, Level(1, changes=changes)) == min(60 * 2**times, 200)


@pytest.mark.parametrize(
    ("level", "load", "expected"),
    [
        (Level(12, 2, 3), Load(12, 0), Level(12, 0, 0)),
        (Level(12, 0, 3), Load(5, 7), Level(12, 0, 0)),
        (Level(12, 2, 0), Load(0, 12), Level(12, 0, 0)),
        (Level(12, 2, 3), Load(5, 6), Level(11, 0, 4, NOW, NOW + 200)),
        (Level(100, 3, 5), Load(101, 100), Level(100, 3, 0)),
        (Level(100, 0, 5), Load(101, 100), Level(100, 0, 0)),
        (Level(12, 0, 1), Load(13, 0), Level(25, 1, 2, NOW, NOW + 120)),
        (Level(12, 1, 1), Load(13, 0), Level(24, 2, 2, NOW, NOW + 120)),
        (Level(12, 2, 0), Load(13, 0), Level(34, 3, 1, NOW, NOW + 60)),
        (Level(3, 0, 0), Load(0, 1), Level(2, 0, 1, NOW, NOW + 60)),
    ],
)
def test_the_level_for_a_load(level, load, expected):
    assert scaled(BUDGET, level, load, NOW) == expected


@pytest.mark.parametrize("rule", [scaled, tracking])
def test_a_level_that_stays_is_the_same_one(rule):
    for level, load in ((Level(12), Load(6, 6)), (Level(2), Load(0, 0))):
        assert rule(BUDGET, level, load, NOW) is level


def test_a_long_row_of_increases_goes_to_the_most():
    assert scaled(BUDGET, Level(2, 10_000, 10_000), Load(3, 0), NOW) == Level(100, 10_001, 10_001, NOW, NOW + 200)


def test_a_level_is_written_as_json_and_read_back_field_by_field():
    level = Level(7, 2, 3, 1.5, 2.5, False)
    assert to_text(level) == "[7,2,3,1.5,2.5,false]"
    assert from_text("[7,2,3,1.5,2.5,false]") == level
    assert from_text("[7,2,3,1,2,true]") == Level(7, 2, 3, 1.0, 2.0, True)
    for text in ("[7,2,3,1.5,2.5]", "[7,2,3,1.5,2.5,true,1]", '[7,2,3,"1",2.5,true]', "[null,2,3,1.5,2.5,true]"):
        with pytest.raises(ConfigurationError, match=r"^a budget in the control table cannot be read: "):
            from_text(text)
