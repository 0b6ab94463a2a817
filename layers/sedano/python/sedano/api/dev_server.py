"""How programs find the `sedano dev` of their project: by the file `.sedano/dev.json` in their directory or in one above it.

`sedano dev` writes the file when its worker is ready. While it runs it holds a lock on `.sedano/dev.lock`. The operating system releases
the lock when the process ends, so the file of a killed process is recognised as stale and raises an error.

A file that another user owns or can write to is ignored: it names the database that a program publishes to.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from sedano.aws.machine import SystemClock, SystemEntropy
from sedano.aws.telemetry_choice import program_telemetry
from sedano.errors import ConfigurationError
from sedano.ports import Ports
from sedano.sqlite.deployment import connect

FOLDER, FILE, LOCK = ".sedano", "dev.json", "dev.lock"
VERSION = 1
SWITCH, OFF = "SEDANO_DEV", "off"
"""The variable that keeps a program from looking for `sedano dev`, and its value."""

class DevServer(NamedTuple):
    """A running or ended `sedano dev`: its process, the *app* that it loads, its *database*, *queues*, and the URL of its *webhooks*."""

    pid: int
    app: str
    database: str
    queues: tuple[str, ...]
    webhooks: str = ""
    started: float = 0.0


def ports_beside(environment: Mapping[str, str], start: Path) -> Ports | None:
    """Return the ports of the `sedano dev` that runs in *start* or above it; None if none runs, or *environment* turns this off.

    Raises:
        ConfigurationError: the file is stale, or cannot be read.
    """
    if environment.get(SWITCH) == OFF:
        return None
    home = found(start)
    if home is None:
        return None
    server = read(home)
    if not is_running(home):
        raise ConfigurationError(
            f"{home / FILE} is stale: the `sedano dev` of process {server.pid} has ended; start `sedano dev` in {home.parent} again, "
            f"delete the file, or set {SWITCH}={OFF}"
        )
    ports = connect(Path(server.database), server.queues, SystemClock(), SystemEntropy(), program_telemetry(environment, {}))
    ports.telemetry.log("info", "connected to sedano dev", database=server.database, process=server.pid)
    return ports


def found(start: Path) -> Path | None:
    """Return the nearest `.sedano` with the file, in *start* or above it; None if no such file of this user exists."""
    try:
        here = start.resolve()
    except OSError:  # the working directory was deleted
        return None
    return next((folder / FOLDER for folder in (here, *here.parents) if _is_own(folder / FOLDER) and _is_own(folder / FOLDER / FILE)), None)


def read(home: Path) -> DevServer:
    """Return the file in *home*.

    Raises:
        ConfigurationError: it cannot be read.
    """
    path = home / FILE
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
        if given["version"] != VERSION:
            raise ValueError(f"version {given['version']!r}")
        server = DevServer(
            pid=int(given["pid"]), app=str(given["app"]), database=str(given["database"]), queues=tuple(map(str, given["queues"])),
            webhooks=str(given["webhooks"]), started=float(given["started"]),
        )  # fmt: skip
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as wrong:
        words = f"{path} cannot be read ({type(wrong).__name__}: {wrong})"
        raise ConfigurationError(f"{words}; delete it, and start `sedano dev` in {home.parent} again") from None
    return server


def written(server: DevServer) -> str:
    """Return *server* as the text of the file."""
    return json.dumps({"version": VERSION, **server._asdict()}, indent=1) + "\n"


def is_running(home: Path) -> bool:
    """Return whether another process holds the lock in *home*."""
    try:
        lock = os.open(home / LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        os.lockf(lock, os.F_TEST, 0)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def _is_own(path: Path) -> bool:
    try:
        mode = path.lstat()
    except OSError:
        return False
    return mode.st_uid == os.geteuid() and not stat.S_ISLNK(mode.st_mode) and not mode.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
