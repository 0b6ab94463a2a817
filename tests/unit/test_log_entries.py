"""A log line before it is written: its texts, and what happens to lines that cannot be written."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.model.telemetry.log_entries import LONGEST_TEXT, LOST, MOST_KEPT, KeptEntries, LogEntry, console_line, cut, json_line, moment


def entry(message: str, level: str = "info", **fields: Any) -> LogEntry:
    """A line of the first second of 1970."""
    return LogEntry(0.25, level, message, fields)


def test_a_line_in_json_has_the_form_of_the_deployed_functions() -> None:
    found = json_line(entry("task failed", "error", task="shop.add", retries=2), "sedano-worker")
    assert found == (
        '{"level":"ERROR","message":"task failed","timestamp":"1970-01-01T00:00:00.250Z","service":"sedano-worker",'
        '"fields":{"task":"shop.add","retries":2}}'
    )
    assert "fields" not in json.loads(json_line(entry("hello"), "s"))


def test_a_value_that_json_cannot_hold_is_written_as_its_text() -> None:
    class Odd:
        def __str__(self) -> str:
            raise ValueError("no text")

    circle: list[Any] = []
    circle.append(circle)
    assert json.loads(json_line(entry("m", one={1}), "s"))["fields"] == {"one": "{1}"}
    assert json.loads(json_line(entry("m", one=circle, two=1), "s"))["fields"] == {"one": "<list>", "two": "<int>"}
    assert json.loads(json_line(entry("m", one=Odd()), "s"))["fields"] == {"one": "<Odd>"}


@given(st.text(), st.dictionaries(st.text(), st.text()))
def test_no_text_breaks_a_line_or_reaches_its_top_level(message: str, fields: dict[str, str]) -> None:
    found = json_line(LogEntry(0, "info", message, fields), "s")
    assert found.isascii()
    assert "\n" not in found
    assert set(json.loads(found)) <= {"level", "message", "timestamp", "service", "fields"}
    assert json.loads(found).get("fields", {}) == fields
    shown = console_line(LogEntry(0, "info", message, fields), "08:00:00")
    assert shown.isprintable()


def test_a_line_for_a_person() -> None:
    assert console_line(entry("queue away", "warning", queue="q\x1b[2J\n", error="é"), "08:00:00") == (
        "08:00:00 WARNING queue away queue=q\\x1b[2J\\n error=é"
    )
    assert console_line(entry("ready"), "08:00:00") == "08:00:00 INFO    ready"


def test_a_long_text_is_cut_and_says_by_how_much() -> None:
    assert cut("x" * LONGEST_TEXT) == "x" * LONGEST_TEXT
    assert cut("x" * (LONGEST_TEXT + 3)) == "x" * LONGEST_TEXT + " ... 3 more"
    assert (cut(7), cut(None)) == (7, None)
    assert LONGEST_TEXT == 32_768


def test_every_text_of_a_line_is_cut() -> None:
    long, kept = "x" * 32_769, "x" * 32_768 + " ... 1 more"
    line = json.loads(json_line(entry(long, one=long, two=7), "s"))
    assert (line["message"], line["fields"]) == (kept, {"one": kept, "two": 7})
    assert console_line(entry(long, one=long, two=7), "t") == f"t INFO    {kept} one={kept} two=7"


def test_a_line_that_json_cannot_write_keeps_all_but_its_values() -> None:
    class Odd:
        def __str__(self) -> str:
            raise AttributeError("no text")

    assert json_line(entry("m", "warning", one=Odd(), two="x"), "s") == (
        '{"level":"WARNING","message":"m","timestamp":"1970-01-01T00:00:00.250Z","service":"s","fields":{"one":"<Odd>","two":"<str>"}}'
    )
    assert json.loads(json_line(entry("m", one={(1, 2): 3, "k": 4}), "s"))["fields"] == {"one": {"k": 4}}
    assert LOST == "log lines were lost while the output did not work"


def test_a_thousand_lines_wait() -> None:
    kept = KeptEntries()
    for number in range(1_001):
        kept.add(entry(str(number)))
    assert (len(kept), kept.lost, kept.oldest()) == (1_000, 1, entry("1"))


@pytest.mark.parametrize(("at", "text"), [(0, "1970-01-01T00:00:00.000Z"), (1_764_316_800.0625, "2025-11-28T08:00:00.062Z")])
def test_a_moment_is_utc_with_milliseconds(at: float, text: str) -> None:
    assert moment(at) == text


def test_the_oldest_line_is_lost_when_too_many_wait_and_the_loss_is_reported_once() -> None:
    kept = KeptEntries(2)
    assert kept.oldest() is None
    for message in "abc":
        kept.add(entry(message))
    first = kept.oldest()
    assert first is not None
    assert (len(kept), kept.lost, first.message) == (2, 1, "b")
    kept.written()
    kept.refused()
    assert (len(kept), kept.lost) == (0, 2)
    assert kept.report(5.0) == LogEntry(5.0, "warning", LOST, {"lines": 2})
    assert kept.report(6.0) is None
    assert MOST_KEPT == 1_000
