"""The HTTP server of the pages: it reads requests and sends what `respond` decides."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

from sedano.app import Sedano
from sedano.views.panels import Screen, ScreenQuery
from sedano.views.screens import screen
from sedano.web.changes import Changes
from sedano.web.frame import SiteName
from sedano.web.loopback import LoopbackHandler, LoopbackServer
from sedano.web.respond import HEADERS, Response, Site, respond
from sedano.web.visitors import PageRequest, Visitors

MOST_BODY_BYTES = 16_384
"""The longest form."""


def site(app: Sedano, place: SiteName, changes: Changes | None = None) -> Site:
    """Return the pages of *app*, which offer *changes*. One page is read at a time: two at once would be slower and cost more."""
    lock = threading.Lock()

    def read(asked: ScreenQuery) -> Screen:
        with lock:
            return screen(app, asked)

    return Site(read, place, changes)


class PageServer(LoopbackServer):
    """Answers on *listening*. It ends without waiting for pages, because a store may take long to answer."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, listening: socket.socket, answer: Callable[[PageRequest], Response]) -> None:
        """Answer requests with *answer*."""
        super().__init__(listening, PageHandler, "sedano-pages")
        self.answer = answer


class PageHandler(LoopbackHandler):
    """One request for a page."""

    server: PageServer

    def respond(self) -> None:
        """Send the answer to one request."""
        headers = {name.lower(): tuple(self.headers.get_all(name, ())) for name in self.headers}
        answer = self.server.answer(PageRequest(self.command, self.path, headers, self._body()))
        self.send(answer.status, {**HEADERS, **answer.headers}, answer.body)

    def _body(self) -> bytes | None:
        """Return the body of a form; None if it is too long or has no length."""
        if self.command != "POST":
            return b""
        length = self.headers.get("content-length", "")
        if self.headers.get("transfer-encoding") or not (length.isascii() and length.isdecimal()) or int(length) > MOST_BODY_BYTES:
            return None
        return self.rfile.read(int(length))


def answering(pages: Site, visitors: Visitors) -> Callable[[PageRequest], Response]:
    """Return the answer to each request for *pages*."""
    return lambda request: respond(request, pages, visitors)
