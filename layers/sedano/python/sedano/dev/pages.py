"""The pages of `sedano web` inside `sedano dev`, served by the supervisor: a reload, the death of a worker, or code that does not load does
not affect them.

The port is bound at once, and the address is printed with it. Everything else is loaded at the first visit, so that pages without a visitor
delay no worker.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sedano.web.visitors import Visitors

if TYPE_CHECKING:
    from sedano.web.loopback import LoopbackServer
    from sedano.web.respond import Response
    from sedano.web.visitors import PageRequest

WHERE = "sedano dev"


class DevPages:
    """The pages of one `sedano dev`."""

    def __init__(self, listening: socket.socket, database: Path, reference: str, noted: Callable[[str], None]) -> None:
        """Serve the stage in *database* on *listening*, after `begin`; *reference* names the app until a worker reports it.

        The pages may change the stage, which is a file of this project; each change is reported to *noted*.
        """
        self.listening, self._database, self._noted = listening, database, noted
        self._visitors = Visitors(listening.getsockname()[1])
        self.address = self._visitors.address
        """The address that a person opens; it works once."""
        self._report: Mapping[str, Any] = {"name": reference.partition(":")[2] or reference, "queues": ["default"], "tasks": {}}
        self._server: LoopbackServer | None = None
        self._lock = threading.Lock()
        self._made: tuple[Mapping[str, Any], Callable[[PageRequest], Response]] | None = None

    def declare(self, report: Mapping[str, Any]) -> None:
        """Show the app of *report* (`sedano.dev.declarations.written`) from now on."""
        self._report = report

    def begin(self) -> None:
        """Accept connections, on a thread."""
        from sedano.web.server import PageServer

        self._server = PageServer(self.listening, self._respond)
        self._server.begin()

    def end(self) -> None:
        """Accept no more connections."""
        if self._server is not None:
            self._server.end()

    def _respond(self, request: PageRequest) -> Response:
        return self._answering()(request)

    def _answering(self) -> Callable[[PageRequest], Response]:
        """Return the function that answers requests with the app that was declared last."""
        from sedano.dev.declarations import stand_in
        from sedano.web.changes import Changes
        from sedano.web.frame import SiteName
        from sedano.web.server import answering, site

        with self._lock:
            report = self._report
            if self._made is None or self._made[0] is not report:
                app = stand_in(report, self._database)
                pages = site(app, SiteName(app.name, WHERE), Changes(app, self._noted))
                self._made = report, answering(pages, self._visitors)
            return self._made[1]
