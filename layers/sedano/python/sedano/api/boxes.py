"""`app.boxed(…)`: the declaration of a boxed task, checked before any message is sent. Its processes are `sedano.engine.boxes`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from sedano.api.declaration import OPTIONS
from sedano.errors import OptionError, UnknownOption
from sedano.model.boxes import BoxPlan, memory_bytes
from sedano.ports.absent import has

if TYPE_CHECKING:
    from sedano.engine.boxes.functions import FunctionCalls
    from sedano.engine.boxes.pool import Pool
    from sedano.engine.registry import Registry

MOST_POOL = 256
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
OWN = ("function", "pool", "memory", "timeout", "cwd", "env", "credentials", "calls_per_child")
OF_COMMANDS = ("memory", "cwd", "env", "credentials", "calls_per_child")
"""The options that have no meaning without a command."""
LONGEST_TIMEOUT = 900
"""Seconds that a Lambda function may run."""
WITHOUT = {
    "bind": "its program reads the task's id and attempt from the request",
    "batch": "give a list to one call",
    "loop": "its program has its own process",
    "ecs": "serve its queue by Fargate, served_by={'gpu': 'fargate'}, with the program in the image of the fleet, and give its command",
    "name": "the name is its first argument",
}


def plan_of(
    name: str, command: Sequence[str | os.PathLike[str]] | None, *, pool: int, memory: str | None, timeout: float,
    cwd: str | os.PathLike[str] | None, env: Mapping[str, str] | None, credentials: bool, calls_per_child: int | None, function: str | None,
) -> BoxPlan:  # fmt: skip
    """Return the checked plan of a box.

    Raises:
        OptionError: an option cannot be honoured; the message names it and says what to write.
    """
    if not _is_count(pool) or pool > MOST_POOL:
        raise OptionError(f"pool: {pool!r} is not a whole number of processes from 1 to {MOST_POOL}")
    if not _is_span(timeout):
        raise OptionError(f"timeout: {timeout!r} is not a number of seconds above 0")
    if calls_per_child is not None and not _is_count(calls_per_child):
        raise OptionError(f"calls_per_child: {calls_per_child!r} is not a whole number above 0; leave it out to keep a process")
    if not isinstance(credentials, bool):
        raise OptionError(f"credentials: {credentials!r} is neither True nor False")
    own = {"memory": memory, "cwd": cwd, "env": env, "credentials": credentials or None, "calls_per_child": calls_per_child}
    _check_function(function, command, timeout, [option for option, given in own.items() if given is not None])
    return BoxPlan(
        name=name, function=function, command=() if command is None else _command(command), pool=pool,
        memory=None if memory is None else memory_bytes(memory), timeout=float(timeout),
        cwd=None if cwd is None else _text("cwd", cwd), env=_variables(env), credentials=credentials, calls_per_child=calls_per_child,
    )  # fmt: skip


def permitted(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options of a boxed task that every task has.

    Raises:
        OptionError: one is unknown, or has no meaning for a box.
    """
    of_tasks = [option for option in OPTIONS if option not in WITHOUT]
    for option in options:
        if option in WITHOUT:
            raise OptionError(f"{option}: a boxed task has no such option; {WITHOUT[option]}")
        if option not in of_tasks:
            raise UnknownOption(option, (*OWN, *of_tasks), "a boxed task")
    return options


class BoxBody:
    """The body of a boxed task. Every process that declares the task has one; the first call makes its pool."""

    def __init__(self, plan: BoxPlan, registry: Registry) -> None:
        """Start no process yet: a program that only publishes needs none."""
        self._plan, self._registry = plan, registry
        self._pool: Pool | None = None
        self._calls: FunctionCalls | None = None

    def close(self) -> None:
        """End its processes, if there are any; the next call starts new ones."""
        self._calls = None
        if self._pool is not None:
            self._pool.close()

    @property
    def function(self) -> Callable[..., Any]:
        """The task's function: any JSON values."""

        async def boxed(*args: Any, **kwargs: Any) -> Any:
            calls = self._by_function() if self._plan.function else None
            return await (calls or self._by_command()).call(args, kwargs)

        return boxed

    def _by_command(self) -> Pool:
        if self._pool is None:
            from sedano.engine.boxes.pool import Pool

            self._pool = Pool(self._plan)
        return self._pool

    def _by_function(self) -> FunctionCalls | None:
        """Return the caller of the function; None if the deployment calls no functions and the box also has a command."""
        ports = self._registry.bound
        if self._calls is None and ports is not None and (has(ports.functions) or not self._plan.command):
            from sedano.engine.boxes.functions import FunctionCalls

            self._calls = FunctionCalls(self._plan, ports.functions)
        return self._calls


def _check_function(function: object, command: object, timeout: float, of_commands: Sequence[str]) -> None:
    """Refuse a box without a program, and options that its function cannot honour."""
    if function is None and command is None:
        raise OptionError("a box needs a program: give a command such as ['node', 'resize.mjs'], or function='resize'")
    if function is None:
        return
    if not isinstance(function, str) or not _NAME.fullmatch(function):
        raise OptionError(f"function: {function!r} is not a name of letters, digits, - and _; the setting functions= maps it to an ARN")
    if timeout > LONGEST_TIMEOUT:
        raise OptionError(f"timeout: {timeout:g} s is longer than a Lambda function may run ({LONGEST_TIMEOUT} s)")
    if command is None and of_commands:
        raise OptionError(f"{of_commands[0]}: a function has its own; leave it out, or give a command too")


def _is_count(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and given > 0


def _is_span(given: object) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool) and isfinite(given) and given > 0


def _command(given: object) -> tuple[str, ...]:
    if isinstance(given, str | bytes | os.PathLike) or not isinstance(given, Sequence) or not given:
        raise OptionError(f"command: {given!r} is not a list of a program and its arguments; write ['node', 'resize.mjs'], without a shell")
    words = tuple(_text("command", word) for word in given)
    if not words[0]:
        raise OptionError("command: its program is empty; write ['node', 'resize.mjs']")
    return words


def _text(option: str, given: object) -> str:
    text = os.fspath(given) if isinstance(given, str | os.PathLike) else given
    if not isinstance(text, str) or "\0" in text:
        raise OptionError(f"{option}: {given!r} is not a text or a path")
    return text


def _variables(given: object) -> dict[str, str]:
    if given is None:
        return {}
    wrong = not isinstance(given, Mapping) or any(
        not isinstance(part, str) or "\0" in part for pair in given.items() for part in pair
    ) or any(not name or "=" in name for name in given)  # fmt: skip
    if wrong or not isinstance(given, Mapping):
        raise OptionError("env: give a mapping of names and texts, such as {'LOG_LEVEL': 'info'}")
    return dict(given)
