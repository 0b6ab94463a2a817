"""`sedano new`: a project with an app, its tasks, its tests, its settings and a file for CI.

    sedano new shop
    sedano new shop --template events

The folder appears with all its files or not at all. A folder that exists is refused (exit code 5).
"""

from __future__ import annotations

from pathlib import Path

import click

from sedano.cli.options import as_json


@click.command(help="Make a project in the folder NAME: an app, its tests, its settings and a file for CI.")
@click.argument("name", metavar="NAME")
@click.option("--template", default="minimal", show_default=True, metavar="TEMPLATE", help="minimal, events, fastapi or django.")
@as_json
def command(name: str, template: str, as_json: bool) -> None:
    """Make the project; list its files and the next commands."""
    from sedano.cli.printer import say, say_json
    from sedano.cli.projects import files, write

    made = files(name, template)
    write(made, Path(name))
    if as_json:
        say_json({"project": name, "template": template, "files": [f"{name}/{path}" for path in made]})
    else:
        say(*(f"{name}/{path}" for path in made))
    say("", "Next:", f"  cd {name}", "  pip install '.[dev]' && pytest", "  sedano dev", err=True)
