"""A process of workers that runs on threads of a test."""

import threading
import time
from collections.abc import Sequence

from sedano import Sedano
from sedano.host.engine_process import ProcessSettings
from sedano.host.worker_process import LaneSettings, WorkerProcess
from sedano.model.beats import Allowances
from sedano.ports import Ports

SECONDS = 60.0
VISIBILITY_S = 6
PATIENT = Allowances()


class Process:
    """A process of workers that runs on threads of the test."""

    def __init__(
        self, app: Sedano, ports: Ports, *, concurrency: int = 4, drain: float = 20.0, queues: Sequence[str] | None = None,
        allowed: Allowances = PATIENT,
    ) -> None:  # fmt: skip
        """Start it."""
        settings = ProcessSettings(seconds=SECONDS * 60, visibility=VISIBILITY_S, queues=queues, allowed=allowed)
        self.process = WorkerProcess(app, ports, settings, LaneSettings(concurrency, drain, 0.1))
        self._thread = threading.Thread(target=self.process.run)
        self._thread.start()

    def end(self) -> float:
        """Stop it, and return how many seconds its end took."""
        began = time.monotonic()
        self.process.stop()
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()
        return time.monotonic() - began
