"""The check of boot steps and services when they are declared."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from sedano.engine.declaration_origins import may_declare
from sedano.engine.registry import Registry
from sedano.errors import OptionError
from sedano.model import boot


def declare_step(
    registry: Registry, function: Callable[[], Any], name: str | None, after: Iterable[str], optional: bool, timeout: float | None,
    attempts: int | None,
) -> None:  # fmt: skip
    """Add the boot step *function* to *registry*.

    Raises:
        OptionError: an option cannot be honoured, the name is taken, or steps wait for one another.
    """
    own = _named(function, name, "boot step")
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise OptionError(f"boot step {own}: an async function; write `def`, or declare it with @app.service")
    _without_arguments(function, f"boot step {own}")
    step = boot.step(own, after, optional, timeout, attempts)
    if not may_declare(registry, f"boot step {own}", function, own in registry.boot):
        raise OptionError(f"boot step {own}: declared twice; give one of them another name=")
    known = {name: declared.step for name, declared in registry.boot.items()} | {own: step}
    if path := boot.circle(known):
        raise OptionError(f"boot steps wait for one another: {' → '.join(path)}; remove one of these names from after=")
    registry.boot[own] = boot.DeclaredStep(step, function)


def declare_service(registry: Registry, function: Callable[[], Any]) -> None:
    """Add the service *function* to *registry*.

    Raises:
        OptionError: it is not an `async def` function without arguments, or the name is taken.
    """
    own = _named(function, None, "service")
    if not inspect.iscoroutinefunction(function):
        raise OptionError(f"service {own}: not an `async def` function; write `async def {own}():`, or declare it with @app.boot")
    _without_arguments(function, f"service {own}")
    if not may_declare(registry, f"service {own}", function, own in registry.services):
        raise OptionError(f"service {own}: declared twice; rename one of the functions")
    registry.services[own] = function


def _named(function: Any, name: str | None, kind: str) -> str:
    if not callable(function):
        raise OptionError(f"{kind}: {function!r} cannot be called; use the decorator above a function")
    own = name if name is not None else getattr(function, "__name__", "")
    if not isinstance(own, str) or not own or own == "<lambda>":
        raise OptionError(f"{kind}: {function!r} has no name; declare a function with `def`")
    return own


def _without_arguments(function: Callable[[], Any], what: str) -> None:
    try:
        found = inspect.signature(function).parameters.values()
    except ValueError:  # a class of C that says nothing about its arguments
        return
    needed = [one.name for one in found if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    if needed:
        raise OptionError(f"{what}: it is called without arguments but requires {', '.join(needed)}; remove them or give them defaults")
