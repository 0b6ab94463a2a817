"""What the options of several verbs share: which app is meant, JSON, whole numbers, and options that a group takes as well."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from sedano.app import Sedano

F = TypeVar("F", bound=Callable[..., Any])


def whole(least: int) -> Callable[[str], int]:
    """Return what reads an option as a whole number that is *least* or more."""

    def number(text: str) -> int:
        if not str(text).isascii() or not str(text).isdigit() or int(text) < least:
            raise click.BadParameter(f"{text}: give a whole number, {least} or more")
        return int(text)

    return number


def shared(*names: str, **attributes: Any) -> Callable[[F], F]:
    """Return an option that may stand at a command and at each group above it; `chosen` reads it, the last one given wins."""
    return click.option(*names, expose_value=False, callback=_remember, default=None, **attributes)


def chosen(name: str) -> Any:
    """Return the value of the shared option *name*, or None where it was not given."""
    return click.get_current_context().meta.get(f"sedano.{name}")


def of_app(command: F) -> F:
    """Let a command take the options that say which app is meant."""
    command = shared("--code", type=click.Path(path_type=Path), metavar="DIR", help="Directory of the app's modules; default: this one.")(
        command
    )
    return shared("--app", metavar="MODULE:NAME", help="The app; default: SEDANO_APP.")(command)


def the_app() -> Sedano:
    """Import and return the app that the command line means."""
    from sedano.cli.console import app_of

    return app_of(chosen("app"), chosen("code") or Path())


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
"""The option `--json`."""


def _remember(context: click.Context, option: click.Parameter, value: Any) -> None:
    if value is not None and option.name is not None:
        context.meta[f"sedano.{option.name}"] = value
