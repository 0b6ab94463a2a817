"""The channel between the supervisor and a worker: a socket pair on which each side writes lines of JSON.

The supervisor sends the arguments of the worker first, with the listening socket, and later the request to stop. The worker reports that
it is ready, the deadline of its batch, and with `--once` the counts of its tasks. If the channel closes, the other process has ended, for
whatever reason.
"""

from __future__ import annotations

import json
import os
import socket
from collections import deque
from collections.abc import Sequence
from typing import Any

GIVEN, READY, DEADLINE, STOP, DRAINED = "given", "ready", "deadline", "stop", "drained"
_MOST_DESCRIPTORS = 4


class Channel:
    """One end of the channel."""

    def __init__(self, connection: socket.socket) -> None:
        """Use *connection*."""
        self.connection = connection
        self.descriptors: list[int] = []
        """The file descriptors that have arrived."""
        self._rest = b""
        self._rows: deque[dict[str, Any]] = deque()

    def send(self, kind: str, descriptors: Sequence[int] = (), **fields: Any) -> None:
        """Send one line, and copies of file *descriptors* with it; do nothing if the other process has ended."""
        data = json.dumps({"kind": kind, **fields}, separators=(",", ":")).encode() + b"\n"
        try:
            if descriptors:
                data = data[socket.send_fds(self.connection, [data], descriptors) :]
            self.connection.sendall(data)
        except OSError:
            return

    def arrived(self) -> list[dict[str, Any]] | None:
        """Return the lines that have arrived, waiting for some; None when the other end is closed."""
        try:
            data, descriptors, _, _ = socket.recv_fds(self.connection, 65_536, _MOST_DESCRIPTORS)
        except OSError:
            return None
        if not data:
            return None
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        self.descriptors += descriptors
        *rows, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(row) for row in rows]

    def next(self) -> dict[str, Any] | None:
        """Return the next line, waiting for it; None when the other end is closed."""
        while not self._rows:
            rows = self.arrived()
            if rows is None:
                return None
            self._rows.extend(rows)
        return self._rows.popleft()

    def close(self) -> None:
        """Close this end."""
        self.connection.close()
