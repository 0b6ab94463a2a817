"""The pages of `sedano web` in a real browser: nothing on the console, no foreign request, no axe violation, keys, news without a reload.

`make test` unpacks the browser (`requirements/chromium.py`); where it has none for the machine and PATH neither, these tests skip.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sedano.web.changes import Change
from sedano.web.loopback import listener
from sedano.web.server import PageServer, answering
from sedano.web.visitors import Visitors
from tests.pipeline.browser import ANYWHERE, HIDDEN, chromium, tool
from tests.stories import shopfront

CHROMIUM = chromium()
playwright = tool("playwright.sync_api")
axe = tool("axe_playwright_python")
AXE = (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
LOOKS = {"light": ("light", 1_280), "dark": ("dark", 1_280), "phone": ("light", 390), "dark phone": ("dark", 390)}
LONG_MS = 60_000
REFUSED = "Failed to load resource: the server responded with a status of 4"
"""The line that Chromium writes to the console where a page says why not."""
NO_SCRIPT = {"actions": True, "java_script_enabled": False}
CHANGES = [
    Change("retry", "id", shopfront.ID), Change("revoke", "id", "later"), Change("pause", "task", "shopfront.charge"),
    Change("limit", "rate", "shopfront.weigh"), Change("limit", "rate", "shopfront.weigh", "10/m"), Change("redrive", "all", "all"),
    Change("retry", "edited", "odd"), Change("retry", "edited", "odd", '{"args": [4], "kwargs": {}}'),
    Change("retry", "search", "name:shopfront.charge", "1"), Change("release", "lock", "nightly", "1"),
    Change("trigger", "schedule", "shopfront.dust"), Change("pause", "queue", shopfront.NASTY),
]  # fmt: skip
"""A preview of each kind, with and without a form, one that refuses, and one of a target that does not exist."""


class Opened(NamedTuple):
    """A *page* of a browser that has opened the pages at *base*; *beside* runs what changes their world on the world's own thread.

    Playwright runs an event loop on the thread of the test, where nothing of sedano may wait.
    """

    page: Any
    base: str
    beside: Callable[..., Any]

    def go(self, target: str) -> None:
        """Open a page."""
        assert self.page.goto(self.base + target).ok


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser."""
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=CHROMIUM, args=ANYWHERE)
        yield running
        running.close()


def _worked(shop: shopfront.Shop, change: Callable[[], Any], seconds: float) -> Any:
    """Make a change, let so many *seconds* pass, and return what the change returned."""
    found = change()
    if seconds:
        shop.world.elapse(seconds)
    return found


