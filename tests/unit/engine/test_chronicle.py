"""Packed worker events: what the worker packs the recorder unpacks, as events that Celery's own state machine reads."""

import json
from typing import Any

import pytest
from celery.events.state import State

from sedano.errors import MessageRefused
from sedano.model.history.run_rows import LATEST, MICRO, VERSION, Chronicle, Host, unpack

HOST = Host("worker-1", 7)
ROW = (
    "t-1", "add", "commands:default", "r-1", "p-1", 2, "shop@host", 1 * MICRO, 11, 2 * MICRO, 12, 3 * MICRO, 13, 5 * MICRO, 15,
    "task-failed", "ValueError('no')",
)  # fmt: skip


def packed(*rows: Any, lines: Any = ()) -> str:
    """What a worker would send."""
    chronicle = Chronicle(HOST)
    chronicle.rows += rows
    chronicle.lines += lines
    return chronicle.pack() or ""


def test_nothing_happened_is_no_message() -> None:
    assert Chronicle(HOST).pack() is None
    assert Chronicle(HOST).packs(1) == []


def test_a_run_becomes_four_events_in_order() -> None:
    events = unpack(packed(ROW))
    assert [e["type"] for e in events] == ["task-sent", "task-received", "task-started", "task-failed"]
    assert [e["clock"] for e in events] == [11, 12, 13, 15]
    assert [e["timestamp"] for e in events] == [1, 2, 3, 5]
    assert {e["uuid"] for e in events} == {"t-1"}


def test_what_was_sent_is_told_of_its_publisher() -> None:
    sent = unpack(packed(ROW))[0]
    assert (sent["hostname"], sent["pid"], sent["queue"], sent["retries"]) == ("shop@host", 0, "commands:default", 2)


def test_a_failure_tells_its_runtime_and_exception() -> None:
    failed = unpack(packed(ROW))[-1]
    assert (failed["runtime"], failed["exception"], failed["hostname"]) == (2.0, "ValueError('no')", "worker-1")


def test_an_end_that_an_earlier_process_left_has_no_beginning() -> None:
    again = (*ROW[:11], None, None, *ROW[13:])
    events = unpack(packed(again))
    assert [e["type"] for e in events] == ["task-sent", "task-received", "task-failed"]
    assert "runtime" not in events[-1]


def test_lines_bear_their_host() -> None:
    chronicle = Chronicle(HOST)
    chronicle.line("message-duplicate", 5, 1.5, uuid="t-1")
    (line,) = unpack(chronicle.pack() or "")
    said = {"type": "message-duplicate", "clock": 5, "timestamp": 1.5, "uuid": "t-1"}
    assert line == {**said, "hostname": "worker-1", "pid": 7, "utcoffset": 0}
    assert chronicle.unpacked() == [line]


def test_celery_reads_the_events() -> None:
    state = State()
    for event in unpack(packed(ROW)):
        state.event({**event, "local_received": event["timestamp"]})
    task = state.tasks["t-1"]
    assert (task.state, task.name, task.root_id, task.exception) == ("FAILURE", "add", "r-1", "ValueError('no')")


