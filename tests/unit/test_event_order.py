"""The order of events: where a clock is a counter, and the events that have no place in the order."""

import pytest

from sedano.model.history.event_order import MICRO, Stamp, is_counter, stamp

NOW = 1_795_167_537
EVENT = {"type": "task-sent", "uuid": "t", "hostname": "a", "pid": 1, "clock": 5, "timestamp": 2.0}


def test_a_clock_that_is_nine_years_behind_its_event_is_a_counter_and_one_that_is_less_behind_is_none() -> None:
    nine_years = 2**48
    assert not is_counter(NOW * MICRO - nine_years, NOW)
    assert is_counter(NOW * MICRO - nine_years - 1, NOW)


def test_an_event_with_a_counter_is_ordered_by_its_receipt_or_else_by_its_own_time() -> None:
    counted = EVENT | {"timestamp": float(NOW)}
    assert stamp(EVENT) == Stamp(5, 2.0, "a", 1, "task-sent", "t")
    assert stamp(counted).clock == NOW * MICRO
    assert stamp(counted | {"local_received": NOW + 1.5}).clock == NOW * MICRO + 1_500_000


@pytest.mark.parametrize(
    ("wrong", "says"),
    [({"clock": 10**400}, "cannot be compared: one of them does not fit in a double"), ({"clock": True}, "clock cannot be True"),
     ({"timestamp": float("nan")}, "timestamp cannot be nan"), ({"local_received": "now"}, "local_received cannot be 'now'")],
)  # fmt: skip
def test_an_event_without_a_place_in_the_order_is_refused_with_its_field(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        stamp(EVENT | wrong)
