"""Logs for the systemd journal, by its native protocol: each line is one datagram, and its fields can be searched with `journalctl`."""

from __future__ import annotations

import array
import errno
import fcntl
import os
import socket

from sedano.model.telemetry.journal_entries import journal_datagram
from sedano.model.telemetry.log_entries import LogEntry

SOCKET = "/run/systemd/journal/socket"
_NAME = "sedano-log"


class JournalLogs:
    """Sends each line to the journal's socket.

    Args:
        service: the identifier of the lines: `journalctl -t sedano-worker`.
        path: the socket.
    """

    def __init__(self, service: str, path: str = SOCKET) -> None:
        """Send nothing yet."""
        self._service, self._path = service, path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)

    def write(self, entry: LogEntry) -> None:
        """Send the line; a journal that is away, or reads too slowly, raises OSError, and the line is kept."""
        data = journal_datagram(entry, self._service)
        try:
            self._socket.sendto(data, self._path)
        except OSError as refused:
            if refused.errno != errno.EMSGSIZE:
                raise
            self._send_as_file(data)

    def _send_as_file(self, data: bytes) -> None:
        """Send a line that is too long for a datagram as a sealed file in memory, as the journal expects."""
        file = os.memfd_create(_NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            with os.fdopen(os.dup(file), "wb") as out:
                out.write(data)
            seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, seals)
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file]))]
            self._socket.sendmsg([], rights, 0, self._path)
        finally:
            os.close(file)
