"""`sedano migrate`: what changes in a code base that uses Celery.

    sedano migrate check .
    sedano migrate check src --todo --exclude "tests/*"
    sedano migrate check src --json
"""

from __future__ import annotations

from pathlib import Path

import click

from sedano.cli.options import as_json, of_colour

HELP = """Read the Python files below PATH, and report line by line what stays, changes or cannot be kept under sedano.

The code is parsed, not imported. Exits with 6 if something cannot be kept or a file cannot be read."""


@click.group(help="Move a code base from Celery to sedano.")
def command() -> None:
    """Take a subcommand."""


@command.command(help=HELP)
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--todo", is_flag=True, help="Leave out what works as it is.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out files and folders, such as 'tests' or 'old/*'; repeatable.")
@click.option("--strict", is_flag=True, help="Exit with 6 for a change as well.")
@as_json
@of_colour
def check(path: Path, todo: bool, exclude: tuple[str, ...], strict: bool, as_json: bool) -> int:
    """Check a code base."""
    from sedano.cli.migration import check as checked

    return checked(path, exclude, todo=todo, strict=strict, as_json=as_json)
