"""The lanes of a process of workers."""

from __future__ import annotations

from typing import NamedTuple

from sedano.engine.worker.pipeline import Worker
from sedano.host.message_buffer import Unit


class LaneSettings(NamedTuple):
    """How a process runs commands: *concurrency* bodies at once; *drain*: seconds until it has ended after it was asked to; *poll*:
    seconds for which a receiver waits for a message. It ends after *most_tasks* messages and links of chains that ran inline, and when it
    uses more than *most_memory* bytes (0: never).
    """

    concurrency: int = 10
    drain: float = 25.0
    poll: float = 5.0
    most_tasks: int = 0
    most_memory: int = 0


class Lane:
    """A worker, and the *units* that it works on (one or none). *is_cut*: its body does not end, so another lane has taken its place."""

    __slots__ = ("is_cut", "units", "worker")

    def __init__(self, worker: Worker) -> None:
        """Work on nothing yet."""
        self.worker, self.units, self.is_cut = worker, list[Unit](), False
