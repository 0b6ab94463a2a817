"""The pages of `sedano web`, without a server: they show text as text, say what they read, keep their mark, and stay small."""

import gzip
import json
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote_plus

import pytest

from sedano.errors import NotAllowed, Unavailable
from sedano.views.failures import failures
from sedano.views.locks import held
from sedano.views.now import now
from sedano.views.panels import Screen, ScreenQuery
from sedano.views.plain import plain
from sedano.views.screens import LISTED
from sedano.views.tasks import tasks
from sedano.views.trace import trace
from sedano.web.addresses import address
from sedano.web.log_links import LogPlace
from sedano.web.pages import body
from sedano.web.respond import POLICY, respond
from sedano.web.trace_table import LEAST, MOST_LINES, WIDE
from sedano.web.visitors import PageRequest
from tests.stories.shopfront import ID, NAME, PAGES, PORT, Elements, Shop, app, charge, opened, spread

KB = 1_024
ROWS = 200
CALLS_A_ROW = 300
"""How many function calls a row of a table may take: a page of the most rows then takes a few milliseconds of CPU."""


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    """The pages of one world; no test of this module changes it."""
    with opened() as found:
        yield found


@pytest.mark.parametrize("target", PAGES)
def test_a_page_is_well_formed_and_nothing_of_a_task_is_html(shop: Shop, target: str) -> None:
    answer = shop.get(target)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    page = Elements(answer.body.decode())
    assert [attributes for tag, attributes in page.found if tag == "script"] == [{"type": "module", "src": "/-/app.js"}]
    assert {tag for tag, _ in page.found} & {"img", "style", "iframe", "object", "base"} == set()
    assert not [name for _, attributes in page.found for name in attributes if name.startswith("on") or name == "style"]
    ids = [attributes["id"] for _, attributes in page.found if "id" in attributes]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("target", PAGES)
def test_every_link_of_a_page_leads_to_a_page_of_ours(shop: Shop, target: str) -> None:
    for tag, attributes in Elements(shop.html(target)).found:
        if tag == "a" and not attributes["href"].startswith("#"):
            assert shop.get(attributes["href"]).status == 200, attributes["href"]


def test_hostile_names_ids_and_errors_are_shown_inert(shop: Shop) -> None:
    page = Elements(shop.html("/tasks"))
    assert "<script>alert(1)</script><img src=x onerror=alert(2)>&lt;" in page.text
    assert NAME in page.text
    assert "\\x1b[2J\\u202e\\n\\x00" in page.text
    there = address(ScreenQuery("task", id=ID))
    assert there in [attributes.get("href") for _, attributes in page.found]
    assert f"Task {ID}" in Elements(shop.html(there)).text


def test_now_leads_to_the_tasks_that_failed(shop: Shop) -> None:
    page = Elements(shop.html("/"))
    assert "shopfront.charge failed 10 times with ValueError" in page.text
    assert "the queue mail is paused" in page.text
    (there,) = [one["href"] for _, one in page.found if one.get("aria-label") == "look at shopfront.charge"]
    assert "10 of" in Elements(shop.html(there)).text


def test_a_task_says_why_it_does_not_run(shop: Shop) -> None:
    text = Elements(shop.html("/task?id=later")).text
    assert "sedano explain later" in text
    assert "PENDING" in text


def test_a_failed_task_shows_the_frame_of_the_application_and_hides_what_it_was_given(shop: Shop) -> None:
    text = Elements(shop.html("/task?id=odd")).text
    assert "raise ValueError" in text
    assert "in charge" in text
    hidden = Elements(shop.html("/task?id=odd&hide=1")).text
    assert "(hidden)" in hidden
    assert "alert" not in hidden


def test_a_canvas_folds_many_tasks_of_one_name_and_shows_its_failures_alone(shop: Shop) -> None:
    whole = Elements(shop.html("/canvas?id=order"))
    assert "16 × shopfront.charge" in whole.text
    (bar,) = [one["aria-label"] for tag, one in whole.found if tag == "svg" and one["class"] == "bar"]
    assert bar == "17 tasks: 8 FAILURE, 9 SUCCESS"
    failed = Elements(shop.html("/canvas?id=order&failed=1"))
    assert len([one for tag, one in failed.found if tag == "div" and one.get("class", "").startswith("box")]) == 8


