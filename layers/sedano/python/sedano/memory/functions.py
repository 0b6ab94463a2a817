"""Functions in memory: Python callables, which get and return what a Lambda function does."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from sedano.errors import BoxMissing
from sedano.ports.functions import Called


class MemoryFunctions:
    """The functions of a test; add them to `handlers`."""

    def __init__(self) -> None:
        """Start without functions."""
        self.handlers: dict[str, Callable[[Any], Any]] = {}

    def call(self, function: str, payload: bytes, seconds: float) -> Called:
        """Call *function* once, in this thread; *seconds* is not enforced."""
        handler = self.handlers.get(function)
        if handler is None:
            raise BoxMissing(f"function {function!r}: this world does not have it; write world.function({function!r}, handler)")
        try:
            returned = handler(json.loads(payload))
        except Exception as error:  # noqa: BLE001 - Lambda reports every error of a function this way
            report = {"errorMessage": str(error), "errorType": type(error).__name__, "stackTrace": []}
            return Called(json.dumps(report).encode(), failed=True)
        return Called(json.dumps(returned).encode())
