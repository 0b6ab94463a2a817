"""Reports to the service manager that started a process of workers: the protocol of systemd's `sd_notify`, without its library.

systemd names a socket in NOTIFY_SOCKET for a unit with `Type=notify`. With `WatchdogSec=` it also waits for signs of life, and ends a
process that sends none. The variables are removed from the environment, so that a process that a body starts cannot report in place of
ours.
"""

from __future__ import annotations

import os
import socket
from collections.abc import MutableMapping

VARIABLE = "NOTIFY_SOCKET"
WATCHDOG_US, WATCHDOG_PID = "WATCHDOG_USEC", "WATCHDOG_PID"
"""The variables of systemd for the microseconds of `WatchdogSec=`, and for the id of the process that it watches."""
READY, STOPPING, ALIVE = "READY=1", "STOPPING=1", "WATCHDOG=1"


class ServiceManager:
    """The service manager that *environment* names, or none."""

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        """Report nothing yet."""
        path = environment.pop(VARIABLE, "")
        self._address = f"\0{path[1:]}" if path.startswith("@") else path
        microseconds, process = environment.pop(WATCHDOG_US, ""), environment.pop(WATCHDOG_PID, "")
        is_ours = microseconds.isdigit() and int(microseconds) > 0 and process in ("", str(os.getpid()))
        self.watchdog = int(microseconds) / 1_000_000 if path and is_ours else None
        """How many seconds it waits for a sign of life; None: it does not wait for one."""

    def say(self, *states: str) -> None:
        """Report *states*; a manager that does not listen, or does not read, misses them: the workers do not wait for it."""
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sends:
                sends.setblocking(False)
                sends.connect(self._address)
                sends.sendall("\n".join(states).encode())
        except OSError:
            return