def test_a_task_and_a_canvas_lead_to_their_trace_which_draws_each_span_on_one_axis(shop: Shop) -> None:
    for target in ("/task?id=order", "/canvas?id=order"):
        assert "/trace?id=order" in [one.get("href") for _, one in Elements(shop.html(target)).found]
    page = Elements(shop.html("/trace?id=order"))
    view = trace(app, "order")
    bars = [one for tag, one in page.found if tag == "rect"]
    assert len(bars) == len([one for one in view.spans if one.begin is not None]) > 17 * 3
    assert "17 tasks of the canvas order" in page.text
    assert [one["href"] for tag, one in page.found if one.get("href", "").startswith("/task?")] == [
        address(ScreenQuery("task", id=one.task)) for one in view.spans if one.kind == "task"
    ]


def test_a_trace_hides_messages_of_errors_where_that_is_asked(shop: Shop) -> None:
    assert "alert(1)" in Elements(shop.html("/trace?id=odd")).text
    hidden = Elements(shop.html("/trace?id=odd&hide=1")).text
    assert "ValueError" in hidden
    assert "alert" not in hidden


RECORDS: dict[str, Any] = {
    "/.json": lambda: now(app), "/failures.json": lambda: failures(app, 2),
    "/locks.json?q=nightly": lambda: held(app, ["nightly"]), "/tasks.json": lambda: tasks(app, 2),
    "/trace.json?id=order": lambda: trace(app, "order"), "/trace.json?id=odd&hide=1": lambda: trace(app, "odd", redact=True),
}  # fmt: skip


@pytest.mark.parametrize("target", RECORDS)
def test_the_json_of_a_page_is_the_record_of_its_view(shop: Shop, target: str) -> None:
    answer = shop.get(target)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert json.loads(answer.body) == json.loads(json.dumps(plain(RECORDS[target]())))
    assert shop.get(target.replace(".json", ""), accept="application/json").body == answer.body


@pytest.mark.parametrize("target", PAGES)
def test_a_page_prints_what_it_read_its_price_and_the_command(shop: Shop, target: str) -> None:
    text = Elements(shop.html(target)).text
    said = json.loads(shop.get(target, accept="application/json").body)["about"]["reads"]
    calls = ", ".join(f"{number} {name}" for name, number in said["calls"].items())
    assert f"${said['dollars_a_million']:.2f} a million views on AWS; read {calls}." in text
    assert "The same: sedano " in text


def test_a_page_without_news_keeps_its_mark_and_is_not_sent_again(shop: Shop) -> None:
    for target in ("/", "/tasks.json"):
        first = shop.get(target)
        later = shop.get(target, if_none_match=first.headers["etag"])
        assert (later.status, later.body, later.headers["etag"]) == (304, b"", first.headers["etag"])


def test_news_and_the_moment_of_reading() -> None:
    with opened() as shop:
        before = shop.get("/tasks")
        shop.world.clock.advance(1)
        assert shop.get("/tasks").headers["etag"] == before.headers["etag"]
        charge.apply_async((4,), task_id="more")
        shop.world.drain()
        after = shop.get("/tasks", if_none_match=before.headers["etag"])
        assert (after.status, b"more" in after.body) == (200, True)


def test_the_pages_of_a_world_stay_open_while_another_world_of_the_app_is_used(shop: Shop) -> None:
    with opened() as other:
        charge.apply_async((4,), task_id="in-the-inner-world")
        other.world.drain()
    assert shop.get("/tasks?q=key:acme").status == 200
    assert "in-the-inner-world" not in Elements(shop.html("/tasks")).text


WRONG = {
    "/tasks?q=key:a*": 400, "/queues?q=other": 400,
    "/tasks?days=99": 400, "/tasks?x=1": 400, "/task": 400, "/nothing": 404, "/%2e%2e/etc/passwd": 404,
}  # fmt: skip


@pytest.mark.parametrize("target", WRONG)
def test_a_wrong_address_is_a_page_that_says_why(shop: Shop, target: str) -> None:
    answer = shop.get(target)
    assert answer.status == WRONG[target]
    said = json.loads(shop.get(target, accept="application/json").body)
    assert said["error"] in Elements(answer.body.decode()).text


