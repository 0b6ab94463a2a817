"""What every verb shares: which app is meant, and how a table and a moment are written for a person."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from sedano.app import Sedano, load
from sedano.errors import ConfigurationError

Row = Sequence[str]


def takes_app(parser: argparse.ArgumentParser) -> None:
    """Let *parser* take `--app`."""
    parser.add_argument("--app", help="module:attribute of the app; by default SEDANO_APP")


def app_of(asked: argparse.Namespace) -> Sedano:
    """Return the app that is meant; its module may stand where the command was given.

    Raises:
        ConfigurationError: none is named, or it cannot be loaded.
    """
    reference = asked.app or os.environ.get("SEDANO_APP", "")
    if not reference:
        raise ConfigurationError("which app? give --app module:attribute, or set SEDANO_APP")
    sys.path.insert(0, str(Path.cwd()))
    return load(reference)


def table(head: Row, rows: Iterable[Row]) -> None:
    """Print a table with its columns in line."""
    every = [head, *rows]
    widths = [max(len(row[n]) for row in every) for n in range(len(head))]
    for row in every:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
