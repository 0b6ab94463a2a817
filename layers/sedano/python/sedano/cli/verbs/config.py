"""`sedano config`: every setting of the project with its source; below it the configuration of the app (`app.configure`).

sedano config --stage prod
sedano config show
sedano config set smtp.host mail.example.org --reason "new relay"
sedano config set smtp.host --remove
sedano config reload
"""

from __future__ import annotations

import click

from sedano.cli.options import changes, consent, of_app, of_list, settings, the_app
from sedano.cli.printer import say, say_json

NO_APP = 'write app = "module:attribute" below [tool.sedano], or make a project with `sedano new NAME`'
HELP = """Show every setting with its value and its source: option, variable, file or default.

The subcommands are about the configuration of the app (app.configure)."""


@click.group(help=HELP, invoke_without_command=True)
@of_app
@of_list
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """Show the settings, unless a subcommand follows."""
    if context.invoked_subcommand is not None:
        return
    from sedano.cli.tables import listing

    found = settings()
    if found.app is None:
        say(f"sedano config: {found.folder} and the folders above have no pyproject.toml that names an app; {NO_APP}", err=True)
    values = {**found.values, "code": found.values["code"]._replace(value=str(found.code))}
    if as_json:
        say_json({name: one._asdict() for name, one in values.items()})
        return
    rows = [(name, None if one.value is None else _text(one.value), one.source) for name, one in values.items()]
    listing(("SETTING", "VALUE", "SOURCE"), rows)


@command.command(help="Show each field of the app's configuration with its value and the layer that gives it. Secrets are hidden.")
@of_app
@of_list
def show(as_json: bool) -> None:
    """Show the configuration of the app."""
    from sedano.cli import listings

    listings.configuration(the_app(), as_json)


@command.command("set", help="Set a field in the layer stage:, and let all workers read the configuration again.")
@click.argument("key")
@click.argument("value", required=False)
@click.option("--remove", is_flag=True, help="Take the value away, so that the layers below count again.")
@changes
@of_app
def set_(key: str, value: str | None, remove: bool) -> int:
    """Set a value."""
    if remove == (value is not None):
        raise click.UsageError("set to what? give a value, or --remove")
    from sedano.cli import operations

    return operations.set_config(the_app(), key, value, consent())


@command.command(help="Let all workers read the layers of the app's configuration again.")
@changes
@of_app
def reload() -> int:
    """Reload the configuration."""
    from sedano.cli import operations

    return operations.reload_config(the_app(), consent())


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
