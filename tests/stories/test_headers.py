"""Headers stay with their task: on its way, through its retries, timers and reruns; a link and a spawned task do not inherit them."""

from typing import Any

import pytest

from sedano import Retry, chain, chord, current
from sedano.cli import calls
from sedano.testing import world
from sedano.views.panels import ScreenQuery
from sedano.views.screens import screen
from sedano.views.task import HIDDEN, task
from tests.stories.processes import Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage

HEADERS = {"request_id": "r-7", "tries": [1, 2]}


@pytest.fixture
def processes(stage: Stage, shop: Shop) -> Processes:
    """The processes of the shop."""
    return Processes(stage, shop.app)


@pytest.fixture
def seen(shop: Shop) -> list[tuple[str, Any]]:
    """The headers with which the tasks `look` ran, in order."""
    found: list[tuple[str, Any]] = []

    def look(*_: Any) -> None:
        found.append((current().task, dict(current().headers)))
        if current().task == "retried" and current().attempt < 2:
            raise ConnectionError("not yet")
        if current().task == "parent":
            shop.app.send_task("child")
        if current().task == "lost":
            raise LookupError("no")

    for name in ("look", "child", "parent", "linked"):
        shop.task(name, look)
    shop.task("retried", look, retry=Retry(max_retries=2, interval_start=2, jitter=False))
    shop.task("lost", look, retry=False)
    return found


def test_retries_keep_headers(shop: Shop, processes: Processes, seen: list[Any]) -> None:
    shop.app_sig("retried").apply_async(headers=HEADERS)
    processes.drain()
    assert seen == [("retried", HEADERS)] * 3


def test_what_a_task_causes_does_not_inherit_its_headers(shop: Shop, processes: Processes, seen: list[Any]) -> None:
    shop.app_sig("parent").apply_async(headers=HEADERS, link=shop.app_sig("linked"))
    processes.drain()
    assert sorted(seen, key=str) == [("child", {}), ("linked", {}), ("parent", HEADERS)]


def test_each_step_of_a_canvas_has_its_own_headers(shop: Shop, processes: Processes, seen: list[Any]) -> None:
    chain(shop.app_sig("look").set(headers={"n": 1}), shop.app_sig("child"), shop.app_sig("linked").set(headers={"n": 3})).delay()
    processes.drain()
    assert seen == [("look", {"n": 1}), ("child", {}), ("linked", {"n": 3})]
    seen.clear()
    chord([shop.app_sig("look").set(headers={"n": 1})])(shop.app_sig("child").set(headers={"n": 2}))
    processes.drain()
    assert seen == [("look", {"n": 1}), ("child", {"n": 2})]


def test_a_rerun_has_the_headers_and_views_show_or_hide_them(shop: Shop, processes: Processes, seen: list[Any]) -> None:
    failed = shop.app_sig("lost").apply_async(headers=HEADERS)
    processes.drain()
    assert shop.app.control.explain(failed.id).evidence["headers"] == HEADERS
    view, hidden = task(shop.app, failed.id), task(shop.app, failed.id, redact=True)
    assert view.record is not None
    assert hidden.record is not None
    assert (view.record["headers"], hidden.record["headers"]) == (HEADERS, HIDDEN)
    assert "r-7" not in str(hidden)
    shop.app.control.retry(failed.id)
    processes.drain()
    assert seen == [("lost", HEADERS)] * 2


def test_the_page_of_a_failed_task_and_sedano_show_have_its_headers_as_json_or_no_line(
    shop: Shop, processes: Processes, seen: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    some, none = shop.app_sig("lost").apply_async(headers=HEADERS), shop.app_sig("lost").apply_async()
    processes.drain()
    assert len(seen) == 2
    text = '{"request_id": "r-7", "tries": [1, 2]}'
    for failed, cells, lines in ((some, [text], [f"  headers: {text}"]), (none, [], [])):
        record = screen(shop.app, ScreenQuery("task", id=failed.id)).tables[0]
        assert [value.text for name, value in record.rows if name.text == "headers"] == cells
        calls.show(shop.app, failed.id, is_json=False)
        assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("  headers")] == lines


def test_a_timer_keeps_headers_and_a_waiting_task_shows_them(shop: Shop, seen: list[Any]) -> None:
    with world(shop.app) as here:
        waiting = shop.app_sig("look").apply_async(headers=HEADERS, countdown=5_000)
        assert shop.app.control.explain(waiting.id).evidence["headers"] == HEADERS
        here.drain()
    assert seen == [("look", HEADERS)]


def test_a_task_without_headers_has_none(shop: Shop, seen: list[Any]) -> None:
    with world(shop.app) as here:
        shop.app_sig("look").apply_async(headers={})
        here.drain()
    assert seen == [("look", {})]
