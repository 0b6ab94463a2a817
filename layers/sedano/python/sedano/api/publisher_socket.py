"""The choice of a program to publish by the publisher process of its host: `SEDANO_PUBLISHER=unix:/run/shop/publisher.sock`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from sedano.engine.publisher.socket_queues import SocketQueues
from sedano.engine.publisher.spool_folder import deployment_digest
from sedano.errors import ConfigurationError
from sedano.ports import Ports, deadlines

VARIABLE = "SEDANO_PUBLISHER"
SCHEME = "unix:"
LONGEST_PATH = 107
"""The most bytes of the path of a socket on Linux."""


def socket_path(address: str) -> str:
    """Return the path of the socket that *address* names.

    Raises:
        ConfigurationError: it is not an address of a socket.
    """
    path = address.removeprefix(SCHEME)
    if not address.startswith(SCHEME) or not path.startswith("/"):
        raise ConfigurationError(f"{VARIABLE}: {address[:80]!r} is not the address of a publisher; write unix:/run/shop/publisher.sock")
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise ConfigurationError(f"{VARIABLE}: the path has more than {LONGEST_PATH} bytes, which no socket may have; use a shorter one")
    return path


def behind(address: str, environment: Mapping[str, str], own: Ports) -> Ports:
    """Return *own* ports with queues behind the publisher at *address*, the value of `SEDANO_PUBLISHER`.

    Raises:
        ConfigurationError: the address is malformed.
    """
    queues = SocketQueues(
        path=socket_path(address), others=lambda: own.queues, bounds=own.queues.bounds,
        deployment=deployment_digest(environment) if environment.get("SEDANO_QUEUES") else "", clock=own.clock,
        telemetry=own.telemetry, patience=deadlines.patience(),
    )  # fmt: skip
    return replace(own, queues=queues)
