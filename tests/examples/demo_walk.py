"""A person walks through every page of a demo's stage and makes every change, in a real browser.

    . build/demo/stage/environment
    python -m tests.examples.demo_stage; sedano web --actions --no-open
    python -m tests.examples.demo_walk ADDRESS FOLDER     # screenshots in FOLDER
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from sedano.views.screens import LISTED
from tests.examples.demo_stage import EDITED, FAILED, KEY, LATER, LOCK, MANY, NUMBER
from tests.pipeline.browser import ANYWHERE, HIDDEN, chromium, tool

LOOKS = {"light": ("light", 1_280), "dark": ("dark", 1_280), "light-390": ("light", 390), "dark-390": ("dark", 390)}
LONG_MS = 120_000
TICK, SUMMARISE, SCHEDULE = "examples.census.tasks.tick", "examples.census.tasks.summarise", "tick"


class Walk(NamedTuple):
    """A *page* of a browser on the pages at *base*; *wrong*: lines of its console, errors, and requests to other places."""

    page: Any
    base: str
    wrong: list[str]

    def go(self, target: str) -> None:
        """Open a page."""
        assert self.page.goto(self.base + target).ok, target

    def until(self, target: str, words: str) -> None:
        """Open a page again until it shows *words*: the stage's recorder writes the history a few seconds later."""
        for _ in range(60):
            self.go(target)
            if words in self.page.inner_text("main"):
                return
            self.page.wait_for_timeout(1_000)
        raise AssertionError(f"{target} does not show {words!r}:\n{self.page.inner_text('main')}")

    def offer(self, words: str) -> None:
        """Follow the link to the preview of a change."""
        self.page.locator("main details:not([open]) summary", has_text="changes").or_(self.page.locator("main")).first.evaluate(
            "one => { if (one.tagName == 'SUMMARY') one.parentElement.open = true }"
        )
        self.page.locator("main .acts a", has_text=words).first.click()
        self.page.locator("main form").first.wait_for()

    def confirm(self, effect: str, **fields: str) -> None:
        """Fill the form of the preview, send it, and look for its effect."""
        for name, text in {"reason": "a walk", **fields}.items():
            self.page.fill(f"form[method=post] input[name={name}]", text)
        self.page.click("form[method=post] button")
        self.page.locator("main [role=status]", has_text=effect).wait_for()

    def change(self, target: str, words: str, effect: str) -> None:
        """Make the change that the page at *target* offers."""
        self.go(target)
        self.offer(words)
        self.confirm(effect)


@contextmanager
def walking(address: str) -> Iterator[Walk]:
    """Open the *address* that `sedano web` printed in a new browser."""
    parts = urlsplit(address)
    base, wrong = f"{parts.scheme}://{parts.netloc}", list[str]()
    with tool("playwright.sync_api").sync_playwright() as started:
        running = started.chromium.launch(executable_path=chromium(), args=ANYWHERE)
        page = running.new_page(viewport={"width": 1_280, "height": 900})
        page.set_default_timeout(LONG_MS)
        page.on("console", lambda one: wrong.append(one.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda asked: None if asked.url.startswith(base) else wrong.append(asked.url))
        assert page.goto(address).ok
        yield Walk(page, base, wrong)
        running.close()


def pages(walk: Walk) -> dict[str, str]:
    """Return an address of every page, with something to see, by a name for its picture."""
    walk.until("/tasks?q=name:summarise+state:SUCCESS", "1 of ")
    walk.page.click("main tbody a[href^='/task?id=']")
    walk.page.wait_for_url("**/task?id=*")
    root = _json(walk, walk.page.url.removeprefix(walk.base))["root"]
    listed = {name: "/" if name == "now" else f"/{name}" for name in LISTED}
    return {
        **listed, "task": f"/task?id={FAILED}", "canvas": f"/canvas?id={root}", "trace": f"/trace?id={root}",
        "tasks-by-key": f"/tasks?q=key:{KEY}", "tenants": "/queues?q=tenants", "lock": f"/locks?q={LOCK}", "day": "/throughput?q=24h",
    }  # fmt: skip


def _json(walk: Walk, target: str) -> Any:
    path, _, query = target.partition("?")
    return json.loads(walk.page.evaluate("async at => await (await fetch(at)).text()", f"{path}.json?{query}"))


def look(walk: Walk, folder: Path) -> int:
    """Take a picture of every page in every look; none is wider than its window. Return how many pages there are."""
    found = pages(walk)
    for name, target in found.items():
        walk.go(target)
        for kind, (scheme, width) in LOOKS.items():
            walk.page.emulate_media(color_scheme=scheme)
            walk.page.set_viewport_size({"width": width, "height": 900})
            assert walk.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, kind)
            assert walk.page.evaluate(HIDDEN) == [], (name, kind)
            walk.page.screenshot(path=folder / f"{name}-{kind}.png", full_page=True)
    walk.page.set_viewport_size({"width": 1_280, "height": 900})
    return len(found)


