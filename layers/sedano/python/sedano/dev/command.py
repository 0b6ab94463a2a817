"""The work of `sedano dev`: it takes the project's lock, prepares its database and its listening socket, and runs the supervisor."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sedano.dev.folder import DevFolder
from sedano.dev.output import Console
from sedano.dev.pages import DevPages
from sedano.dev.settings import DevSettings
from sedano.dev.supervisor import Supervisor
from sedano.errors import ConfigurationError
from sedano.sqlite.store import Store
from sedano.views.terminal_colour import wants_colour
from sedano.web.loopback import listener


def run(settings: DevSettings, environment: Mapping[str, str] = os.environ) -> int:
    """Run until a signal; return the exit status: 0 after SIGTERM, 130 after Ctrl-C; with *once* that of `Supervisor.run`.

    Raises:
        UsageError: the port is taken, or another `sedano dev` runs in this project.
        ConfigurationError: the project's folder or database cannot be used.
    """
    stream = sys.stderr if settings.json else sys.stdout
    stream.flush()
    console = Console(stream.fileno(), wants_colour(environment, is_terminal=stream.isatty()))
    folder = DevFolder(settings.project)
    folder.acquire()
    try:
        last = folder.last()
        listening = listener(settings.port, _port_of(last.webhooks) if last is not None else 0)
        with listening, served(settings, folder, console) as pages:
            banner(console, settings, folder, folder.set_aside() if settings.fresh else None)
            checked(folder)
            if pages is not None:
                console.say(f"pages {pages.address}")
            supervisor = Supervisor(
                settings, folder, listening, console, last=last, announced=_json if settings.json else _quiet, environment=environment,
                pages=pages,
            )  # fmt: skip
            status = supervisor.run()
    finally:
        folder.release()
    return status


@contextmanager
def served(settings: DevSettings, folder: DevFolder, console: Console) -> Iterator[DevPages | None]:
    """Bind the port of the pages, and close them afterwards; yield None without pages (not requested, or *once*).

    Raises:
        UsageError: another program listens on their port.
    """
    if settings.pages is None or settings.once:
        yield None
        return
    with listener(settings.pages, option="--web-port") as listening:
        pages = DevPages(listening, folder.database, settings.app, console.say)
        try:
            yield pages
        finally:
            pages.end()


def checked(folder: DevFolder) -> None:
    """Open the database.

    Raises:
        ConfigurationError: it cannot be used; the message names `--fresh`.
    """
    try:
        Store(folder.database).rows("SELECT 1")
    except ConfigurationError as wrong:
        raise ConfigurationError(f"{wrong}; `sedano dev --fresh` sets the file aside and starts with an empty one") from wrong


def banner(console: Console, settings: DevSettings, folder: DevFolder, aside: Path | None) -> None:
    """Print the app that runs, and the place of its state."""
    console.say(f"sedano dev: {settings.app} in {settings.code}", "bold")
    if aside is not None:
        console.say(f"the earlier state is kept as {aside.name}", "dim")
    console.say(f"state is kept in {folder.database}; --fresh starts with an empty one", "dim")


def _port_of(url: str) -> int:
    text = url.rpartition(":")[2]
    return int(text) if text.isascii() and text.isdecimal() else 0


def _json(report: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()


def _quiet(_: Mapping[str, Any]) -> None:
    """Print nothing: the console has shown it."""