@pytest.fixture
def opened(browser: Any, request: pytest.FixtureRequest) -> Iterator[Opened]:
    """A new window on the pages; at its end nothing was on the console, and no other site was asked."""
    options = dict(getattr(request, "param", {}))
    said = REFUSED if options.pop("refused", False) else ""
    with ThreadPoolExecutor(1) as world, listener(0) as listening:
        shops = shopfront.opened(actions=options.pop("actions", False))
        shop = world.submit(shops.__enter__).result()
        visitors = Visitors(listening.getsockname()[1])
        base = f"http://127.0.0.1:{visitors.port}"
        server = PageServer(listening, answering(shop.site, visitors))
        server.begin()
        window = browser.new_context(**options)
        window.set_default_timeout(LONG_MS)
        page, wrong = window.new_page(), list[str]()
        page.on("console", lambda one: None if said and one.text.startswith(said) else wrong.append(one.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda asked: None if asked.url.startswith(base) else wrong.append(asked.url))
        assert page.goto(visitors.address).ok
        yield Opened(page, base, lambda change, seconds=1: world.submit(_worked, shop, change, seconds).result())
        window.close()
        server.end()
        world.submit(shops.__exit__, None, None, None).result()
        assert wrong == []


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("opened", [{"bypass_csp": True}], indirect=True)
def test_no_page_has_an_axe_violation_or_is_wider_than_the_window(opened: Opened, look: str) -> None:
    scheme, width = LOOKS[look]
    opened.page.emulate_media(color_scheme=scheme)
    opened.page.set_viewport_size({"width": width, "height": 800})
    for target in shopfront.PAGES:
        opened.go(target)
        _clean(opened, target)


def _clean(opened: Opened, where: str) -> None:
    """Look at the page that is open with axe, and at its width."""
    opened.page.evaluate(AXE)
    found = opened.page.evaluate("async () => (await axe.run()).violations.map(one => [one.id, one.nodes.map(node => node.html)])")
    assert found == [], where
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), where
    assert opened.page.evaluate(HIDDEN) == [], where


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("opened", [{"bypass_csp": True, "actions": True, "refused": True}], indirect=True)
def test_no_preview_and_no_offer_has_an_axe_violation_or_is_wider_than_the_window(opened: Opened, look: str) -> None:
    scheme, width = LOOKS[look]
    opened.page.emulate_media(color_scheme=scheme)
    opened.page.set_viewport_size({"width": width, "height": 800})
    for target in ("/", "/task?id=odd", "/queues", "/schedules", "/locks?q=nightly"):
        opened.go(target)
        _clean(opened, target)
    for change in CHANGES:
        opened.page.goto(opened.base + change.address, wait_until="load")
        _clean(opened, change.address)
    opened.go(Change("pause", "queue", "default").address)
    opened.page.fill("input[name=reason]", "a test")
    opened.page.click("form.change button")
    opened.page.locator("main [role=status]", has_text="queue default paused").wait_for()
    _clean(opened, "the effects")


def test_every_page_runs_under_its_policy(opened: Opened) -> None:
    for target in shopfront.PAGES:
        opened.go(target)
        opened.page.keyboard.press("r")
        opened.page.locator("#status", has_text="checked").wait_for()


@pytest.mark.parametrize("opened", [{"java_script_enabled": False}], indirect=True)
def test_without_javascript_a_person_searches_and_opens_a_task(opened: Opened) -> None:
    page = opened.page
    page.fill("input[name=q]", "odd")
    page.press("input[name=q]", "Enter")
    page.wait_for_url("**/tasks?q=odd")
    page.click("main td a")
    page.wait_for_url("**/task?id=odd")
    assert "raise ValueError" in page.inner_text("main")
    assert page.is_hidden("#live")


def _confirm(page: Any, **fields: str) -> str:
    """Fill the form of a preview and send it; return the text of the page that follows."""
    for name, text in {"reason": "a test", **fields}.items():
        page.fill(f"form.change input[name={name}]", text)
    page.click("form[method=post] button")
    page.wait_for_load_state()
    return str(page.inner_text("main"))


DRIVEN = {
    "retry": ("/task?id=odd", "Retry this task", "odd runs again as "),
    "retry a search": ("/tasks?q=root:order", "Retry the tasks of this canvas that failed", "runs again as "),
    "revoke": ("/task?id=later", "Revoke this task", "later REVOKED"),
    "pause a task": ("/task?id=odd", "Pause the task shopfront.charge", "task shopfront.charge paused"),
    "pause": ("/queues", "Pause the queue default", "queue default paused"),
    "resume": ("/queues", "Resume the queue mail", "queue mail resumed"),
    "pause a schedule": ("/schedules", "Pause the schedule shopfront.dust", "schedule shopfront.dust paused"),
    "trigger": ("/schedules", "Run the schedule shopfront.dust now", "shopfront.dust runs now as "),
    "redrive": ("/", "Send all parked messages again", f"{shopfront.LOST} sent to "),
    "release": ("/locks?q=nightly", "Release the lock nightly", "nightly released; the token "),
}  # fmt: skip


