"""The offset of a clock against another that shows whole seconds: never more than the answer proves, and found when it is large."""

import math

from hypothesis import given
from hypothesis import strategies as st

from sedano.deploy.checkup import least_offset

MOMENTS = st.floats(1_700_000_000, 1_900_000_000)


@given(MOMENTS, st.floats(-1_000, 1_000), st.floats(0, 30), st.floats(0, 1))
def test_no_more_is_claimed_than_the_answer_proves(true: float, ahead: float, took: float, share: float) -> None:
    found = least_offset(true + ahead, true + took + ahead, float(math.floor(true + took * share)))
    assert abs(found) <= abs(ahead) + 1e-6
    assert found == 0 or (found > 0) == (ahead > 0)


@given(MOMENTS, st.floats(-1_000, 1_000), st.floats(0, 30), st.floats(0, 1))
def test_all_but_the_uncertain_seconds_is_found(true: float, ahead: float, took: float, share: float) -> None:
    found = least_offset(true + ahead, true + took + ahead, float(math.floor(true + took * share)))
    assert abs(found) >= abs(ahead) - took - 1 - 1e-6


def test_a_clock_that_is_right_has_no_offset() -> None:
    assert least_offset(100.2, 100.9, 100.0) == 0.0
    assert least_offset(99.9, 101.1, 100.0) == 0.0
