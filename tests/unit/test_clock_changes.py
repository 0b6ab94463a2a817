"""Changes of the clocks that a schedule meets: exactly those at which its policy decides what runs."""

from datetime import UTC, datetime

import pytest

from sedano.model.schedules.timetable import clock_changes, cron

BEGIN = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
END = datetime(2027, 1, 1, tzinfo=UTC).timestamp()
SPRING, AUTUMN = datetime(2026, 3, 29, 1, tzinfo=UTC), datetime(2026, 10, 25, 1, tzinfo=UTC)


def met(expression: str, tz: str = "Europe/Berlin", **policy: str) -> list[tuple[str, datetime, str, bool]]:
    """The changes of 2026 that a schedule meets."""
    table = cron(expression, tz=tz, **policy)  # type: ignore[arg-type]
    return [(one.kind, datetime.fromtimestamp(one.at, UTC), one.policy, one.chosen) for one in clock_changes(table, BEGIN, END)]


def test_a_time_in_the_gap_and_in_the_fold_is_met() -> None:
    assert met("30 2 * * *") == [("gap", SPRING, "next", False), ("fold", AUTUMN, "first", False)]


def test_a_policy_that_the_code_names_is_known_as_chosen() -> None:
    assert met("30 2 * * *", on_gap="skip", on_fold="both") == [("gap", SPRING, "skip", True), ("fold", AUTUMN, "both", True)]


@pytest.mark.parametrize("expression", ["30 1 * * *", "0 4 * * *", "*/5 * * * *", "30 * * * *", "30 2 1 * *", "30 2 * * MON"])
def test_other_times_meet_none(expression: str) -> None:
    assert met(expression) == []


@pytest.mark.parametrize("tz", ["UTC", "Asia/Tokyo"])
def test_a_zone_without_changes_has_none(tz: str) -> None:
    assert met("30 2 * * *", tz) == []


def test_clocks_that_change_at_midnight_and_by_half_an_hour_are_met() -> None:
    assert [kind for kind, _, _, _ in met("15 0 * * *", "Africa/Cairo")] == ["gap"]
    assert [kind for kind, _, _, _ in met("15 2 * * *", "Australia/Lord_Howe")] == ["gap"]
    assert [kind for kind, _, _, _ in met("45 1 * * *", "Australia/Lord_Howe")] == ["fold"]
