"""A document as its sinks receive it. Pure.

A document is the result of a task, or an object of the user's domain (CEP, Data Sources and Sinks). Every sink receives the same object,
whose `id` makes a second delivery recognisable: tables and buckets write it only where the id is not there yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sedano.model.messages import timestamps
from sedano.model.messages.message import Document

Content = Mapping[str, Any]
"""A document as a sink receives it: see `content_of`."""


def content_of(document: Document) -> dict[str, Any]:
    """Return the content of *document* for its sinks: its id, its name, the task's id, its source, its time (RFC 3339) and its value."""
    return {
        "id": document.id,
        "name": document.task,
        "task_id": document.task_id,
        "source": document.source,
        "time": timestamps.write(document.time),
        "value": document.value,
    }
