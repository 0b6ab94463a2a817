"""The option `loop=` of a task: the library whose event loop runs its `async def` body; `engine.worker.trio_bodies` runs trio."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Literal, get_args

from sedano.errors import OptionError

Loop = Literal["asyncio", "trio"]
LOOPS: tuple[str, ...] = get_args(Loop)


def check(loop: object) -> None:
    """Raise `OptionError` for a *loop* that no task can have in this environment."""
    if not isinstance(loop, str) or loop not in LOOPS:
        raise OptionError(f"loop: {loop!r} is not one of {', '.join(LOOPS)}")
    if loop == "trio" and find_spec("trio") is None:
        raise OptionError("loop: 'trio' needs trio, which is not installed: pip install 'sedano[trio]'")


def under_trio(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return *function* of the task *name* as an `async def` function that runs under trio; code under trio may await it too.

    Raises:
        OptionError: it is not an `async def` function.
    """
    if not inspect.iscoroutinefunction(function):
        raise OptionError(f"task {name}: loop='trio' is for an async def function; a def function has no event loop, leave loop out")

    @functools.wraps(function)
    async def body(*args: Any, **kwargs: Any) -> Any:
        if (trio := sys.modules.get("trio")) is not None and trio.lowlevel.in_trio_run():
            return await function(*args, **kwargs)
        from sedano.engine.worker.trio_bodies import run_in_trio

        return await run_in_trio(functools.partial(function, *args, **kwargs))

    return body
