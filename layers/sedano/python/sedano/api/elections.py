"""Elections: ask the cluster to elect a worker, and declare the handler of a topic.

    add.s(2, 3).election()                                   # exactly one worker dispatches it

    @app.election_topic("rotate-keys")
    def rotate(action): ...

    app.control.election("rotate/2026-11", "rotate-keys", {"age": 30})

The rule and its guarantees: `sedano.model.elections`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from sedano.engine.publisher.publisher import Outlet
from sedano.errors import OptionError
from sedano.model.messages.lineage import derived_id
from sedano.model.tasks.signature import Signature


def topic_task(topic: str) -> str:
    """Return the name of the task that carries out *topic*."""
    return f"sedano.topic.{topic}"


def handling(handler: Callable[..., Any]) -> Callable[..., Any]:
    """Return the body of a topic's task: it is called with the election's id and the action, *handler* with the action."""
    if inspect.iscoroutinefunction(handler):

        async def handle_later(election: str, action: Any) -> Any:
            return await handler(action)

        return handle_later

    def handle(election: str, action: Any) -> Any:
        return handler(action)

    return handle


def about(outlet: Outlet, election_id: str, topic: str, action: Any) -> tuple[Signature, str]:
    """Return the signature that an election on a user's *topic* dispatches, and its task's id.

    Raises:
        OptionError: no such topic is declared.
    """
    name = topic_task(topic)
    if name not in outlet.registry.tasks:
        raise OptionError(f'topic: {topic!r} is not declared; use "task", or declare it with @app.election_topic({topic!r})')
    return Signature(name, (election_id, action)), derived_id(election_id, "elected")
