"""Options that several verbs share: the app, JSON, whole numbers, and options that a group takes as well."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sedano.errors import UsageError
from sedano.views.terminal_colour import CHOICES

if TYPE_CHECKING:
    from sedano.app import Sedano
    from sedano.cli.consent import Consent
    from sedano.cli.settings import Settings

_SPAN = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)([smhd]?)")
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
F = TypeVar("F", bound=Callable[..., Any])


_OF_CODE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("--app", {"metavar": "MODULE:NAME", "help": "The app."}),
    ("--code", {"metavar": "DIR", "help": "Directory of the app's modules."}),
)
"""The options for the app alone."""
_OF_STAGE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("--stage", {"metavar": "NAME", "help": "The deployed stage; default: dev."}),
    ("--region", {"metavar": "NAME", "help": "AWS region of the stage."}),
    ("--profile", {"metavar": "NAME", "help": "AWS profile with the credentials."}),
)
"""The options for a deployed stage. `sedano config` shows what these and those for the app are without an option."""
_OF_CHANGES: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (("--dry-run",), {"is_flag": True, "help": "Print what would change, and change nothing."}),
    (("-y", "--yes"), {"is_flag": True, "help": "Do not ask; needed where there is no terminal."}),
    (("--json", "as_json"), {"is_flag": True, "help": "Print JSON."}),
    (("--reason",), {"metavar": "TEXT", "help": "The reason, which is written to the log line of the change."}),
)


def whole(least: int) -> Callable[[str], int]:
    """Return a parser of an option that is a whole number, *least* or more."""

    def number(text: str) -> int:
        if not str(text).isascii() or not str(text).isdigit() or int(text) < least:
            raise click.BadParameter(f"{text}: give a whole number, {least} or more")
        return int(text)

    return number


def seconds(text: str) -> float:
    """Read an option as a time in seconds: ``90``, ``90s``, ``5m``, ``2h`` or ``3d``."""
    found = _SPAN.fullmatch(str(text))
    if found is None:
        raise click.BadParameter(f"{text}: give a time such as 90, 90s, 5m, 2h or 3d")
    return float(found[1]) * _SECONDS[found[2]]


def shared(*names: str, **attributes: Any) -> Callable[[F], F]:
    """Return an option of a command and of each group above it; `chosen` reads it, and the last one given wins."""
    return click.option(*names, expose_value=False, callback=_remember, default=None, **attributes)


def chosen(name: str) -> Any:
    """Return the value of the shared option *name*, or None where it was not given."""
    return click.get_current_context().meta.get(f"sedano.{name}")


def chosen_here(name: str) -> Any:
    """Return the value of the shared option *name*; also None outside a command."""
    context = click.get_current_context(silent=True)
    return context.meta.get(f"sedano.{name}") if context is not None else None


def of_app(command: F) -> F:
    """Let a command take the options that name the app and the stage."""
    for names, attributes in reversed(_OF_CODE + _OF_STAGE):
        command = shared(names, **attributes)(command)
    return command


def of_code(command: F) -> F:
    """Let a command that reaches no deployed stage take the options that name the app; `refuse_stage` refuses the others."""
    for names, attributes in reversed(_OF_CODE):
        command = shared(names, **attributes)(command)
    return command


def refuse_stage(verb: str) -> None:
    """Refuse the options for a deployed stage, which can be given before the *verb*.

    Raises:
        UsageError: one was given.
    """
    for option, _ in _OF_STAGE:
        if chosen(option.removeprefix("--")) is not None:
            raise UsageError(f"{option}: `sedano {verb}` runs on this machine and reaches no deployed stage; leave the option out")


def by_search(command: F) -> F:
    """Let a change take a search of the event history instead of ids: ``query``, ``days`` and ``most``."""
    for option in (
        click.option("--limit", "most", type=whole(1), default=20_000, metavar="N", help="--query: at most N tasks; default: 20000."),
        click.option("--days", type=whole(1), default=2, metavar="N", help="--query: search N days, today included; default: 2."),
        click.option("--query", metavar="QUERY", help="The tasks that `sedano list QUERY` finds; key:KEY also finds older ones."),
    ):
        command = option(command)
    return command


def settings() -> Settings:
    """Return the settings: options, then the environment, then pyproject.toml."""
    from sedano.cli.settings import read
    from sedano.model.settings import VARIABLES

    return read({name: chosen(name) for name in VARIABLES}, Path.cwd())


def the_app() -> Sedano:
    """Import and return the app that the command line names, bound to the stage that it names."""
    from sedano.cli.console import app_of
    from sedano.cli.settings import apply

    found = settings()
    click.get_current_context().find_root().call_on_close(apply(found))
    return app_of(found.app, found.code)


def changes(command: F) -> F:
    """Let a command that changes the stage take `--dry-run`, `--yes`, `--json` and `--reason`; `consent` reads them."""
    for names, attributes in reversed(_OF_CHANGES):
        command = click.option(*names, expose_value=False, callback=_remember, **attributes)(command)
    return command


def consent() -> Consent:
    """Return the options of the change."""
    from sedano.cli.consent import Consent

    return Consent(
        dry_run=bool(chosen("dry_run")), yes=bool(chosen("yes")), reason=str(chosen("reason") or ""), as_json=bool(chosen("as_json")),
        stage=settings().stage,
    )  # fmt: skip


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
"""The option `--json`."""


def of_colour(command: F) -> F:
    """Let a command take `--color`."""
    return shared("--color", type=click.Choice(CHOICES), help="Colours: on a terminal (auto), always or never.")(command)


def of_table(command: F) -> F:
    """Let a command that prints a list take `--header` and `--color`, which `sedano.cli.tables` reads."""
    header = click.option("--header", is_flag=True, expose_value=False, callback=_remember, help="Begin with a head in a pipe too.")
    return header(of_colour(command))


watched = click.option("-w", "--watch", is_flag=True, help="Read again, and write what is new or has changed, until Ctrl-C.")


def of_list(command: F) -> F:
    """Let a command that prints a list take `--json`, `--header` and `--color`."""
    return as_json(of_table(command))


def _remember(context: click.Context, option: click.Parameter, value: Any) -> None:
    if value is not None and option.name is not None:
        context.meta[f"sedano.{option.name}"] = value
