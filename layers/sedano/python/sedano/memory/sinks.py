"""Sinks in memory: each keeps the first document of each id."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from sedano.model.canonical_json import canonical_json
from sedano.model.sinks.content import Content


class MemorySinks:
    """The sinks of a test, which all exist and begin empty; a function in `failing` is called before each write, and may raise."""

    def __init__(self) -> None:
        """Start without documents."""
        self.failing: dict[str, Callable[[Content], None]] = {}
        self._kept: dict[str, dict[str, str]] = {}
        self._lock = threading.Lock()

    def write(self, sink: str, content: Content) -> bool:
        """Keep *content* in *sink*, unless it has a document of this id."""
        if sink in self.failing:
            self.failing[sink](content)
        with self._lock:
            kept = self._kept.setdefault(sink, {})
            is_new = content["id"] not in kept
            kept.setdefault(content["id"], canonical_json(content))
        return is_new

    def documents(self, sink: str) -> list[dict[str, Any]]:
        """Return the documents of *sink*, in the order in which they were written."""
        return [json.loads(text) for text in self._kept.get(sink, {}).values()]
