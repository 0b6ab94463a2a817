"""Serves the pages of a stage on this machine: what `sedano web` does."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Callable

from sedano.app import Sedano
from sedano.cli.exits import Exit
from sedano.cli.printer import say
from sedano.web.frame import SiteName
from sedano.web.loopback import listener
from sedano.web.server import PageServer, answering, site
from sedano.web.visitors import Visitors


def run(app: Sedano, where: str, port: int, opens: Callable[[str], bool] | None = webbrowser.open) -> Exit:
    """Serve the pages of *app* until Ctrl-C. The first line on stdout is their address; *opens* opens it, None: nothing does.

    Raises:
        UsageError: another program listens on *port*.
        KeyboardInterrupt: Ctrl-C.
    """
    with listener(port) as listening:
        visitors = Visitors(listening.getsockname()[1])
        server = PageServer(listening, answering(site(app, SiteName(app.name, where)), visitors))
        address = visitors.address
        say(address)
        sys.stdout.flush()
        say("sedano web: the address works once, in one browser; Ctrl-C ends the pages", err=True)
        if opens is not None and not opens(address):
            say("sedano web: no browser was found here; open the address yourself", err=True)
        try:
            server.serve()
        finally:
            server.server_close()
    return Exit.DONE
