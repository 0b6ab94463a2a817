"""The datagrams of the systemd journal's native protocol: one for each log line. Pure.

A field is `NAME=value` and a newline. A value with a newline is sent as NAME, a newline, its length in 8 bytes (little endian), the value
and a newline. The fields of a caller become SEDANO_NAME, so none of them can replace a field of the journal's own.
"""

from __future__ import annotations

import re
import struct

from sedano.model.telemetry.log_entries import LogEntry, cut

PRIORITIES = {"debug": 7, "info": 6, "warning": 4, "error": 3}
"""The priority of a level, as syslog numbers them."""
LONGEST_NAME = 64
"""How many characters the name of a field may have."""
PREFIX = "SEDANO_"
_OTHER = re.compile(r"[^A-Z0-9_]")


def journal_datagram(entry: LogEntry, service: str) -> bytes:
    """Return the datagram of *entry*, with *service* as its identifier."""
    own = {"MESSAGE": entry.message, "PRIORITY": str(PRIORITIES[entry.level]), "SYSLOG_IDENTIFIER": service}
    fields = {_name(name): str(value) for name, value in entry.fields.items()}
    return b"".join(_field(name, cut(value)) for name, value in {**own, **fields}.items())


def _name(name: str) -> str:
    return (PREFIX + _OTHER.sub("_", name.upper()))[:LONGEST_NAME]


def _field(name: str, value: str) -> bytes:
    data = value.encode("utf-8", "replace")
    if b"\n" in data:
        return name.encode() + b"\n" + struct.pack("<Q", len(data)) + data + b"\n"
    return name.encode() + b"=" + data + b"\n"
