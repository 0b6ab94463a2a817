"""The parts of results that few programs need, imported at their first use: an event loop, a drawing, a saved group."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator
from typing import TYPE_CHECKING, Any, TypeVar

from sedano.result.waits import Steps, Waits

if TYPE_CHECKING:
    from sedano.model.ledger.custom_states import CustomState
    from sedano.model.ledger.records import TaskRecord

T = TypeVar("T")


def awaited(steps: Waits[Any]) -> Generator[Any, None, Any]:
    """Return what `await` waits for: the end of *steps*; see `sedano.result.event_loop`."""
    from sedano.result.event_loop import finished

    return finished(steps).__await__()


def arriving(steps: Steps[T]) -> AsyncIterator[T]:
    """See `sedano.result.event_loop`."""
    from sedano.result import event_loop as awaiting

    return awaiting.arriving(steps)


def published(result: Any) -> Any:
    """See `sedano.result.messages`."""
    from sedano.result import messages

    return messages.published(result)


def document(result: Any) -> Any:
    """See `sedano.result.messages`."""
    from sedano.result import messages

    return messages.document(result)


def custom_state(record: TaskRecord) -> CustomState | None:
    """See `sedano.model.ledger.custom_states`."""
    from sedano.model.ledger.custom_states import custom_state_of

    return custom_state_of(record)


def graph_of(result: Any) -> Any:
    """Return the `Graph` of everything that *result* knows of."""
    from sedano.result import graph

    return graph.graph_of(result)