WHOLE = {"v": VERSION, "host": "h", "pid": 1, "rows": [], "lines": []}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"v": "1"}, "v"), ({"host": 5}, "host"), ({"pid": None}, "pid"), ({"rows": {}}, "rows"), ({"lines": "x"}, "lines"),
        ({"rows": [[1, 2]]}, "rows"), ({"rows": ["x"]}, "rows"), ({"lines": [5]}, "lines"), ({"lines": [{"timestamp": "x"}]}, "lines"),
        ({"lines": [{"timestamp": -1}]}, "lines"), ({"lines": [{"timestamp": LATEST}]}, "lines"),
        ({"rows": [[*ROW[:7], None, *ROW[8:]]]}, "rows"), ({"rows": [[*ROW[:7], -1, *ROW[8:]]]}, "rows"),
    ],
)  # fmt: skip
def test_what_is_no_record_is_refused_with_the_field(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(MessageRefused) as refused:
        unpack(json.dumps({**WHOLE, **changes}))
    assert (refused.value.code, refused.value.field) == ("bad-record", field)


@pytest.mark.parametrize("row", [ROW[:-1], (*ROW, "team=red", 1), "x" * len(ROW)])
def test_a_row_with_too_few_fields_or_too_many_is_refused_with_their_number(row: Any) -> None:
    with pytest.raises(MessageRefused) as refused:
        unpack(packed(row))
    assert (refused.value.field, refused.value.detail) == ("rows", "each row has 17 fields, or 18 with stamps")


def test_a_newer_version_is_refused_as_newer() -> None:
    with pytest.raises(MessageRefused) as refused:
        unpack(json.dumps({**WHOLE, "v": VERSION + 1}))
    assert refused.value.code == "newer-protocol"


@pytest.mark.parametrize("body", ["", "[]", "5", "null", "{", "[" * 100_000, '{"v":NaN}'])
def test_any_other_text_is_refused(body: str) -> None:
    with pytest.raises(MessageRefused):
        unpack(body)


@pytest.mark.parametrize("strange", ['{"v":1,"v":2}', '{"v":1e400}', '{"host":"\\ud800"}'])
def test_what_two_readers_could_read_differently_is_no_record(strange: str) -> None:
    whole = json.dumps(WHOLE)
    with pytest.raises(MessageRefused) as refused:
        unpack(f"{whole[:-1]},{strange[1:]}")
    assert (refused.value.code, refused.value.field) == ("bad-record", "body")


def test_what_a_task_raised_is_told_whatever_its_text_is() -> None:
    error = f"ValueError({chr(0xD800) + 'é'!r})"
    assert [event.get("exception") for event in unpack(packed((*ROW[:-1], error)))][-1] == error


def test_a_record_is_split_only_where_it_is_too_long_and_has_more_than_one_part() -> None:
    chronicle = Chronicle(HOST)
    chronicle.line("first", 1, 1.0)
    whole = chronicle.pack() or ""
    assert chronicle.packs(len(whole)) == [whole]
    assert chronicle.packs(len(whole) - 1) == [whole], "a line that is longer has a body of its own"
    chronicle.line("second", 2, 2.0)
    both = chronicle.pack() or ""
    assert chronicle.packs(len(both)) == [both]
    first, second = chronicle.packs(len(both) - 1)
    assert [event["type"] for body in (first, second) for event in unpack(body)] == ["first", "second"]


@pytest.mark.parametrize(
    ("rows", "lines", "halves"),
    [(2, 0, [(1, 0), (1, 0)]), (0, 3, [(0, 1), (0, 2)]), (1, 5, [(1, 2), (0, 3)]), (3, 1, [(2, 0), (1, 1)]), (4, 2, [(3, 0), (1, 2)])],
)
def test_a_record_is_split_into_halves_of_which_the_first_has_the_rows(rows: int, lines: int, halves: list[tuple[int, int]]) -> None:
    chronicle = Chronicle(HOST)
    chronicle.rows += [ROW] * rows
    for number in range(lines):
        chronicle.line("one", number, 1.0)
    bodies = [json.loads(body) for body in chronicle.packs(len(chronicle.pack() or "") - 1)]
    assert [(len(body["rows"]), len(body["lines"])) for body in bodies] == halves
    assert [line["clock"] for body in bodies for line in body["lines"]] == [*range(lines)]


@pytest.mark.parametrize(("moment", "fits"), [(0, True), (LATEST - 1, True), (LATEST, False), (-1, False)])
def test_a_line_lies_between_the_years_1970_and_9999(moment: float, fits: bool) -> None:
    body = packed(lines=[{"type": "x", "timestamp": moment}])
    if fits:
        assert [event["timestamp"] for event in unpack(body)] == [moment]
    else:
        with pytest.raises(MessageRefused):
            unpack(body)


def test_a_newer_record_is_refused_by_its_version() -> None:
    with pytest.raises(MessageRefused) as refused:
        unpack(packed(ROW).replace(f'"v":{VERSION}', f'"v":{VERSION + 1}'))
    assert (refused.value.code, refused.value.field) == ("newer-protocol", "v")


def test_a_run_that_has_not_ended_or_failed_says_no_end_and_no_exception() -> None:
    row = [*ROW]
    row[-2:] = [None, None]
    assert [event["type"] for event in unpack(packed(row))] == ["task-sent", "task-received", "task-started"]
    row[-2:] = ["task-succeeded", None]
    assert "exception" not in unpack(packed(row))[-1]
