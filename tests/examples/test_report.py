"""The report and the account in words show the facts of a run, and nothing in a file's name becomes markup."""

import json
import re
from dataclasses import asdict, replace
from html.parser import HTMLParser
from pathlib import Path

from examples.census.bill import Used, bill
from examples.census.facts import Facts, facts
from examples.census.report import page
from examples.census.words import account
from tests.examples.runs import material

KEYS = [
    "files", "tasks", "effects", "duplicates_injected", "kills", "process_kills", "served_by_lambda", "served_by_processes", "lost",
    "double_effects", "chord_body_runs", "events_delivered",
    "spark_tasks", "spark_mismatches", "ticks", "rate_used", "circuit_trips", "aws_calls_per_task", "seconds",
]  # fmt: skip


def told() -> Facts:
    """The facts of a good run."""
    return facts(material(), 42.04)


class Balanced(HTMLParser):
    """Reads a page and keeps what is still open."""

    VOID = frozenset({"meta", "wbr"})

    def __init__(self) -> None:
        """Nothing is open."""
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Open *tag*."""
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        """A tag that closes itself leaves nothing open."""

    def handle_endtag(self, tag: str) -> None:
        """Close *tag*, which must be the last that was opened."""
        assert self.open.pop() == tag


def test_the_summary_has_exactly_its_keys() -> None:
    summary = json.loads(json.dumps(asdict(told().summary)))
    assert list(summary) == KEYS
    assert (summary["files"], summary["tasks"], summary["aws_calls_per_task"], summary["seconds"]) == (3, 11, 2.75, 42.0)
    assert (summary["served_by_lambda"], summary["served_by_processes"]) == (8, 3)


def test_the_page_is_well_formed_and_needs_no_network() -> None:
    reader = Balanced()
    reader.feed(page(told()))
    assert reader.open == []
    assert not re.search(r"https?://|src=|@import|url\(|<script", page(told()))


def test_the_page_shows_what_was_measured_and_what_could_not_be() -> None:
    shown = page(told()).replace("<wbr>", "")
    assert "shop/sound.py" in shown
    assert "is not UTF-8: byte 0xe9 at 3" in shown
    assert "Nothing was lost and nothing happened twice" in shown


def test_a_files_name_never_becomes_markup() -> None:
    assert "<broken>" not in page(told())
    assert "&lt;broken&gt;.py" in page(told())


def test_the_timeline_marks_each_body_and_each_kill() -> None:
    picture = page(told()).split("<svg")[1].split("</svg>")[0]
    assert picture.count('fill="var(--a)"') == 3
    assert picture.count("<title>killed</title>") == 2
    assert "process 77" in picture


def test_what_is_wrong_is_said_on_the_page_and_in_words() -> None:
    wrong = facts(replace(material(), evidence=replace(material().evidence, left={"dead": 3})), 1)
    assert "3 lost" in page(wrong)
    assert "Nothing was lost" not in page(wrong)
    assert "WRONG:\n  - 3 lost" in account(wrong, Path("s"), Path("r"))


def test_the_account_says_where_the_report_lies() -> None:
    said = account(told(), Path("build/summary.json"), Path("build/report.html"))
    assert "build/report.html" in said
    assert "11 effects for 11 tasks" in said
    assert "8 tasks ended in Lambda functions, 3 in processes of `sedano worker`" in said


def test_time_and_flow_are_told_on_the_page_and_in_words() -> None:
    shown, said = page(told()), account(told(), Path("s"), Path("r"))
    picture = shown.split("<h2>Time and flow</h2>")[1].split("</svg>")[0]
    assert [picture.count(f'width="1.5" height="14" fill="var(--{colour})"') for colour in ("a", "c", "bad")] == [3, 6 + 4, 3]
    assert picture.count("<title>3 × failure within 60 s</title>") == 1
    assert "ran 3 times, once for each moment; 1 runs published ahead were withdrawn" in said
    assert "at most 5 in one, 100% used; 5 of 6 tasks waited" in said
    assert "3 failures tripped its circuit (1 ×), 4 tasks waited, 4 of 4 arrived" in said


def test_the_bill_counts_requests_writes_reads_and_compute() -> None:
    used = Used({"dynamodb.UpdateItem": 1_000_000, "sqs.SendMessageBatch": 0, "dynamodb.BatchGetItem": 3}, 500_000, 2_000_000, 1_000_000)
    assert {item.name: round(item.dollars, 3) for item in bill(used)} == {
        "SQS requests": 0.4, "DynamoDB writes": 0.625, "DynamoDB reads, strongly consistent": 0.125, "Lambda requests": 0.1,
        "Lambda compute, GB·s": 13.33,
    }  # fmt: skip
