"""The string beside a record, part by part, and the ends that a record and an outcome are to one another."""

from typing import Any

import pytest

from sedano.errors import TooLarge, Unavailable
from sedano.model import states
from sedano.model.ledger import records, tracebacks
from sedano.model.ledger.outcome_text import MAX_RECORD_BYTES, Tail, read, too_large, write
from sedano.model.ledger.records import ErrorRecord, Outcome, Posted, TaskRecord, copied_from, copy_of, end_of
from sedano.model.messages.message import BlobRef, Section

PLAIN = Outcome("t", states.SUCCESS, "n", 3, "m", 1, 9, "add", 7.0)
REF, OTHER = BlobRef("0f" * 32, 5), BlobRef("1e" * 32, 6)
POST = Posted("commands/q", "{}")


@pytest.mark.parametrize(
    ("changes", "text", "tail"),
    [
        ({}, "", Tail()),
        ({"result": "7"}, "", Tail()),
        ({"result_ref": REF}, f'{{"ref":["{REF.digest}",5]}}', Tail(result_ref=REF)),
        ({"error": ErrorRecord("E", "é", "tb")}, '{"err":["E","\\u00e9","tb"]}', Tail(error=ErrorRecord("E", "é", "tb"))),
        ({"error": ErrorRecord("E", "m", "", "c")}, '{"err":["E","m","","c",""]}', Tail(error=ErrorRecord("E", "m", "", "c"))),
        ({"error": ErrorRecord("E", "m", "", "", "n")}, '{"err":["E","m","","","n"]}', Tail(error=ErrorRecord("E", "m", notes="n"))),
        (
            {"error": ErrorRecord("E", "m", raised="shop:E", arguments="[1]")},
            '{"err":["E","m",""],"exc":["shop:E","[1]"]}', Tail(error=ErrorRecord("E", "m", raised="shop:E", arguments="[1]")),
        ),
        (
            {"outbox": (POST, Posted("q", "b", 5, "acme", "k"))},
            '{"out":[["commands/q","{}",0,null],["q","b",5,"acme","k"]]}',
            Tail(outbox=(POST, Posted("q", "b", 5, "acme", "k"))),
        ),
        ({"outbox_ref": OTHER}, f'{{"outref":["{OTHER.digest}",6]}}', Tail(outbox_ref=OTHER)),
        ({"not_before": 1.2345}, '{"nb":1234}', Tail(not_before=1.234)),
        ({"added": 2}, '{"add":2}', Tail(added=2)),
        ({"section": Section(4, 2)}, '{"sec":[4,2]}', Tail(section=Section(4, 2))),
        ({"call": POST}, '{"call":["commands/q","{}",0,null]}', Tail(call=POST)),
        (
            {"section": Section(4, 2), "call": POST},
            '{"sec":[4,2],"call":["commands/q","{}",0,null]}', Tail(section=Section(4, 2), call=POST),
        ),
    ],
)  # fmt: skip
def test_what_an_end_has_beside_its_result_is_one_text(changes: dict[str, Any], text: str, tail: Tail) -> None:
    assert write(PLAIN._replace(**changes)) == text
    assert read(text) == tail


@pytest.mark.parametrize(
    ("result", "tail", "size"),
    [("a" * 399_990, "t" * 10, 0), ("a" * 399_991, "t" * 10, 400_001), (None, "t" * 400_000, 0), (None, "t" * 400_001, 400_001),
     ("é" * 200_000, "", 0), ("é" * 200_000, "t", 400_001)],
)  # fmt: skip
def test_a_record_has_at_most_400000_bytes(result: str | None, tail: str, size: int) -> None:
    found = too_large(PLAIN._replace(result=result), tail)
    assert MAX_RECORD_BYTES == 400_000
    if not size:
        assert found is None
        return
    assert isinstance(found, TooLarge)
    assert str(found) == f"record of t: {size} bytes of result, error and outbox; a record may have 400000"


def test_a_copied_end_names_the_task_that_it_is_of_and_has_no_outbox() -> None:
    end = PLAIN._replace(outbox=(POST,), outbox_ref=REF, call=POST, result="7", added=2)
    copy = copy_of(end, "slot")
    assert copy == end._replace(task_id="slot", nonce="copy of t", fence=0, outbox=(), outbox_ref=None, call=None)
    assert (copied_from(copy), copied_from(end)) == ("t", "t")
    assert copied_from(TaskRecord("slot", states.SUCCESS, nonce="copy of other")) == "other"


def test_the_end_in_a_record_can_be_written_again() -> None:
    record = TaskRecord("t", states.FAILURE, 1, 3, 2, "n", "m0", 5.0, 9, "add", "7", REF, ErrorRecord("E", "m"), (POST,), added=2)
    assert end_of(record, "m1", 8.0) == Outcome(
        "t", states.FAILURE, "n", 3, "m1", 1, 9, "add", 8.0, result="7", result_ref=REF, error=ErrorRecord("E", "m"), added=2
    )


def test_the_figures_of_a_record() -> None:
    figures = (records.RECORD_LIFETIME_S, records.INLINE_BYTES, records.RESERVATION_S, records.NO_RETRY, records.TERMINATE)
    assert figures == (3_801_600, 100_000, 60.0, 1, 2)
    many = "".join(f'  File "/var/task/a.py", line {number}, in f\n' for number in range(1, 203))
    found = tracebacks.frames(many)
    assert (len(found), found[0].line, found[-1].line) == (200, 3, 202)
    assert found[0] == tracebacks.Frame("/var/task/a.py", 3, "f", "", own=True)


def test_a_state_of_a_newer_version_is_read_later() -> None:
    assert states.read_state("RETRY") is states.RETRY
    words = f"^a record has the state '{'X' * 40}', which this version does not know; a newer version wrote it$"
    with pytest.raises(Unavailable, match=words):
        states.read_state("X" * 41)


def test_words_of_events_and_states() -> None:
    assert (states.type_of("sent"), states.class_of("task-sent"), states.class_of("task-"), states.class_of("worker-sent")) == (
        "task-sent", "sent", "", None,
    )  # fmt: skip
    assert [states.state_of(one) for one in ("sent", "progress", "retried", "rejected")] == ["PENDING", "PROGRESS", "RETRY", "REJECTED"]
    assert [states.seen_as(one) for one in ("RUNNING", "POISON", "EXPIRED", "RETRY", "OTHER")] == [
        "STARTED", "FAILURE", "REVOKED", "RETRY", "OTHER",
    ]  # fmt: skip
    assert (states.may_become("OTHER", "RUNNING"), states.may_become("RUNNING", "RETRY"), states.may_become("RETRY", "RETRY")) == (
        False, True, False,
    )  # fmt: skip
