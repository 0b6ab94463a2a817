"""Circuit breakers at their edges: the ranges of their options, the first and the last second that counts, and their text."""

from typing import Any

import pytest

from sedano.errors import ConfigurationError, OptionError
from sedano.model.circuits import FAILURE, Breaker, Circuit, Noted, closed, failed, from_text, succeeded, to_text

NOW = 1_767_225_600.0
SECONDS = ("window", "open_for", "open_most", "errors_within", "calm_after")


@pytest.mark.parametrize("field", SECONDS)
def test_a_period_is_above_0_and_at_most_a_day(field: str) -> None:
    options: dict[str, Any] = {"open_for": 0.25} if field == "open_most" else {"open_most": 86_400.0} if field == "open_for" else {}
    for value in (0.5, 86_400):
        assert getattr(Breaker(**{**options, field: value}), field) == value
    for value in (0, -1.0, 86_400.5, "1", True, None):
        with pytest.raises(OptionError) as caught:
            Breaker(**{**options, field: value})
        assert str(caught.value) == f"{field}: {value!r} is not a number of seconds above 0, at most 86400"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"failures": 101}, "failures: 101 is not a whole number from 0 to 100"),
        ({"failures": -1, "errors_after": 0}, "failures: -1 is not a whole number from 0 to 100"),
        ({"errors_after": 0, "growth": "x"}, "errors_after: 0 is not a whole number from 1 to 100"),
        ({"errors_after": 101}, "errors_after: 101 is not a whole number from 1 to 100"),
        ({"checks": {"web": {"up": 1, "down": 0}}}, "checks: web: down: 0 is not a whole number from 1 to 100"),
        ({"checks": {"web": {"down": 101}}}, "checks: web: down: 101 is not a whole number from 1 to 100"),
        ({"growth": "fast", "on_open": "x"}, "growth: 'fast' is not one of none, linear, exponential"),
        ({"on_open": "drop"}, "on_open: 'drop' is not one of wait, fail"),
        ({"open_for": 31, "open_most": 30}, "open_most: 30 is shorter than open_for, 31"),
    ],
)
def test_what_cannot_be_honoured_is_named_with_what_can(options: dict[str, Any], told: str) -> None:
    with pytest.raises(OptionError) as caught:
        Breaker(**options)
    assert str(caught.value) == told


def test_the_edges_of_the_counts_are_allowed() -> None:
    most = Breaker(failures=100, checks={"web": {"down": 100, "slow": 1}}, errors_after=100, open_for=30, open_most=30)
    assert [most.threshold(mark) for mark in (FAILURE, "web:down", "web:slow", "web:up", "net:down", "web")] == [100, 100, 1, 0, 0, 0]
    assert Breaker(failures=0, errors_after=1).threshold(FAILURE) == 0
    assert Breaker(checks={"a:b": {"down": 7}}).threshold("a:b:down") == 7


@pytest.mark.parametrize(
    ("growth", "row", "seconds"),
    [
        ("none", 9, 1.5), ("linear", 1, 1.5), ("linear", 3, 4.5), ("linear", 100_000, 86_400.0), ("exponential", 1, 1.5),
        ("exponential", 4, 12.0), ("exponential", 100, 86_400.0),
    ],
)  # fmt: skip
def test_how_long_a_trip_keeps_it_open(growth: Any, row: int, seconds: float) -> None:
    assert Breaker(open_for=1.5, growth=growth, open_most=86_400).period(row) == seconds


@pytest.mark.parametrize(("row", "doubled"), [(64, 63), (65, 64), (66, 64), (10**6, 64)])
def test_a_period_is_doubled_64_times_at_most(row: int, doubled: int) -> None:
    assert Breaker(open_for=1e-15, growth="exponential", open_most=86_400).period(row) == 1e-15 * 2.0**doubled


@pytest.mark.parametrize(("after", "expected"), [(-5.5, False), (-5, True), (0, True), (29.5, True), (30, False)])
def test_it_is_open_from_its_trip_to_the_end_of_the_period(after: float, expected: bool) -> None:
    assert Circuit("c", since=NOW, until=NOW + 30).is_open(NOW + after) is expected


@pytest.mark.parametrize(
    ("circuit", "expected"),
    [
        (Circuit("c"), True),
        (Circuit("c", row=1), False),
        (Circuit("c", ((NOW, "web:down"),)), True),
        (Circuit("c", ((NOW, "web:down"), (NOW, FAILURE))), False),
    ],
)
def test_it_is_clean_if_a_success_changes_nothing(circuit: Circuit, expected: bool) -> None:
    assert circuit.is_clean is expected
    assert (succeeded(circuit) == circuit) is expected


