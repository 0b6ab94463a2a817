"""Direct calls in memory: the worker of this process answers in the thread of its caller."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

from sedano.errors import ConfigurationError


class MemoryDirectCalls:
    """Reaches the worker whose `answer` a test sets: it takes the request as JSON values, and the seconds."""

    def __init__(self) -> None:
        """Reach no worker yet."""
        self.answer: Callable[[Any, float], dict[str, Any]] | None = None

    def call(self, request: str, seconds: float) -> bytes:
        """Let the worker answer; *seconds* is not enforced."""
        if self.answer is None:
            raise ConfigurationError("invoke: this deployment in memory has no worker; use sedano.testing.world(app)")
        return json.dumps(copy_context().run(self.answer, json.loads(request), seconds)).encode()
