"""Reports to the service manager that started a process of workers: the protocol of systemd's `sd_notify`, without its library.

systemd names a socket in NOTIFY_SOCKET for a unit with `Type=notify`. The variable is taken out of the environment, so that a process which
a body starts cannot report in our place.
"""

from __future__ import annotations

import socket
from collections.abc import MutableMapping

VARIABLE = "NOTIFY_SOCKET"
READY, STOPPING = "READY=1", "STOPPING=1"


class ServiceManager:
    """The service manager that *environment* names, or none."""

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        """Report nothing yet."""
        path = environment.pop(VARIABLE, "")
        self._address = f"\0{path[1:]}" if path.startswith("@") else path

    def say(self, *states: str) -> None:
        """Report *states*; a manager that does not listen misses them, and the workers go on."""
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sends:
                sends.connect(self._address)
                sends.sendall("\n".join(states).encode())
        except OSError:
            return
