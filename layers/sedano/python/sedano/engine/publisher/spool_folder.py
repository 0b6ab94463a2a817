"""The place of a program's spool, and the hosts that have none."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from urllib.parse import quote

NAME = "spool.db"
OFF = "off"
"""The value of SEDANO_SPOOL that turns the spool off."""


def home() -> Path:
    """Return the directory of all spools: SEDANO_SPOOL, by default in the user's own state directory."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(os.environ.get("SEDANO_SPOOL") or Path(state) / "sedano" / "spool")


def place(app: str) -> Path | None:
    """Return the directory of *app*'s spool for the deployment that the environment names; None on a host that has none.

    On Lambda a disk is not durable: a sandbox is frozen after its invocation, and its stored messages may never be sent.
    """
    if os.environ.get("SEDANO_SPOOL") == OFF or os.environ.get("AWS_LAMBDA_FUNCTION_NAME"):
        return None
    deployment = hashlib.sha256(os.environ.get("SEDANO_QUEUES", "").encode()).hexdigest()[:16]
    return home() / quote(app, safe="").replace(".", "%2E") / deployment
