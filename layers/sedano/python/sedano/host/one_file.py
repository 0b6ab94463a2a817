"""A deployment in one SQLite file, with this machine's time and randomness, for `Sedano(connect="sedano.host.one_file:connect")`.

`SEDANO_FILE` is the file, and `SEDANO_FILE_QUEUES` names the command queues with commas between them; without it there is `default`. Every
program and every worker of the deployment names the same file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sedano.aws.machine import SystemClock, SystemEntropy
from sedano.aws.telemetry_choice import program_telemetry
from sedano.errors import ConfigurationError
from sedano.ports import Ports, Telemetry, command_queue
from sedano.sqlite.deployment import VISIBILITY_S
from sedano.sqlite.deployment import connect as over
from sedano.sqlite.queues import later
from sedano.sqlite.store import Store

FILE, QUEUES = "SEDANO_FILE", "SEDANO_FILE_QUEUES"


def connect() -> Ports:
    """Return the ports over the file that the environment names.

    Raises:
        ConfigurationError: it does not name a file.
    """
    path = os.environ.get(FILE, "")
    if not path:
        raise ConfigurationError(f"{FILE} is not set; name the SQLite file of the deployment, such as .sedano/dev.db")
    queues = [name.strip() for name in os.environ.get(QUEUES, "default").split(",")]
    return ports(Path(path), queues)


def ports(
    path: Path, queues: Sequence[str] = ("default",), visibility: float = VISIBILITY_S, telemetry: Telemetry | None = None
) -> Ports:  # fmt: skip
    """Return the ports over the file at *path*; a received message stays invisible for *visibility* seconds.

    *telemetry* takes logs and metrics; by default the adapters that the environment names, else Python's logging.
    """
    return over(path, queues, SystemClock(), SystemEntropy(), telemetry or program_telemetry(os.environ, {}), visibility=visibility)


def waiting_for_later(path: Path, queues: Sequence[str]) -> int:
    """Return how many messages of the command *queues* in the file at *path* are not due yet."""
    store, now = Store(path), SystemClock().now()
    return sum(later(store, command_queue(queue), now) for queue in queues)
