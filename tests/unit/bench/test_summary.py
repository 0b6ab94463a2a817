"""The short figures of `make bench`: each name leads to an entry that a measurement makes, and the dollars are those of the cost page."""

import json
from pathlib import Path

import pytest

from benchmarks import cold, handler_loopback, publishing, report, summary, write_units
from benchmarks.report import Entry, Section
from infra import task_cost

UNITS = Section("write units", "", [Entry(f"permits_{write_units.PERMITS}_wcu", 4.0, "units")])
EVEN = dict.fromkeys(handler_loopback.CONTENDERS, (1.0, 2.0))


def sections() -> list[Section]:
    """Return sections with the names that the measurements give, and one with a name that two of them have."""
    handlers = [*(Entry(name, 7.0, "µs") for name in EVEN), *handler_loopback.ratios(EVEN)]
    return [
        Section("Handler CPU, AWS client included", "", [Entry(handler_loopback.OURS, 99.0, "µs")]),
        Section(handler_loopback.TITLE, "", handlers),
        Section(publishing.TITLE, "", [Entry(publishing.RELATIVE, 0.8, "times")]),
        Section(cold.TITLE, "", [Entry(cold.RELATIVE, 0.9, "times")]),
    ]


def test_every_short_name_has_a_figure_and_takes_it_from_its_own_section(tmp_path: Path) -> None:
    report.write_summary(tmp_path / "summary.json", summary.summary(sections(), UNITS))
    found = json.loads((tmp_path / "summary.json").read_text())
    assert set(found) == {*summary.NAMES, "permits_300_wcu", "dollars"}
    assert (found["claimed_us"], found["claimed_over_powertools"], found["cold_over_boto3"]) == (7.0, 1.0, 0.9)


def test_a_figure_that_was_not_measured_is_left_out() -> None:
    assert set(summary.summary([], UNITS)) == {"permits_300_wcu", "dollars"}


def test_the_dollars_of_a_million_are_those_of_the_cost_page() -> None:
    found = summary.dollars()
    assert found["claimed"] == pytest.approx(task_cost.total(task_cost.tasks(summary.STAGE, "claimed", 10)))
    assert 0 < found["group_member"] < 0.15 < found["at_least_once"] < found["record_once"] < found["claimed"]
    assert found["claimed"] < found["chain_link"] < found["chord_member"]
