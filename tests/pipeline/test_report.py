"""The page: it loads nothing, runs nothing, holds no text that could become markup, and says what the figures say."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from glue_jobs.pipeline.report import words
from glue_jobs.pipeline.report.charts import curves, heat, lane, nice
from glue_jobs.pipeline.report.figures import NAMES, carried, figures, judged, read_back, threshold, verdict
from glue_jobs.pipeline.report.flow import flow
from glue_jobs.pipeline.report.gather import HEAT_COLUMNS, HEAT_ROWS
from glue_jobs.pipeline.report.page import page
from glue_jobs.pipeline.report.span import near
from sedano.errors import OptionError

HOSTILE = "<script>alert(1)</script>\"'&amp;"
NOW = 1_763_640_000.0
LOADING = {"src", "href", "srcset", "data", "action"}
LATENCIES = {f"{c}_seconds_{f}": 0.25 for c in ("wait", "run", "total") for f in ("p50", "p90", "p95", "p99", "max")}


def told(name="proj.add"):
    """What a history of a few tasks comes to, with *name* wherever a text from outside stands."""
    step = {"uuid": name, "name": name, "worker": name, "state": "SUCCESS", "sent": 100.0, "started": 100.5, "finished": 101.0}
    return {
        "begin": 100.0, "end": 110.0, "outside": 0, "states": {"SUCCESS": 7, "FAILURE": 2, name: 1}, "quarantined": 3,
        "throughput": {
            "begin": 100.0, "seconds": 5, "sent": [4, 6], "started": [3, 5], "succeeded": [2, 5], "failed": [1, 1], "retried": [0, 1],
        },
        "latency": {"all": {"name": "all tasks", "tasks": 10, **LATENCIES}, "by_name": [{"name": name, "tasks": 10, **LATENCIES}]},
        "heat": {"columns": HEAT_COLUMNS, "cells": [(0, 2, 4), (59, 5, 1)]},
        "flow": [
            {"received": True, "started": True, "state": "SUCCESS", "tasks": 7, "again": 1},
            {"received": True, "started": True, "state": "FAILURE", "tasks": 2, "again": 2},
            {"received": False, "started": False, "state": name, "tasks": 1, "again": 0},
        ],
        "failures": [{
            "name": name, "exception_type": name, "stack_digest": "d", "failures": 2, "retries": 4, "tasks": 2, "poison": True,
            "first": 101.0, "last": 105.0, "example": name, "example_traceback": f"Traceback\n{name}", "example_task": name,
        }],
        "lanes": [{
            "hostname": name, "pid": 1, "fate": "lost", "online": 90.0, "last_seen": 120.0, "runs": 9,
            "busy": [(0, 1.0), (9, 2.0)], "failed": [9],
        }],
        "canvas": {
            "root_id": name, "name": name, "state": "SUCCESS", "tasks": 2, "began": 100.0, "seconds": 1.0, "critical_path": [step, step],
        },
        "cost": {"nanodollars": 7_000_000, "measured": 0, "by_name": [
            {"name": n, "tasks": tasks, "attempts": tasks, "nanodollars": cost} for n, tasks, cost in ((name, 10, 5e6), ("router", 0, 2e6))
        ]},
        "anomalies": [{"kind": "stuck-task", "subject": name, "detail": name, "place": 3, "all": 9}],
    }  # fmt: skip


class Checked(HTMLParser):
    """Collects what a page is made of, and whether what is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.shapes, self.references, self.text = [], set(), 0, [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.shapes += tag in {"path", "rect"}
        self.references += [value for name, value in attributes if name in LOADING or name.startswith("on")]
        if tag not in {"meta", "br"}:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_the_page_is_whole_and_needs_nothing_else():
    made = Checked(page(told()))
    assert made.open == []
    assert made.references == []
    assert not made.tags & {"script", "link", "img", "iframe", "object", "base", "form"}
    assert "url(" not in page(told())
    assert "@import" not in page(told())


def test_a_hostile_name_is_only_ever_text():
    text = page(told(HOSTILE))
    assert "<script" not in text
    made = Checked(text)
    assert made.tags == Checked(page(told())).tags
    assert made.references == []
    assert HOSTILE in "".join(made.text)


def test_the_page_says_the_figures():
    text = "".join(Checked(page(told())).text)
    assert "$500.00 /M" in text, "a million such tasks"
    assert "$0.002 in all" in text, "what runs no tasks has no price a task"
    for figure in ("History of 10 tasks", "70\u2009%", "2failed for good", "and 6 more like it", "250\u2009ms"):
        assert figure in text, figure


@pytest.mark.parametrize(("outside", "earliest", "latest", "events", "when"), [
    (1, 0.0, 110.0, "1 event lies far", ": the earliest at 01 January 1970, 00:00:00 UTC."),
    (1, 100.0, 1e9, "1 event lies far", ": the latest at 09 September 2001, 01:46:40 UTC."),
    (30, 0.0, 1e9, "30 events lie far", "the earliest at 01 January 1970, 00:00:00 UTC and the latest at 09 September 2001, 01:46:40 UTC."),
])  # fmt: skip
def test_the_page_says_how_many_events_its_charts_leave_out(outside, earliest, latest, events, when):
    text = "".join(Checked(page({**told(), "outside": outside, "earliest": earliest, "latest": latest})).text)
    assert events in text
    assert when in text
    assert "far from all others" not in page(told())


@pytest.mark.parametrize(("lowest", "highest", "shown"), [
    ([0.0, NOW], [NOW + 60, NOW + 60], (NOW, NOW + 60)),
    ([0.0, 5.0, NOW], [9e9, NOW + 60, NOW + 60], (NOW, NOW + 60)),
    ([NOW - 80_000, NOW], [NOW + 60, NOW + 60], (NOW - 80_000, NOW + 60)),
    ([NOW - 90_000, NOW], [NOW + 1000, NOW + 1000], (NOW - 90_000, NOW + 1000)),
    ([NOW - 90_000, NOW], [NOW + 800, NOW + 800], (NOW, NOW + 800)),
    ([NOW - 160_000, NOW - 80_000, NOW], [NOW, NOW, NOW], (NOW - 160_000, NOW)),
], ids=["1970", "both ends", "within a day", "within a hundred times the rest", "a day away from minutes", "step by step"])  # fmt: skip
def test_what_lies_far_from_all_others_is_not_drawn(lowest, highest, shown):
    assert near(lowest, highest) == shown


@pytest.mark.parametrize("empty", ["failures", "lanes", "anomalies", "flow"])
def test_a_history_without_something_says_so(empty):
    assert 'class="none"' in page({**told(), empty: []})


def test_a_history_without_any_end_is_drawn_as_well():
    bare = {**told(), "canvas": None, "heat": {"columns": HEAT_COLUMNS, "cells": []}, "latency": {"all": {}, "by_name": []}}
    assert Checked(page({**bare, "cost": {"nanodollars": 0, "measured": 0, "by_name": []}})).open == []


def test_what_happened_is_as_high_as_it_was_much():
    drawing = curves({"succeeded": [0, 4], "failed": [0, 0]}, [1, 4], ["a", "b"], "x")
    (line,) = re.findall(r'class="line" d="([^"]+)"', drawing)
    assert line == "M0 180 L500 180 L500 0 L1000 0"


def test_one_task_among_ten_thousand_can_be_seen():
    shades = [float(found) for found in re.findall(r'fill-opacity="([\d.]+)"', heat([(0, 1, 1), (1, 1, 10_000)], 2, HEAT_ROWS, [], "x"))]
    assert 0.1 < min(shades) < max(shades) == 1.0


def test_a_session_that_outlives_the_picture_stays_within_it():
    drawing = lane([], [], (-3.0, 9.0), 100, 0.0, "x")
    assert re.findall(r'class="session" x="([\d.]+)" y="8.5" width="([\d.]+)"', drawing) == [("0", "100")]


def test_every_state_has_its_label_and_none_covers_another():
    states = ("SUCCESS", "RETRY", "FAILURE", "POISON", "ODD")
    ways = [{"received": True, "started": True, "state": state, "tasks": 1, "again": 0} for state in states]
    drawing = flow([{**ways[0], "tasks": 10_000}, *ways[1:]])
    tops = [float(top) for top in re.findall(r"left:calc\(100% \+ 10px\);top:([\d.]+)%", drawing)]
    assert len(tops) == len(ways)
    assert all(below - above >= 12 for above, below in pairwise(tops))
    assert all(0 < top < 100 for top in tops)


@pytest.mark.parametrize(("value", "shown"), [
    (None, "–"), (0.0, "0\u2009µs"), (0.0000042, "4.2\u2009µs"), (0.25, "250\u2009ms"), (1.5, "1.5\u2009s"), (119.0, "119\u2009s"),
    (3600.0, "60\u2009min"), (172_800.0, "2\u2009d"),
])  # fmt: skip
def test_a_duration_is_shown_in_the_unit_that_suits_it(value, shown):
    assert words.lasting(value) == shown


@pytest.mark.parametrize("value", [1, 3.9, 4, 41, 399, 430, 10**9])
def test_an_axis_ends_at_a_round_number_above_what_it_holds(value):
    assert value <= nice(value) <= max(4.0, 1.5 * value)


def test_each_figure_has_its_unit_and_can_be_a_threshold():
    found = figures(told())
    assert tuple(found) == NAMES
    assert (found["tasks"], found["failed"], found["succeeded"], found["wait_p95"], found["cost"]) == (10, 0.2, 0.7, 0.25, 700.0)
    for name in NAMES:
        (one,) = judged(found, [threshold(f"{name}>=0")])
        assert one.exceeded


@pytest.mark.parametrize(("text", "exceeded"), [
    ("failed>1%", True), ("failed > 20%", False), ("failed>=20%", True), ("failed>0.19", True), ("wait_p95>200ms", True),
    ("wait_p95>0.3s", False), ("run_p99<1min", True), ("total_p50>1h", False), ("poison>0", False), ("tasks<11", True),
    ("cost>699.9$", True),
])  # fmt: skip
def test_a_threshold_is_exceeded_or_holds(text, exceeded):
    (one,) = judged(figures(told()), [threshold(text)])
    assert one.exceeded == exceeded


@pytest.mark.parametrize(("text", "says"), [
    ("failed", "write for example"), ("failed>", "write for example"), ("failed>1%;rm", "write for example"), ("failed>nan", "write for"),
    ("speed>1", "there is no figure 'speed'; the figures are tasks, succeeded"), ("failed>1s", "its units: %"),
    ("wait_p95>1%", "its units: s, ms, min, h"), ("tasks<1%", "its units: none"), ("cost>1s", "its units: $"),
])  # fmt: skip
def test_what_is_no_threshold_is_refused_in_words(text, says):
    with pytest.raises(OptionError) as refused:
        threshold(text)
    assert says in str(refused.value)


def test_the_verdict_is_the_first_line_of_the_page():
    limits = [threshold("failed>1%"), threshold("poison>0")]
    text = "".join(Checked(page(told(), judged(figures(told()), limits))).text)
    assert text.index("Failed: failed>1% (20\u2009%).") < text.index("History of 10 tasks", text.index("Failed:"))
    assert verdict(judged(figures(told()), limits[1:])) == "Passed: 1 of 1 thresholds hold."
    nothing = {**told(), "states": {}, "latency": {"all": {}, "by_name": []}}
    assert verdict(judged(figures(nothing), limits)) == "Passed: 1 of 2 thresholds hold; 1 had no figure to compare."
    assert "Passed" not in page(told())


def test_a_page_carries_its_figures_and_is_compared_with_an_older_one():
    older = read_back(page(told(HOSTILE)), "old.html")
    assert older == figures(told(HOSTILE))
    now = {**told(), "quarantined": 6, "states": {"SUCCESS": 10}}
    text = "".join(Checked(page(now, before=older)).text)
    assert "quarantined36+100\u2009%" in text
    assert "failed20\u2009%0\u2009%-100\u2009%" in text
    assert "poison00–" in text


@pytest.mark.parametrize("text", [
    "", "<html>", carried(told()).replace("report/1", "report/2"), carried(told())[:60], carried(told()).replace("0.25", "true"),
    '<meta name="sedano-report" content="[]">', '<meta name="sedano-report" content="{&quot;schema&quot;:&quot;sedano.report/1&quot;}">',
])  # fmt: skip
def test_what_carries_no_figures_is_refused_by_name(text):
    with pytest.raises(OptionError, match=r"--diff: old\.html carries no figures of sedano\.report/1"):
        read_back(text, "old.html")
