"""A circuit trips at its thresholds and not before, closes by itself, and grows, escalates and calms as it was declared to."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import ConfigurationError, OptionError
from sedano.model.circuits import FAILURE, MOST_MARKS, Breaker, Circuit, closed, failed, from_text, succeeded, to_text

NOW = 1_767_225_600.0
CEP = Breaker(failures=0, checks={"web": {"unhealthy": 2, "degraded": 10}}, window=10)
SHUT = Circuit("c")

policies = st.builds(
    Breaker,
    failures=st.integers(0, 5),
    checks=st.just({"web": {"unhealthy": 2, "degraded": 4}}),
    window=st.integers(1, 100),
    open_for=st.integers(1, 100),
    growth=st.sampled_from(["none", "linear", "exponential"]),
    open_most=st.integers(100, 1_000),
    errors_after=st.integers(1, 4),
)
steps = st.lists(
    st.tuples(st.integers(0, 60), st.sampled_from([FAILURE, "web:unhealthy", "web:degraded", "web:healthy", "success"])), max_size=60
)


def failing(breaker, circuit, mark, moments):
    """The circuit after a failure of one kind at each moment, and at which of them it tripped."""
    trips = []
    for at in moments:
        noted = failed(breaker, circuit, mark, at)
        circuit = noted.circuit
        trips += [at] if noted.tripped else []
    return circuit, trips


def test_three_failures_trip_it_by_default_and_it_closes_after_thirty_seconds():
    circuit, trips = failing(Breaker(), SHUT, FAILURE, [NOW, NOW + 1, NOW + 2])
    assert trips == [NOW + 2]
    assert circuit.is_open(NOW + 2)
    assert circuit.is_open(NOW + 31.9)
    assert not circuit.is_open(NOW + 32)
    assert circuit.cause == "3 × failure within 60 s"


def test_each_state_of_a_check_has_its_own_threshold_in_the_window_as_in_the_ceps_example():
    assert failing(CEP, SHUT, "web:unhealthy", [NOW, NOW + 9])[1] == [NOW + 9]
    assert failing(CEP, SHUT, "web:unhealthy", [NOW, NOW + 10])[1] == []
    assert failing(CEP, SHUT, "web:degraded", [NOW + n * 0.5 for n in range(9)])[1] == []
    assert failing(CEP, SHUT, "web:degraded", [NOW + n * 0.5 for n in range(10)])[1] == [NOW + 4.5]
    assert failing(CEP, SHUT, "web:healthy", [NOW] * 50)[1] == []
    assert failing(CEP, SHUT, "other:unhealthy", [NOW] * 50)[1] == []


def test_a_success_forgets_failures_of_the_task_but_not_what_checks_found():
    breaker = Breaker(checks={"web": {"unhealthy": 2}})
    circuit, _ = failing(breaker, SHUT, FAILURE, [NOW, NOW])
    circuit = failed(breaker, circuit, "web:unhealthy", NOW).circuit
    circuit = succeeded(circuit)
    assert circuit.marks == ((NOW, "web:unhealthy"),)
    assert circuit.is_clean
    assert not failed(breaker, circuit, FAILURE, NOW + 1).tripped
    assert failed(breaker, circuit, "web:unhealthy", NOW + 1).tripped


@pytest.mark.parametrize(
    ("growth", "periods"), [("none", [10, 10, 10, 10]), ("linear", [10, 20, 30, 35]), ("exponential", [10, 20, 35, 35])]
)
def test_trips_in_a_row_stay_open_for_longer_and_a_success_ends_the_row(growth, periods):
    breaker = Breaker(failures=1, open_for=10, growth=growth, open_most=35)
    circuit, at, found = SHUT, NOW, []
    for _ in periods:
        circuit = failed(breaker, circuit, FAILURE, at).circuit
        found.append(circuit.until - at)
        at = circuit.until
    assert found == periods
    assert failed(breaker, succeeded(circuit), FAILURE, at).circuit.until - at == 10


def test_many_trips_within_a_while_are_errors_until_it_was_calm():
    breaker = Breaker(failures=1, open_for=30, errors_after=3, errors_within=300, calm_after=1_800)
    circuit, levels = SHUT, []
    for at in (0, 100, 200, 1_900, 2_100, 4_000):
        noted = failed(breaker, circuit, FAILURE, NOW + at)
        circuit, levels = noted.circuit, [*levels, noted.level]
    assert levels == ["warning", "warning", "error", "error", "warning", "warning"]


@given(policies, steps)
def test_it_trips_exactly_when_a_threshold_is_reached_while_it_is_closed(breaker, told):
    circuit, now, seen = SHUT, NOW, []
    for pause, mark in told:
        now += pause
        if mark == "success":
            circuit, seen = succeeded(circuit), [s for s in seen if s[1] != FAILURE]
            continue
        was_open = circuit.is_open(now)
        noted = failed(breaker, circuit, mark, now)
        needed = {FAILURE: breaker.failures, "web:unhealthy": 2, "web:degraded": 4}.get(mark, 0)
        if not was_open and needed:
            seen = [*(s for s in seen if now - breaker.window < s[0]), (now, mark)]
        expected = not was_open and bool(needed) and sum(s[1] == mark for s in seen) >= needed
        assert noted.tripped == expected
        if expected:
            seen = []
            assert breaker.open_for <= noted.circuit.until - now <= breaker.open_most
            assert noted.circuit.is_open(now)
        elif was_open:
            assert noted.circuit == circuit
        circuit = noted.circuit
        assert from_text(to_text(circuit)) == circuit


def test_a_clock_that_runs_backwards_opens_it_and_forgets_what_lies_in_the_future():
    circuit, _ = failing(Breaker(failures=1), SHUT, FAILURE, [NOW])
    assert circuit.is_open(NOW - 4)
    assert not circuit.is_open(NOW - 3_600)
    marked, _ = failing(Breaker(), SHUT, FAILURE, [NOW, NOW])
    assert not failed(Breaker(), marked, FAILURE, NOW - 3_600).tripped


def test_closed_by_hand_nothing_is_held_against_it():
    circuit, _ = failing(Breaker(failures=2), SHUT, FAILURE, [NOW, NOW])
    assert not closed(circuit).is_open(NOW + 1)
    assert closed(circuit).is_clean
    assert not failed(Breaker(failures=2), closed(circuit), FAILURE, NOW + 1).tripped


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"failures": -1}, "failures"), ({"failures": MOST_MARKS + 1}, "failures"), ({"failures": True}, "failures"),
        ({"window": 0}, "window"), ({"window": float("nan")}, "window"), ({"open_for": -1}, "open_for"),
        ({"open_for": 100_000}, "open_for"), ({"open_most": 10}, "open_most"), ({"growth": "fast"}, "growth"),
        ({"on_open": "drop"}, "on_open"), ({"errors_after": 0}, "errors_after"), ({"checks": {"web": {"unhealthy": 0}}}, "checks: web"),
    ],
)  # fmt: skip
def test_what_cannot_be_honoured_is_named(options, named):
    with pytest.raises(OptionError, match=f"^{named}"):
        Breaker(**options)


@pytest.mark.parametrize("text", ["", "{}", "[1]", json.dumps(["c", [[1]], 0, 0, "", 0, [], 0]), "null"])
def test_a_text_that_is_no_circuit_is_refused(text):
    with pytest.raises(ConfigurationError, match="circuit"):
        from_text(text)
