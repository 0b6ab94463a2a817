"""Retries are patient, limited, and spread; a policy that cannot be honoured is refused with the field's name."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import OptionError
from sedano.model.retry import DEFAULT, MAX_BACKOFF, MAX_EXECUTIONS, MAX_PAUSE_S, MOST_EXECUTIONS, NEVER, Retry

seconds = st.floats(0, MAX_PAUSE_S)
most = st.integers(0, MAX_EXECUTIONS - 1)
policies = st.builds(Retry, most, seconds, seconds, seconds, st.floats(1, MAX_BACKOFF), st.booleans())
units = st.floats(0, 1, exclude_max=True)
numbers = st.integers(0, MAX_EXECUTIONS) | st.integers(0, MOST_EXECUTIONS)


@given(policies, numbers, units)
def test_a_pause_is_one_that_a_queue_or_a_timer_can_keep(policy, retries, unit):
    assert 0 <= policy.pause(retries, unit) <= policy.interval_max <= MAX_PAUSE_S


@given(policies, numbers, units)
def test_the_next_pause_may_be_longer_but_not_shorter_at_equal_luck(policy, retries, unit):
    assert policy.pause(retries, unit) <= policy.pause(retries + 1, unit)


@given(policies, numbers)
def test_without_jitter_luck_does_not_matter_and_with_it_the_pause_is_spread_from_nothing_to_all(policy, retries):
    full = policy.pause(retries, 0.999_999)
    assert policy.pause(retries, 0.0) == (0.0 if policy.jitter else full)
    assert policy.pause(retries, 0.5) == pytest.approx(full / 2 if policy.jitter else full, rel=1e-3)


def test_pauses_grow_by_step_and_by_back_off_up_to_the_maximum():
    steps = Retry(interval_start=1, interval_step=2, interval_max=6, backoff=1, jitter=False)
    assert [steps.pause(n, 0) for n in range(5)] == [1, 3, 5, 6, 6]
    doubles = Retry(interval_start=1, interval_max=10, jitter=False)
    assert [doubles.pause(n, 0) for n in range(6)] == [1, 2, 4, 8, 10, 10]
    assert Retry(interval_start=0, backoff=MAX_BACKOFF, jitter=False).pause(MAX_EXECUTIONS, 0) == 0


def test_retries_are_on_by_default_and_can_be_switched_off():
    assert DEFAULT.max_retries == 3
    assert NEVER.max_retries == 0


@pytest.mark.parametrize("field", ["max_retries", "interval_start", "interval_step", "interval_max", "backoff"])
@pytest.mark.parametrize("value", [-1, 1_000_000, math.nan, math.inf, -math.inf])
def test_a_policy_that_cannot_be_honoured_is_refused_by_field(field, value):
    with pytest.raises(OptionError, match=f"^{field}: "):
        Retry(**{field: value})


@pytest.mark.parametrize("value", ["no", "yes", 0, 1, None])
def test_a_jitter_that_is_neither_true_nor_false_is_refused(value):
    with pytest.raises(OptionError, match=f"^jitter: expected True or False, got {value!r}$"):
        Retry(jitter=value)


def test_the_edges_of_a_policy_are_allowed():
    assert Retry(MAX_EXECUTIONS - 1, 900, 900, 900, MAX_BACKOFF).pause(19, 0.5) == 450
    assert Retry(0, 0, 0, 0, 1).pause(0, 0.5) == 0
    with pytest.raises(OptionError, match="max_retries: 1000000 is not between 0 and 999999; write None for no limit"):
        Retry(MOST_EXECUTIONS)


def test_no_limit_of_retries_is_the_most_that_a_message_can_carry():
    assert Retry(max_retries=None).most_retries == MOST_EXECUTIONS - 1 == Retry(MOST_EXECUTIONS - 1).most_retries
    assert [Retry(n).most_executions for n in (0, MAX_EXECUTIONS - 1, MAX_EXECUTIONS, None)] == [20, 20, MOST_EXECUTIONS, MOST_EXECUTIONS]


@pytest.mark.parametrize("backoff", [2, 2.0, MAX_BACKOFF])
def test_a_pause_stays_at_its_longest_after_any_number_of_retries(backoff):
    assert Retry(None, backoff=backoff, jitter=False).pause(MOST_EXECUTIONS - 1, 0) == 300.0
    assert Retry(None, interval_start=0, backoff=backoff, jitter=False).pause(MOST_EXECUTIONS - 1, 0) == 0.0


def test_the_longest_pause_and_the_steepest_back_off_are_allowed_and_no_more():
    assert Retry(0, 86_400, 86_400.0, 86_400, 100) == Retry(0, 86_400, 86_400, 86_400, 100.0)
    for name, value, told in (
        ("interval_start", 86_400.5, "is not between 0 and 86400 seconds"),
        ("interval_step", 86_400.5, "is not between 0 and 86400 seconds"),
        ("interval_max", 86_400.5, "is not between 0 and 86400 seconds"),
        ("backoff", 100.5, "is not between 1 and 100"),
        ("backoff", 0.5, "is not between 1 and 100"),
    ):
        with pytest.raises(OptionError) as caught:
            Retry(**{name: value})
        assert str(caught.value) == f"{name}: {value} {told}"


@pytest.mark.parametrize("field", ["max_retries", "interval_start", "interval_step", "interval_max", "backoff"])
@pytest.mark.parametrize("value", ["1", None, True, 1j])
def test_a_field_that_is_no_number_is_named(field, value):
    if (field, value) == ("max_retries", None):
        return  # no limit
    with pytest.raises(OptionError, match=f"^{field}: expected a {'whole ' if field == 'max_retries' else ''}number, got "):
        Retry(**{field: value})


def test_the_number_of_retries_is_whole():
    with pytest.raises(OptionError, match=r"^max_retries: expected a whole number, got 2\.0$"):
        Retry(max_retries=2.0)


def test_a_pause_with_jitter_is_its_share_of_the_full_one():
    assert Retry(interval_start=3, interval_step=2, backoff=2).pause(2, 0.25) == 4.0
