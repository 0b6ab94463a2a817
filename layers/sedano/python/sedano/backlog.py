"""The backlog of a program: where its spool is, and whether this host has one. The database itself is loaded when it is first needed.

`of` answers without touching a disk, so a program that never needs its spool pays for a look whether a file exists.
"""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from sedano.engine.drafts import Addressed
    from sedano.engine.publisher import Backlog, Stored

NAME = "spool.db"
OFF = "off"
"""What SEDANO_SPOOL says where nothing is to be stored."""


def home() -> Path:
    """Return the directory of all spools: SEDANO_SPOOL, by default in the user's own state directory."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(os.environ.get("SEDANO_SPOOL") or Path(state) / "sedano" / "spool")


def place(app: str) -> Path | None:
    """Return the directory of *app*'s spool for the deployment that the environment names; None on a host that has none.

    On Lambda a disk keeps no promise: a sandbox is frozen after its invocation, and what it stored may never be sent.
    """
    if os.environ.get("SEDANO_SPOOL") == OFF or os.environ.get("AWS_LAMBDA_FUNCTION_NAME"):
        return None
    deployment = hashlib.sha256(os.environ.get("SEDANO_QUEUES", "").encode()).hexdigest()[:16]
    return home() / quote(app, safe="").replace(".", "%2E") / deployment


def of(app: str) -> DiskBacklog | None:
    """Return the backlog of *app* on this host's disk; None where there is none (`place`)."""
    found = place(app)
    return None if found is None else DiskBacklog(found)


class DiskBacklog:
    """A backlog (`sedano.engine.publisher.Backlog`) over a spool, which is loaded when it is first needed."""

    def __init__(self, folder: Path) -> None:
        """Store below *folder*; nothing is made yet."""
        self._folder = folder

    @cached_property
    def _spool(self) -> Backlog:
        spool: Backlog = importlib.import_module("sedano.spool").Spool(self._folder)
        return spool

    def exists(self) -> bool:
        """Tell whether anything was ever stored."""
        return (self._folder / NAME).exists() or any(self._folder.glob("[!u]*.jsonl"))

    def keep(self, messages: Sequence[Addressed], now: float) -> None:
        """Keep all of *messages*, or none."""
        self._spool.keep(messages, now)

    def take(self, most: int, now: float) -> Sequence[Stored]:
        """Take up to *most* messages for a while, the oldest first."""
        return self._spool.take(most, now)

    def done(self, taken: Sequence[Stored]) -> None:
        """Forget messages that were sent."""
        self._spool.done(taken)

    def give_back(self, taken: Sequence[Stored]) -> None:
        """Leave messages that could not be sent to whoever sends next."""
        self._spool.give_back(taken)
