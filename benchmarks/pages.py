"""The pages of `sedano web` over a day of tasks: the CPU of a page in Python, its bytes, and the price of its reads and of an idle hour.

The reads are counted as AWS charges them (`sedano.views.reads`); the stores are in memory, so the CPU is that of the views and of the HTML.
"""

from __future__ import annotations

import gzip

from benchmarks.cpu_times import milliseconds
from benchmarks.report import Entry, Section, Target
from sedano import Sedano, testing
from sedano.views.browser import MOST_S
from sedano.web.addresses import parse
from sedano.web.frame import SiteName, page
from sedano.web.pages import body
from sedano.web.respond import ASSETS, asset
from sedano.web.server import site

TASKS = 10_000
BATCH = 10
PAGES = ("/", "/tasks", "/failures", "/throughput", "/queues", "/schedules", "/workers", "/locks", "/circuits", "/cost")
ASSETS_TARGET, PAGE_TARGET = Target(12 * 1_024), Target(60 * 1_024)
DRAWN_TARGET, ROWS_TARGET = Target(6.0), Target(10.0)
TRIES = 3


def app_of_a_day() -> Sedano:
    """Return an app with a task that succeeds or fails."""
    app = Sedano("pages")

    @app.task(name="pages.charge", retry=False)
    def charge(n: int) -> int:
        if n % 100 == 1:
            raise ValueError(n)
        return n

    return app


def section(tasks: int = TASKS) -> Section:
    """Measure each page after so many *tasks* of one day."""
    app = app_of_a_day()
    with testing.world(app) as world:
        for begin in range(0, tasks, BATCH):
            for n in range(begin, begin + BATCH):
                app.send_task("pages.charge", (n,))
            world.drain()
        pages = [entry for target in PAGES for entry in entries(app, target)]
    size = sum(len(gzip.compress(asset(file))) for file, _ in ASSETS.values())
    assets = Entry("all scripts and styles, compressed", size, "bytes", ASSETS_TARGET)
    return Section(f"pages over {tasks:,} tasks of one day", "in memory; CPU: the best of three", [assets, *pages])


def entries(app: Sedano, target: str) -> list[Entry]:
    """Return the numbers of the page at *target*."""
    found = parse(target)
    if found is None:
        raise ValueError(f"{target} is not a page")
    shown = site(app, SiteName("pages", "memory"))
    screen = shown.read(found.asked)
    rows = max((len(one.rows) for one in screen.tables), default=0)

    def draw() -> str:
        return page(found.asked, screen, body(found.asked, screen), SiteName("pages", "memory"), "tag")

    price, whole = screen.about.reads.dollars_a_million, len(draw().encode())
    return [
        Entry(f"{target}: HTML", milliseconds(draw, TRIES), "ms CPU", ROWS_TARGET if rows > 100 else DRAWN_TARGET, {"rows": rows}),
        Entry(f"{target}: reading and laying out", milliseconds(lambda: shown.read(found.asked), TRIES), "ms CPU"),
        Entry(f"{target}: bytes", whole, "bytes", None if rows > 100 else PAGE_TARGET, {"compressed": len(gzip.compress(draw().encode()))}),
        Entry(f"{target}: a million views", price, "USD", None, {"an idle hour": price * 3_600 / MOST_S / 1e6}),
    ]
