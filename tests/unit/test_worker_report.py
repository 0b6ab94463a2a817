"""The report of a worker: its text is bounded and read back, and any other text is a report of less."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.model.cluster.worker_report import (
    DEGRADED,
    DRAINING,
    LONGEST_NAME,
    MOST_REPORT,
    PAUSED,
    READY,
    UnstartedStep,
    WorkerReport,
    condition,
    report_of,
    text_of,
)

SHORT = st.text(st.characters(codec="utf-8"), max_size=8)
SMALL = st.builds(
    WorkerReport, host=SHORT, condition=SHORT, queues=st.lists(SHORT, max_size=3).map(tuple), code=SHORT, library=SHORT, config=SHORT,
    lanes=st.integers(0, 1_000), prefetch=st.integers(0, 20), beat=st.floats(0, 900),
    steps=st.lists(st.builds(UnstartedStep, SHORT, SHORT, SHORT), max_size=3).map(tuple), stuck=st.lists(SHORT, max_size=2).map(tuple),
    process=SHORT, started=st.integers(0, 1_000),
)  # fmt: skip
LONG = st.text(st.characters(), max_size=400)
LARGE = st.builds(
    WorkerReport, host=LONG, condition=LONG, queues=st.lists(LONG, max_size=60).map(tuple), code=LONG, library=LONG, config=LONG,
    steps=st.lists(st.builds(UnstartedStep, LONG, LONG, LONG), max_size=60).map(tuple), stuck=st.lists(LONG, max_size=60).map(tuple),
)  # fmt: skip
WHOLE = WorkerReport(
    host="fargate", condition=DEGRADED, queues=("mail", "bulk"), code="v7", library="0.1.0", config="1234abcd", lanes=8, prefetch=10,
    beat=60.0, steps=(UnstartedStep("cache", "given up", "OSError: no route"),), stuck=("keeper",),
)  # fmt: skip


@given(SMALL)
def test_a_report_is_read_back(report: WorkerReport) -> None:
    assert report_of(text_of(report)) == report


@given(LARGE)
def test_no_report_is_longer_than_a_member_record_takes(report: WorkerReport) -> None:
    text = text_of(report)
    assert len(text) <= MOST_REPORT
    assert text.isascii(), "a surrogate would be refused by the store"


def test_a_long_report_loses_the_ends_of_reasons_before_it_loses_steps() -> None:
    steps = tuple(UnstartedStep(f"step-{number}", "failed", "x" * 500) for number in range(10))
    found = report_of(text_of(WHOLE._replace(steps=steps))).steps
    assert [one.name for one in found] == [one.name for one in steps]
    assert {len(one.reason) for one in found} == {80}
    many = tuple(UnstartedStep("s" * 90, "failed", "x" * 500) for _ in range(60))
    assert len(report_of(text_of(WHOLE._replace(steps=many))).steps) == 6
    assert len(report_of(text_of(WHOLE._replace(steps=many))).steps[0].name) == LONGEST_NAME


LONGEST = WorkerReport(
    host="h" * 65, condition="c" * 65, queues=("q" * 65,), code="o" * 65, library="l" * 65, config="f" * 65, stuck=("s" * 65,),
    steps=(UnstartedStep("n" * 65, "t" * 65, "r" * 161),), process="p" * 121, started=1,
)  # fmt: skip


def test_the_names_of_a_report_are_cut() -> None:
    assert report_of(text_of(LONGEST)) == WorkerReport(
        host="h" * 64, condition="c" * 64, queues=("q" * 64,), code="o" * 64, library="l" * 64, config="f" * 64, stuck=("s" * 64,),
        steps=(UnstartedStep("n" * 64, "t" * 64, "r" * 160),), process="p" * 120, started=1,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("number", "long", "kept", "length"),
    [(24, 4, 24, 4), (25, 4, 24, 4), (13, 130, 13, 130), (14, 130, 12, 80), (24, 160, 12, 80), (9, 200, 9, 160), (6, 300, 6, 160)],
)
def test_reasons_are_cut_before_lists(number: int, long: int, kept: int, length: int) -> None:
    steps = tuple(UnstartedStep("n", "failed", "r" * long) for _ in range(number))
    found = report_of(text_of(WorkerReport(steps=steps))).steps
    assert (len(found), len(found[0].reason)) == (kept, length)
    names = tuple("q" * 64 for _ in range(40))
    least = report_of(text_of(LONGEST._replace(queues=names, stuck=names, steps=steps * 9)))
    assert (len(least.queues), len(least.stuck), len(least.steps), len(least.steps[0].reason)) == (6, 6, 6, min(long, 30))
    none = report_of(text_of(LONGEST._replace(queues=names, stuck=names, steps=LONGEST.steps * 9)))
    assert (len(none.queues), len(none.stuck), none.steps) == (1, 1, (UnstartedStep("n" * 64, "t" * 64, ""),))


def test_a_report_has_2000_characters_before_it_is_cut() -> None:
    first = tuple(UnstartedStep("n", "failed", "r" * 125) for _ in range(13))
    room = MOST_REPORT - len(text_of(WorkerReport(steps=(*first, UnstartedStep("n", "failed")))))
    for more, cut in ((0, False), (1, True)):
        report = WorkerReport(steps=(*first, UnstartedStep("n", "failed", "r" * (room + more))))
        assert (report_of(text_of(report)) != report) is cut
    assert (report_of("[]"), report_of("7"), report_of("")) == (WorkerReport(),) * 3


def test_a_text_of_8000_characters_is_read() -> None:
    around = len('{"host":""}')
    assert len(report_of(json.dumps({"host": "h" * (8_000 - around - 1)})).host) == 8_000 - around - 1
    assert report_of(json.dumps({"host": "h" * (8_001 - around)})) == WorkerReport()
    assert report_of('{"host":"h","more":[[[]]]}') == WorkerReport(host="h")
    assert report_of('{"host":"h","more":[[[[]]]]}') == WorkerReport()


@given(st.text() | st.recursive(st.none() | st.integers() | st.floats() | st.text(), lambda one: st.lists(one) | st.dictionaries(
    st.sampled_from(WorkerReport._fields), one)).map(json.dumps))
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert isinstance(report_of(text), WorkerReport)


@pytest.mark.parametrize("field", WorkerReport._fields)
def test_a_field_of_another_type_is_left_out_and_the_others_are_read(field: str) -> None:
    rows = {**json.loads(text_of(WHOLE)), field: {"newer": True}, "unknown": 1}
    assert report_of(json.dumps(rows)) == WHOLE._replace(**{field: WorkerReport._field_defaults[field]})


@pytest.mark.parametrize(("beat", "seen"), [(2**53, 2.0**53), (2**53 + 1, 0.0), (10**400, 0.0), (-1, 0.0), (1e400, 0.0)])
def test_the_seconds_of_a_beat_are_at_most_those_that_a_double_can_count(beat: float, seen: float) -> None:
    assert report_of(json.dumps({"beat": beat})).beat == seen


@pytest.mark.parametrize("rows", [[["a", "b"]], [["a", "b", "c"], ["a"]], [["a", "b", 1]], ["abc"], [None]])
def test_steps_of_another_form_are_left_out(rows: object) -> None:
    assert report_of(json.dumps({"host": "dev", "steps": rows})) == WorkerReport(host="dev")


def test_a_count_is_a_whole_number_that_is_not_negative() -> None:
    assert report_of('{"lanes":-1,"prefetch":true,"beat":-0.5}') == WorkerReport()


def test_a_worker_that_drains_is_draining_whatever_else_holds() -> None:
    assert condition(draining=True, paused=True, hindered=True) == DRAINING
    assert condition(draining=False, paused=True, hindered=True) == PAUSED
    assert condition(draining=False, paused=False, hindered=True) == DEGRADED
    assert condition(draining=False, paused=False, hindered=False) == READY
