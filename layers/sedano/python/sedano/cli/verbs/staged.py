"""The options that the verbs of a deployment share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sedano.cli.options import consent, of_app, settings

if TYPE_CHECKING:
    from sedano.cli.stage_stacks import StageOptions

F = TypeVar("F", bound=Callable[..., Any])
TYPO = 0.75
"""How similar a misspelt setting is to the one that was meant; the deployment itself refuses the others, after it has asked AWS."""


def of_stage(command: F) -> F:
    """Let a command take the options that name an app and a stage, and settings of the stage."""
    return of_app(click.option("--set", "given", multiple=True, metavar="NAME=VALUE", help="A setting of the stage: memory=1024.")(command))


def asked(given: tuple[str, ...], *, as_json: bool = False) -> StageOptions:
    """Return the options of a command; from now on, AWS clients use the region and the profile that it names.

    A command that changes something has `--json` from `sedano.cli.options.changes`, any other one gives it as *as_json*.
    """
    from sedano.cli.settings import apply
    from sedano.cli.stage_stacks import StageOptions

    found = settings()
    click.get_current_context().find_root().call_on_close(apply(found))
    agreed = consent()
    return StageOptions(found, _pairs(given), agreed._replace(as_json=as_json or agreed.as_json))


def _pairs(given: tuple[str, ...]) -> dict[str, str]:
    """Return the settings of the command line by name.

    Raises:
        BadParameter: one of them is not NAME=VALUE, or was given twice.
    """
    from sedano.errors.celery_names import nearest
    from sedano.model.settings import OF_COMMAND_LINE

    found: dict[str, str] = {}
    for setting in given:
        name, sign, value = setting.partition("=")
        if not sign or not name:
            raise click.BadParameter(f"--set {setting}: write NAME=VALUE, such as memory=1024")
        near = "" if name in OF_COMMAND_LINE or "." in name else nearest(name, OF_COMMAND_LINE, TYPO)
        if near:
            raise click.BadParameter(f"--set {setting}: a stage has no setting {name}; did you mean {near}?")
        if name in found:
            raise click.BadParameter(f"--set {setting}: {name} is already {found[name]!r}; give it once")
        found[name] = value
    return found
