"""One lane of a process of workers."""

from __future__ import annotations

from sedano.engine.worker.pipeline import Worker
from sedano.host.message_buffer import Unit


class Lane:
    """A worker, and the *units* that it works on (one or none). *is_cut*: its body does not end, so another lane has taken its place."""

    __slots__ = ("is_cut", "units", "worker")

    def __init__(self, worker: Worker) -> None:
        """Work on nothing yet."""
        self.worker, self.units, self.is_cut = worker, list[Unit](), False
