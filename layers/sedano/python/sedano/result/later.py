"""What few programs need of results, imported when it is asked for: an event loop, a drawing, a saved group."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator
from typing import Any


def awaited(get: Callable[[], Any]) -> Generator[Any, None, Any]:
    """Return what `await` waits for: *get*, called on a thread, so that the event loop goes on."""
    found: Generator[Any, None, Any] = importlib.import_module("asyncio").to_thread(get).__await__()
    return found


def graph_of(result: Any) -> Any:
    """Return the `Graph` of everything that *result* knows of."""
    return importlib.import_module("sedano.result.graph").graph_of(result)


def save(group: Any) -> None:
    """See `sedano.result.saving`."""
    importlib.import_module("sedano.result.saving").save(group)


def restore(group_id: str, outlet: Any) -> Any:
    """See `sedano.result.saving`."""
    return importlib.import_module("sedano.result.saving").restore(group_id, outlet)


def delete(group: Any) -> None:
    """See `sedano.result.saving`."""
    importlib.import_module("sedano.result.saving").delete(group.id, group.outlet)
