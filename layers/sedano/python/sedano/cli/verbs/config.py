"""`sedano config`: every setting, its value and its source.

sedano config --stage prod
sedano config --json
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from sedano.cli.options import as_json, of_app, settings
from sedano.cli.printer import say_json, table


@click.command(help="Show every setting with its value and its source: option, variable, file or default.")
@of_app
@as_json
def command(as_json: bool) -> None:
    """Show the settings."""
    found = settings()
    values = {**found.values, "code": found.values["code"]._replace(value=str(found.code))}
    if as_json:
        say_json({name: one._asdict() for name, one in values.items()})
        return
    rows: list[Sequence[str]] = [(name, "-" if one.value is None else _text(one.value), one.source) for name, one in values.items()]
    table(("SETTING", "VALUE", "SOURCE"), rows)


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
