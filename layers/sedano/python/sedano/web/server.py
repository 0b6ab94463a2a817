"""The HTTP server of the pages: it reads requests and sends what `respond` decides."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

from sedano.app import Sedano
from sedano.views.screens import Screen, ScreenQuery, screen
from sedano.web.frame import SiteName
from sedano.web.loopback import LoopbackHandler, LoopbackServer
from sedano.web.respond import HEADERS, Response, Site, respond
from sedano.web.visitors import PageRequest, Visitors


def site(app: Sedano, place: SiteName) -> Site:
    """Return the pages of *app*. One page is read at a time: two at once make neither faster and both dearer."""
    lock = threading.Lock()

    def read(asked: ScreenQuery) -> Screen:
        with lock:
            return screen(app, asked)

    return Site(read, place)


class PageServer(LoopbackServer):
    """Answers on *listening*. Its end waits for no page: a store may take long to answer."""

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
        names = {name.lower() for name in self.headers}
        answer = self.server.answer(PageRequest(self.command, self.path, {name: tuple(self.headers.get_all(name, ())) for name in names}))
        self.send(answer.status, {**HEADERS, **answer.headers}, answer.body)


def answering(pages: Site, visitors: Visitors) -> Callable[[PageRequest], Response]:
    """Return the answer to each request for *pages*."""
    return lambda request: respond(request, pages, visitors)
