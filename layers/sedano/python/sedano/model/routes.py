"""Routes: the queues of tasks by the patterns of their names, for tasks that name no queue. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sedano.errors import OptionError


def checked(routes: object, queues: Sequence[str]) -> dict[str, str]:
    """Return the *routes* of an app with these *queues*.

    Raises:
        OptionError: they are not queues by patterns, or name an unknown queue.
    """
    if not isinstance(routes, Mapping):
        raise OptionError(f"routes: {routes!r} does not map patterns to queues; write routes={{'mail.*': 'mail'}}")
    found: dict[str, str] = {}
    for pattern, queue in routes.items():
        if not isinstance(pattern, str) or not pattern:
            raise OptionError(f"routes: {pattern!r} is not a pattern of task names, such as 'mail.*'")
        if queue not in queues:
            raise OptionError(f"routes: {pattern!r}: {queue!r} is not one of this app's queues {tuple(queues)}; add it to Sedano(queues=…)")
        found[pattern] = queue
    return found


def queue_for(routes: Mapping[str, str], name: str) -> str | None:
    """Return the queue of the first of *routes* whose pattern matches the whole *name* of a task; None: no pattern does.

    In a pattern, ``*`` matches any text and ``?`` one character.
    """
    return next((queue for pattern, queue in routes.items() if _matches(pattern, name)), None)


def _matches(pattern: str, name: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), name) is not None
