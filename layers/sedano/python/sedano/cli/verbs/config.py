"""`sedano config`: every setting, its value and its source.

sedano config --stage prod
sedano config --json
"""

from __future__ import annotations

import click

from sedano.cli.options import of_app, of_list, settings
from sedano.cli.printer import say, say_json

NO_APP = 'write app = "module:attribute" below [tool.sedano], or make a project with `sedano new NAME`'


@click.command(help="Show every setting with its value and its source: option, variable, file or default.")
@of_app
@of_list
def command(as_json: bool) -> None:
    """Show the settings."""
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


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
