"""What few programs need of results, imported when it is asked for: an event loop, a drawing, a saved group."""

from __future__ import annotations

import importlib
from collections.abc import Generator, Iterator
from typing import Any

from sedano.result.waiting import Waits


def awaited(steps: Waits[Any]) -> Generator[Any, None, Any]:
    """Return what `await` waits for: the end of *steps*; see `sedano.result.awaiting`."""
    found: Generator[Any, None, Any] = importlib.import_module("sedano.result.awaiting").finished(steps).__await__()
    return found


def arriving(steps: Iterator[Any]) -> Any:
    """See `sedano.result.awaiting`."""
    return importlib.import_module("sedano.result.awaiting").arriving(steps)


def published(result: Any) -> Any:
    """See `sedano.result.messages`."""
    return importlib.import_module("sedano.result.messages").published(result)


def document(result: Any) -> Any:
    """See `sedano.result.messages`."""
    return importlib.import_module("sedano.result.messages").document(result)


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
