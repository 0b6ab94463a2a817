"""Write units where many tasks share an item: they do not grow with a limit."""

import pytest

from benchmarks import write_units
from sedano.model.limits.concurrency import MOST_PERMITS
from sedano.model.schedules.agenda import AGENDAS


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": "é1"}, 3), ({"N": "1800000123457"}, 8), ({"N": "1800"}, 2), ({"N": "0"}, 2), ({"N": "-15"}, 2), ({"SS": ["ab", "c"]}, 3),
        ({"L": [{"S": "ab"}]}, 6), ({"M": {"a": {"S": "b"}}}, 6), ({"BOOL": True}, 1),
    ],
)  # fmt: skip
def test_a_value_has_the_size_of_the_developer_guide(value: dict[str, object], size: int) -> None:
    assert write_units.size(value) == size


def test_a_value_of_another_type_is_not_guessed() -> None:
    with pytest.raises(ValueError, match="NS: no attribute of the control table"):
        write_units.size({"NS": ["1"]})


@pytest.mark.parametrize("limit", [10, 100, write_units.PERMITS, MOST_PERMITS])
def test_a_run_under_a_permit_costs_the_same_under_each_limit(limit: int) -> None:
    assert write_units.units_of_permits(limit) <= write_units.PERMITS_TARGET


def test_waiting_messages_make_the_writes_of_their_board_and_of_their_line_larger() -> None:
    assert write_units.units_of_permits(10, write_units.WAITING) == 12
    assert write_units.units_of_a_full_line() == 10


@pytest.mark.parametrize("number", [10, 100, write_units.SCHEDULES])
def test_an_occurrence_costs_the_two_writes_of_its_agenda_beside_any_number_of_schedules(number: int) -> None:
    assert write_units.units_of_schedules(number) == 2 <= write_units.SCHEDULES_TARGET


def test_an_occurrence_costs_the_same_where_all_schedules_have_missed_moments_or_remember_an_occurrence_that_runs() -> None:
    assert write_units.units_of_schedules(write_units.SCHEDULES, missed=9) == 2
    assert write_units.units_of_schedules(write_units.SCHEDULES, max_instances=1) == 2


def test_an_occurrence_costs_a_write_unit_more_for_each_further_kb_of_states() -> None:
    assert write_units.units_of_schedules(write_units.SCHEDULES, missed=999, max_instances=1) == 4
    assert write_units.units_of_schedules(10_000) == 2
    assert write_units.units_of_schedules(10_000, missed=9) == 8


def test_a_minute_without_an_occurrence_writes_nothing_and_reads_no_definitions_that_are_known() -> None:
    assert write_units.units_of_an_idle_minute(write_units.SCHEDULES) == (0, AGENDAS)


def test_a_write_that_is_not_counted_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="put_item: count its units first"):
        _ = write_units.Meter(None).put_item
