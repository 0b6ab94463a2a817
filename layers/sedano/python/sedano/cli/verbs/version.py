"""`sedano version`: the versions of sedano, Python and the packages on which it depends."""

from __future__ import annotations

import click

from sedano import __version__
from sedano.cli.options import as_json
from sedano.cli.printer import say, say_json

PACKAGES = ("boto3", "botocore", "aws-lambda-powertools", "click")


@click.command(help="Show the versions of sedano, Python and the AWS client.")
@as_json
def command(as_json: bool) -> None:
    """Show the versions."""
    import platform

    found = {"sedano": __version__, "python": platform.python_version(), **{name: _installed(name) for name in PACKAGES}}
    if as_json:
        say_json(found)
        return
    for name, version in found.items():
        say(f"{name} {version or 'is not installed'}")


def _installed(package: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
