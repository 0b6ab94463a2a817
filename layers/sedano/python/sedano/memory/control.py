"""The control record, in memory."""

from __future__ import annotations

import threading

from sedano.model.cluster.control_record import Changed, ControlRecord


class MemoryControl:
    """The control record of one deployment."""

    def __init__(self) -> None:
        """Start with nothing changed."""
        self._record = ControlRecord()
        self._lock = threading.Lock()

    def read(self) -> ControlRecord:
        """Return the record."""
        with self._lock:
            return self._record

    def change(self, record: ControlRecord, seen: ControlRecord) -> Changed:
        """Write *record* if the control record is still *seen*."""
        with self._lock:
            if self._record.nonce != seen.nonce:
                return Changed(self._record.nonce == record.nonce, self._record)
            self._record = record
            return Changed(True, record)