def act(walk: Walk) -> None:
    """Make every change."""
    for step in (
        _pauses, _limits, _edits, _tasks, _searches, lambda one: one.change("/", "Send all parked messages again", "sent to "),
        lambda one: one.change(f"/locks?q={LOCK}", f"Release the lock {LOCK}", f"{LOCK} released; the token "),
    ):  # fmt: skip
        step(walk)
    made = {str(one["verb"]) for one in _until_told(walk)}
    assert made == {"pause", "resume", "limit", "retry", "revoke", "redrive", "release", "trigger"}


def _pauses(walk: Walk) -> None:
    walk.change("/queues", "Pause the queue services", "queue services paused")
    walk.change("/queues", "Resume the queue services", "queue services resumed")
    walk.change(f"/task?id={FAILED}", f"Pause the task {SUMMARISE}", f"task {SUMMARISE} paused")
    walk.change(f"/task?id={FAILED}", f"Resume the task {SUMMARISE}", f"task {SUMMARISE} resumed")
    walk.change("/schedules", f"Run the schedule {SCHEDULE} now", f"{SCHEDULE} runs now as ")


def _limits(walk: Walk) -> None:
    walk.go(f"/task?id={FAILED}")
    walk.offer(f"Limit {SUMMARISE}")
    walk.page.select_option("main select", "concurrency")
    walk.page.fill("main input[name=value]", "3")
    walk.page.click("main form.filter button")
    walk.confirm(f"{SUMMARISE} concurrency 3")


def _tasks(walk: Walk) -> None:
    walk.change(f"/task?id={LATER}", "Revoke this task", f"{LATER} REVOKED")
    walk.change(f"/task?id={FAILED}", "Retry this task", f"{FAILED} runs again as ")


def _edits(walk: Walk) -> None:
    """Four clicks from the page of what needs a person to another run, with other arguments."""
    walk.until("/", SUMMARISE)
    walk.page.click(f"main .need a[aria-label='look at {SUMMARISE}']")
    walk.page.click(f"main tbody a[href^='/task?id={EDITED}']")
    assert "KeyError" in walk.page.inner_text("main")
    walk.offer("Retry this task with other arguments")
    walk.page.fill("main textarea", '{"args": [[]], "kwargs": {}}')
    walk.page.click("main form.change button")
    walk.confirm(f"{EDITED} runs again as ")
    walk.page.click("main [role=status] a")
    again = walk.page.url.removeprefix(walk.base)
    walk.until(again, "SUCCESS")


def _searches(walk: Walk) -> None:
    """A change of more tasks than may be changed untyped: a task of the stage makes it, and its page shows when it ended."""
    walk.until(f"/tasks?q=state:FAILURE+id:{MANY}-*", f"{NUMBER} of ")
    walk.offer("Retry the tasks of this search that failed")
    word = walk.page.inner_text("form[method=post] label:has(input[name=typed])")
    walk.confirm("", typed=word.split("Type ")[1].split(" ")[0])
    walk.page.click("main [role=status] a")
    walk.until(walk.page.url.removeprefix(walk.base), "SUCCESS")


def _until_told(walk: Walk) -> list[dict[str, Any]]:
    walk.until("/changes", "release")
    found: list[dict[str, Any]] = _json(walk, "/changes")["rows"]
    return found


def main(address: str, folder: Path) -> None:
    """Walk, with pictures in *folder*."""
    folder.mkdir(parents=True, exist_ok=True)
    with walking(address) as walk:
        look(walk, folder)
        act(walk)
        assert walk.wrong == []


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
