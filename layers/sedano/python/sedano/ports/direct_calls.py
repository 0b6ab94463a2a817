"""The port of direct calls: the worker function of a deployment, which a program calls without a queue."""

from __future__ import annotations

from typing import Protocol


class DirectCalls(Protocol):
    """The worker function, as programs reach it."""

    def call(self, request: str, seconds: float) -> bytes:
        """Call the worker once with *request* (`sedano.model.direct_calls`) and return its answer, waiting for at most *seconds*.

        Raises:
            ConfigurationError: the deployment names no worker, it does not exist, or this program may not call it.
            ResultTimeout: it did not answer in time; it may still work.
            Unavailable: the call was throttled, the service is out of reach, or the worker ended without an answer.
        """