FAULTS = {Unavailable("the table is throttled"): 503, NotAllowed("no", "dynamodb:GetItem"): 403, ZeroDivisionError("<b>"): 500}


@pytest.mark.parametrize("error", FAULTS, ids=lambda error: type(error).__name__)
def test_a_store_that_does_not_answer_is_a_page_and_ends_nothing(shop: Shop, error: Exception) -> None:
    def broken(_: ScreenQuery) -> Screen:
        raise error

    request = PageRequest("GET", "/", {"host": (f"127.0.0.1:{PORT}",), "cookie": (f"sedano-{PORT}=session",)})
    answer = respond(request, shop.site._replace(read=broken), shop.visitors)
    assert answer.status == FAULTS[error]
    assert str(error) in Elements(answer.body.decode()).text


def test_a_page_of_the_most_rows_is_small_and_takes_few_calls() -> None:
    with opened() as shop:
        for n in range(0, 2 * ROWS, 2):
            charge.apply_async((n,))
        shop.world.drain()
        answer = shop.get("/tasks?q=state:SUCCESS")
        asked = ScreenQuery("tasks", query="state:SUCCESS")
        screen = shop.site.read(asked)
    assert len(screen.tables[0].rows) == ROWS
    assert len(answer.body) <= 60 * KB
    assert len(gzip.compress(answer.body)) <= 12 * KB
    assert _calls(asked, screen) <= ROWS * CALLS_A_ROW


def test_a_task_of_a_deployed_stage_leads_to_its_log_lines_and_one_of_this_machine_does_not() -> None:
    with opened() as shop:
        place = shop.site.place._replace(logs=LogPlace("eu-central-1", "worker-logs"))
        deployed = shop.site._replace(place=place)
        targets = {"/task?id=odd": 1, f"/task?id={quote_plus(ID)}": 0, "/task?id=later": 0}
        for pages in (shop.site, deployed):
            shop.site = pages
            for target, number in targets.items():
                found = [one["href"] for _, one in Elements(shop.html(target)).found if one.get("href", "").startswith("https://eu-central-1.")]
                assert len(found) == (number if pages is deployed else 0), target


def test_a_long_trace_draws_its_first_spans_and_stays_small() -> None:
    with opened() as shop:
        spread.apply_async((ROWS,), task_id="long")
        shop.world.drain()
        answer = shop.get("/trace?id=long")
        spans = len(trace(app, "long").spans)
    assert spans > MOST_LINES
    assert f"The first {MOST_LINES} of {spans} spans are drawn" in Elements(answer.body.decode()).text
    assert len(gzip.compress(answer.body)) <= 12 * KB
    bars = [(float(one["x"]), float(one["x"]) + float(one["width"])) for tag, one in Elements(answer.body.decode()).found if tag == "rect"]
    assert all(0 <= first < last <= WIDE + LEAST for first, last in bars)
    assert (min(bars)[0], max(bars)[0]) == (0, WIDE), "the charges of the later moment are at the end of the axis"


def _calls(asked: ScreenQuery, screen: Screen) -> int:
    counted = 0

    def count(_: object, kind: str, __: object) -> None:
        nonlocal counted
        counted += kind in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        body(asked, screen)
    finally:
        sys.setprofile(before)
    return counted


def test_the_navigation_has_every_page_and_marks_the_one_that_is_open(shop: Shop) -> None:
    page = Elements(shop.html("/failures"))
    links = [one for tag, one in page.found if tag == "a" and "data-key" in one]
    assert [one["href"] for one in links] == [address(ScreenQuery(name)) for name in LISTED]
    assert [one["href"] for one in links if one.get("aria-current") == "page"] == ["/failures"]


def test_the_policy_allows_only_what_these_pages_serve() -> None:
    parts = dict(part.split(" ", 1) for part in POLICY.split("; "))
    assert parts["default-src"] == "'none'"
    assert {value for value in parts.values() if "unsafe" in value or "*" in value or "http" in value} == set()
    assert parts["require-trusted-types-for"] == "'script'"
