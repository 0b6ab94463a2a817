"""An app for the pages of `sedano web`: names, ids and errors that a page must show as text, and something for every page."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

from sedano import Breaker, Sedano, every, group, testing
from sedano.web.changes import Changes
from sedano.web.frame import SiteName
from sedano.web.markup import UNCLOSED, VOID
from sedano.web.respond import Response, Site, respond
from sedano.web.server import site
from sedano.web.visitors import FORM, PageRequest, Visitors

NASTY = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>&lt;\x1b[2J\u202e\n\x00</textarea></title>-->"
NAME = "shopfront.\"'><svg/onload=alert(3)>"
ID = 'a/../b?x=1&y=2#z%00"><script>alert(4)</script>'
LOST = 'lost-"><script>alert(5)</script>'
"""The id of the task whose message is parked."""
app = Sedano("shopfront", queues=("default", "mail"))
PORT = 8_765
SPREAD_S = 60
PAGES = (
    "/", "/tasks", "/tasks?q=name:shopfront.*&days=7", "/tasks?q=key:order-7",
    "/task?id=odd", "/task?id=order", "/task?id=later", "/task?id=odd&hide=1",
    "/failures", "/throughput", "/throughput?q=24h",
    "/queues", "/queues?q=tenants", "/workers", "/locks?q=nightly+other", "/circuits", "/schedules", "/canvas?id=order",
    "/canvas?id=order&failed=1", "/task?id=unknown", "/canvas?id=unknown",
    "/changes?days=7",
    "/events", "/events?q=task-failed&days=1", "/cost", "/trace?id=order", "/trace?id=odd&hide=1&days=7", "/trace?id=unknown",
)  # fmt: skip
"""An address of every page."""


@app.task(name="shopfront.charge", retry=False, circuit=Breaker(failures=100, shared=True))
def charge(n: int) -> int:
    """Charge a card; an odd one is refused."""
    if n % 2:
        raise ValueError(f"{n} {NASTY}")
    return n


@app.task(name=NAME, retry=False)
def nasty(text: str) -> str:
    """Return a text that is not HTML."""
    return text


@app.task(name="shopfront.place")
def place(number: int) -> None:
    """Publish so many charges."""
    group(charge.s(n) for n in range(number)).apply_async()


@app.task(name="shopfront.spread")
def spread(number: int) -> None:
    """Publish so many charges, every second one for a later moment."""
    group(charge.s(2 * n).set(countdown=SPREAD_S * (n % 2)) for n in range(number)).apply_async()


@app.task(name="shopfront.weigh", concurrency=2)
def weigh(n: int) -> int:
    """Run twice at a time."""
    return n


@app.periodic(every(3_600), name="shopfront.dust")
def dust() -> None:
    """Dust the shelves."""


class Shop:
    """The pages of an app in a world in memory."""

    def __init__(self, world: testing.World, app: Sedano = app, *, actions: bool = False) -> None:
        """Answer for *app* without a server. *actions*: the pages may change the world; each change is a line of `noted`."""
        self.world, self.visitors = world, Visitors(PORT, "token", "session")
        self.noted: list[str] = []
        self.site: Site = site(app, SiteName(app.name, "memory"), Changes(app, self.noted.append) if actions else None)

    def get(self, target: str, method: str = "GET", body: bytes | None = b"", **headers: str) -> Response:
        """Return the answer to the browser that has opened the pages."""
        known = {"host": f"127.0.0.1:{PORT}", "cookie": f"sedano-{PORT}=session", **headers}
        asked: Mapping[str, tuple[str, ...]] = {name.replace("_", "-"): (value,) for name, value in known.items()}
        return respond(PageRequest(method, target, asked, body), self.site, self.visitors)

    def post(self, target: str, fields: Mapping[str, str], **headers: str) -> Response:
        """Send a form as the browser does."""
        own = {"origin": f"http://127.0.0.1:{PORT}", "sec_fetch_site": "same-origin", "content_type": FORM, **headers}
        return self.get(target, "POST", urlencode(fields).encode(), **own)

    def token(self, target: str) -> str:
        """Return the token of the preview at *target*."""
        (token,) = [one["value"] for tag, one in Elements(self.html(target)).found if one.get("name") == "token"]
        return str(token)

    def change(self, target: str, reason: str = "a test", **fields: str) -> Response:
        """Open the preview at *target* and confirm it."""
        return self.post(target, {"token": self.token(target), "reason": reason, **fields})

    def html(self, target: str) -> str:
        """Return the text of a page."""
        return self.get(target).body.decode()


@contextmanager
def opened(*, actions: bool = False) -> Iterator[Shop]:
    """The pages after some tasks ran: failures, a canvas, one that waits, a hostile id, a pause and a lock that is held.

    *actions*: the pages may change the world, and a message is parked.
    """
    with testing.world(app) as world:
        charge.apply_async((3,), task_id="odd")
        charge.apply_async((5,), task_id=ID)
        nasty.apply_async((NASTY,), task_id="nasty")
        place.apply_async((16,), task_id="order")
        if actions:
            app.send_task("shopfront.gone", task_id=LOST)
        world.drain()
        charge.apply_async((2,), task_id="later", countdown=3_600)
        app.control.pause(queue="mail")
        with app.lock("nightly", duration=60):
            yield Shop(world, actions=actions)


class Elements(HTMLParser):
    """Reads a document and fails where elements are not closed in their order."""

    def __init__(self, text: str) -> None:
        """Read *text*."""
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, Any]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element; its attributes have different names."""
        assert len({name for name, _ in attrs}) == len(attrs), (tag, attrs)
        self.found.append((tag, dict(attrs)))
        assert tag not in VOID, tag
        self._end(tag in UNCLOSED)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element without children."""
        assert tag in VOID, tag
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Close the element that was opened last."""
        self._end(tag == "tr")
        assert self.open.pop() == tag

    def _end(self, may: bool) -> None:
        """Close the cell that ends where the next one begins or where its row ends."""
        if may and self.open[-1] in UNCLOSED:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.texts.append(data)

    @property
    def text(self) -> str:
        """All text of the document."""
        return "".join(self.texts)
