"""Serves the pages of a stage on this machine: the work of `sedano web`."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Callable

from sedano.app import Sedano
from sedano.cli.exits import Exit
from sedano.cli.printer import say, say_json
from sedano.web.changes import Changes
from sedano.web.frame import SiteName
from sedano.web.log_links import LogPlace
from sedano.web.loopback import listener
from sedano.web.server import PageServer, answering, site
from sedano.web.visitors import Visitors


def run(
    app: Sedano, where: str, port: int, opens: Callable[[str], bool] | None = webbrowser.open, *, actions: bool = False,
    as_json: bool = False, logs: LogPlace | None = None,
) -> Exit:  # fmt: skip
    """Serve the pages of *app* until Ctrl-C. The first line on stdout is their address; *opens* opens it; None opens nothing.

    *actions*: the pages may change the stage; each change is printed to stderr. *as_json*: the first line is an object. *logs*: the place
    of the log lines of the stage's worker.

    Raises:
        UsageError: another program listens on *port*.
        KeyboardInterrupt: Ctrl-C.
    """
    with listener(port) as listening:
        visitors = Visitors(listening.getsockname()[1])
        changes = Changes(app, lambda text: say(f"sedano web: {text}", err=True)) if actions else None
        server = PageServer(listening, answering(site(app, SiteName(app.name, where, logs), changes), visitors))
        address = visitors.address
        say_json({"address": address, "actions": actions}) if as_json else say(address)
        sys.stdout.flush()
        say("sedano web: the address works once, in one browser; Ctrl-C stops the server", err=True)
        if changes is not None:
            _look(changes)
            say("sedano web: --actions: the pages can change the stage, with your credentials", err=True)
        if opens is not None and not opens(address):
            say("sedano web: no browser was found here; open the address yourself", err=True)
        try:
            server.serve()
        finally:
            server.server_close()
    return Exit.DONE


def _look(changes: Changes) -> None:
    """Find missing permissions and print them."""
    changes.look()
    for action in sorted({*changes.missing.values()}):
        verbs = ", ".join(verb for verb, lacking in changes.missing.items() if lacking == action)
        say(f"sedano web: the credentials lack {action} for {verbs}", err=True)