@pytest.mark.parametrize("opened", [{"actions": True}, NO_SCRIPT], indirect=True, ids=["script", "no script"])
def test_a_person_makes_each_change_with_a_reason(opened: Opened) -> None:
    page = opened.page
    for target, words, effect in DRIVEN.values():
        opened.go(target)
        page.click(f"main .acts >> text='{words}'")
        page.locator("form.change").wait_for()
        page.click("form.change button")
        assert page.locator("form.change").count() == 1, "the browser asks for the reason"
        assert effect in _confirm(page), words


@pytest.mark.parametrize("opened", [{"actions": True}, NO_SCRIPT], indirect=True, ids=["script", "no script"])
def test_four_clicks_lead_from_a_failure_to_another_run(opened: Opened) -> None:
    page = opened.page
    page.click("main .need a[aria-label='look at shopfront.charge']")
    page.click("main tbody a[href^='/task?id=odd']")
    assert "raise ValueError" in page.inner_text("main")
    page.click("main .acts >> text='Retry this task'")
    assert "odd runs again as " in _confirm(page)
    page.click("main [role=status] a")
    assert page.url.startswith(f"{opened.base}/task?id=")
    assert "odd" not in page.inner_text("h1")


@pytest.mark.parametrize("opened", [{"actions": True}, NO_SCRIPT], indirect=True, ids=["script", "no script"])
def test_a_person_chooses_a_limit_sees_the_plan_and_sets_it(opened: Opened) -> None:
    page = opened.page
    opened.go("/task?id=odd")
    page.click("main .acts >> text='Limit shopfront.charge'")
    page.select_option("main select", "concurrency")
    page.fill("main input[name=value]", "3")
    page.click("main form.filter button")
    assert "concurrency 3; workers apply it" in page.inner_text("main")
    assert "shopfront.charge concurrency 3" in _confirm(page)
    assert "shopfront.charge" in opened.beside(lambda: dict(shopfront.app.outlet.ports.control.read().limits))


@pytest.mark.parametrize("opened", [{"actions": True}, NO_SCRIPT], indirect=True, ids=["script", "no script"])
def test_a_person_edits_the_arguments_of_a_task_and_runs_it_again(opened: Opened) -> None:
    page = opened.page
    opened.go("/task?id=odd")
    page.click("main .acts >> text='Retry this task with other arguments'")
    assert page.input_value("main textarea") == '{"args": [3], "kwargs": {}}'
    page.fill("main textarea", '{"args": [],\n "kwargs": {"n": 4}}')
    page.click("main form.change button")
    assert "now: n=4" in page.inner_text("main")
    assert "odd runs again as " in _confirm(page)
    opened.beside(lambda: shopfront.app, 1)
    page.click("main [role=status] a")
    assert "SUCCESS" in page.inner_text("main")


@pytest.mark.parametrize("opened", [{"actions": True, "refused": True}], indirect=True)
def test_a_change_of_many_messages_is_typed_and_a_form_that_is_sent_again_changes_nothing(opened: Opened) -> None:
    page = opened.page
    opened.beside(lambda: [shopfront.charge.apply_async((2 * n,), queue="mail") for n in range(101)], 0)
    opened.go(Change("pause", "queue", "mail").address)
    assert "This affects 101 tasks or messages. Type mail to confirm" in page.inner_text("main")
    assert "Type mail to confirm." in _confirm(page, typed="default")
    assert page.input_value("input[name=reason]") == "a test"
    assert "queue mail paused" in _confirm(page, typed="mail")
    page.reload()
    assert "Nothing was changed" in page.inner_text("main")


@pytest.mark.parametrize("opened", [{"actions": True}], indirect=True)
def test_a_form_is_not_read_again_while_a_person_writes(opened: Opened) -> None:
    page = opened.page
    opened.go("/")
    page.clock.install()
    opened.go(Change("pause", "queue", "default").address)
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url) if "/-/" not in one.url else None)
    page.fill("input[name=reason]", "half a rea")
    page.keyboard.press("r")
    page.clock.run_for(120_000)
    assert (asked, page.is_hidden("#live"), page.input_value("input[name=reason]")) == ([], True, "half a rear")