@pytest.mark.parametrize(("after", "counts"), [(-60, False), (-59.5, True), (5, True), (5.5, False)])
def test_a_failure_counts_within_the_window_and_the_difference_of_clocks(after: float, counts: bool) -> None:
    seen = ((NOW + after, FAILURE),)
    noted = failed(Breaker(failures=5), Circuit("c", seen), FAILURE, NOW)
    assert noted == Noted(Circuit("c", (*(seen if counts else ()), (NOW, FAILURE))), False, "warning")


def test_a_kind_of_failure_that_does_not_count_or_an_open_circuit_notes_nothing() -> None:
    circuit, opened = Circuit("c", ((NOW - 99, FAILURE),)), Circuit("c", since=NOW - 1, until=NOW + 1)
    assert failed(Breaker(), circuit, "web:down", NOW) == Noted(circuit)
    assert failed(Breaker(), opened, FAILURE, NOW) == Noted(opened)


def test_a_hundred_marks_are_kept() -> None:
    marks = tuple((NOW + number / 1_000, "web:down") for number in range(100))
    noted = failed(Breaker(), Circuit("c", marks), FAILURE, NOW + 1)
    assert noted.circuit.marks == (*marks[1:], (NOW + 1, FAILURE))
    full = Circuit("c", tuple((NOW, FAILURE) for _ in range(99)))
    assert failed(Breaker(failures=100), full, FAILURE, NOW).tripped


def test_a_trip_forgets_the_failures_and_counts_the_row() -> None:
    seen = Circuit(
        "c", ((NOW, "web:down"), (NOW, FAILURE), (NOW, FAILURE)), row=1, trips=(NOW - 300, NOW - 299.5, NOW + 5, NOW + 5.5), loud=7.0
    )
    noted = failed(Breaker(growth="linear", errors_after=4), seen, FAILURE, NOW)
    assert noted.circuit == Circuit("c", (), NOW, NOW + 60, "3 × failure within 60 s", 2, (NOW - 299.5, NOW + 5, NOW), 7.0)
    assert (noted.tripped, noted.level) == (True, "warning")
    noted = failed(Breaker(growth="linear", errors_after=3), seen, FAILURE, NOW)
    assert (noted.circuit.loud, noted.level) == (NOW + 1_800, "error")


@pytest.mark.parametrize(
    ("loud", "level"), [(0.0, "warning"), (NOW, "warning"), (NOW + 0.5, "error"), (NOW + 1_800, "error"), (NOW + 1_800.5, "warning")]
)
def test_trips_are_errors_until_it_was_calm_for_long_enough(loud: float, level: str) -> None:
    assert failed(Breaker(failures=1), Circuit("c", loud=loud), FAILURE, NOW).level == level


def test_a_hundred_trips_are_kept() -> None:
    trips = tuple(NOW + number / 1_000 for number in range(100))
    assert failed(Breaker(failures=1), Circuit("c", trips=trips), FAILURE, NOW + 1).circuit.trips == (*trips[1:], NOW + 1)


def test_a_circuit_that_was_closed_by_hand_keeps_its_name_and_its_trips() -> None:
    assert closed(Circuit("c", ((1.0, FAILURE),), 1.0, 2.0, "x", 3, (4.0,), 5.0)) == Circuit("c", trips=(4.0,))


def test_a_circuit_is_written_as_json_and_read_back_field_by_field() -> None:
    circuit = Circuit("c", ((1.5, FAILURE), (2.0, "a:b")), 3.5, 4.5, "why", 5, (6.5, 7.5), 8.5)
    assert to_text(circuit) == '["c",[[1.5,"failure"],[2.0,"a:b"]],3.5,4.5,"why",5,[6.5,7.5],8.5]'
    assert from_text(to_text(circuit)) == circuit
    for text in ("[]", '["c",[],0,0,"",0,[]]', '["c",[],0,0,"",0,[],0,0]', '["c",[[1]],0,0,"",0,[],0]', '["c",[["1","a"]],0,0,"",0,[],0]',
                 '["c",[],"0",0,"",0,[],0]', '["c",[],0,null,"",0,[],0]', '["c",[],0,0,"",0,[true],0]', '["c",[],0,0,"",0,[],"0"]',
                 '["c",[],0,0,"","x",[],0]'):  # fmt: skip
        with pytest.raises(ConfigurationError, match=r"^a circuit in the control table cannot be read: "):
            from_text(text)
