"""The place of a program's spool, and the hosts that have none."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

NAME = "spool.db"
OFF = "off"
"""The value of SEDANO_SPOOL that turns the spool off."""
_BEHIND = "behind a publisher"


def home() -> Path:
    """Return the directory of all spools: SEDANO_SPOOL, by default in the user's own state directory."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(os.environ.get("SEDANO_SPOOL") or Path(state) / "sedano" / "spool")


def place(app: str) -> Path | None:
    """Return the directory of *app*'s spool for the deployment that the environment names; None on a host that has none.

    On Lambda a disk is not durable: a sandbox is frozen after its invocation, and its stored messages may never be sent. Programs behind a
    publisher (SEDANO_PUBLISHER) have a directory of their own: otherwise they would give it again what it has stored. It is the same for
    every address, unless the address alone says which deployment it is (without SEDANO_QUEUES).
    """
    if os.environ.get("SEDANO_SPOOL") == OFF or os.environ.get("AWS_LAMBDA_FUNCTION_NAME"):
        return None
    queues, publisher = _queues(os.environ), os.environ.get("SEDANO_PUBLISHER", "")
    return home() / quote(app, safe="").replace(".", "%2E") / _digest(queues + (_BEHIND if queues and publisher else publisher))


def deployment_digest(environment: Mapping[str, str]) -> str:
    """Return a name of the deployment that *environment* describes."""
    return _digest(_queues(environment))


def _queues(environment: Mapping[str, str]) -> str:
    return environment.get("SEDANO_QUEUES", "")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