def test_keys_lead_through_the_pages(opened: Opened) -> None:
    page = opened.page
    page.keyboard.press("g")
    page.keyboard.press("f")
    page.wait_for_url("**/failures")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/tasks?q=*")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url("**/task?id=*")
    page.keyboard.press("?")
    assert page.is_visible("dialog#keys")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("gt?")
    assert page.input_value("input[name=q]") == "gt?"


def _publish(task: Any, task_id: str, *arguments: object) -> None:
    task.apply_async(arguments, task_id=task_id)


def test_a_new_task_appears_without_a_reload_and_leaves_the_focus_alone(opened: Opened) -> None:
    page = opened.page
    opened.go("/tasks")
    page.evaluate("document.mark = 'the same'")
    page.focus("main td a")
    focused = page.evaluate("document.activeElement.getAttribute('href')")
    opened.beside(lambda: _publish(shopfront.charge, "newest", 2))
    page.wait_for_selector("main tbody a[href='/task?id=newest']")
    assert page.evaluate("document.mark") == "the same"
    assert page.evaluate("document.activeElement.getAttribute('href')") == focused
    assert page.locator("main tbody a[href='/task?id=newest']").count() == 1


def test_lines_that_were_opened_stay_open_over_an_update(opened: Opened) -> None:
    page = opened.page
    opened.beside(lambda: _publish(shopfront.spread, "spread", 28))
    opened.go("/canvas?id=spread")
    line = page.locator("main details", has_text="14 × shopfront.charge")
    line.locator("summary").click()
    page.evaluate("document.querySelector('main details').mark = 'the same'")
    opened.beside(lambda: None, shopfront.SPREAD_S)
    page.locator("main details summary", has_text="28 × shopfront.charge").wait_for()
    assert page.evaluate("[document.querySelector('main details').open, document.querySelector('main details').mark]") == [True, "the same"]
    assert page.locator("main details li").count() == page.locator("main details li:visible").count() == 28


def test_a_hidden_tab_and_a_held_picture_read_nothing(opened: Opened) -> None:
    page = opened.page
    opened.go("/queues")
    page.clock.install()
    page.reload()
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url) if "/-/" not in one.url else None)
    page.click("#live")
    page.clock.run_for(120_000)
    assert asked == []
    assert page.inner_text("#status") == "held"
    page.click("#live")
    page.clock.run_for(2_500)
    page.locator("#status", has_text="checked").wait_for()
    assert len(asked) == 1
    page.evaluate("Object.defineProperty(document, 'hidden', { value: true }); document.dispatchEvent(new Event('visibilitychange'))")
    page.clock.run_for(120_000)
    assert len(asked) == 1


UPDATE_MS = 10.0
"""The milliseconds for an update of 200 rows: reading the answer as a document, and patching what differs."""
STOPWATCH = """
  const parse = DOMParser.prototype.parseFromString
  DOMParser.prototype.parseFromString = function (...given) { document.began = performance.now(); return parse.apply(this, given) }
  document.addEventListener('DOMContentLoaded', () => new MutationObserver(() => { document.took = performance.now() - document.began })
    .observe(document.querySelector('#status'), { childList: true }))
"""
"""The page writes its status when it has patched, in the same task, so no other work is counted."""


def test_an_update_of_200_rows_takes_ten_milliseconds(opened: Opened) -> None:
    page = opened.page
    opened.beside(lambda: [shopfront.charge.apply_async((2 * n,)) for n in range(220)])
    page.add_init_script(STOPWATCH)
    opened.go("/tasks")
    assert page.locator("main tbody tr").count() == 200
    found = []
    for number in range(8):
        opened.beside(lambda number=number: _publish(shopfront.charge, f"newer-{number}", 2))
        page.keyboard.press("r")
        page.wait_for_selector(f"main tbody a[href='/task?id=newer-{number}']")
        found.append(page.evaluate("document.took"))
    assert 0 < min(found) <= UPDATE_MS, found
