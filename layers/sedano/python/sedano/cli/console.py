"""What every verb shares: which app is meant, what a number may be, and how a table is written for a person."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from pathlib import Path

from sedano.app import Sedano, load
from sedano.cli.printer import line, say, say_text
from sedano.errors import ConfigurationError, UsageError

Row = Sequence[str]
LIBRARY = Path(__file__).resolve().parent.parent


def takes_app(parser: argparse.ArgumentParser, *verbs: argparse.ArgumentParser) -> None:
    """Let *parser* take `--app` and `--code`, before the verb and, where it has *verbs*, after it as well."""
    for one in (parser, *verbs):
        app, code = (None, Path()) if one is parser else (argparse.SUPPRESS, argparse.SUPPRESS)
        one.add_argument("--app", default=app, help="module:attribute of the app; by default SEDANO_APP")
        one.add_argument("--code", type=Path, default=code, metavar="DIR", help="what holds its modules; by default this directory")


def app_of(asked: argparse.Namespace) -> Sedano:
    """Return the app that is meant; whatever its module prints goes to stderr, for stdout is for data.

    Raises:
        UsageError: no app is named, or the name is not that of an app in this directory.
        ConfigurationError: its module raises when it is imported; the traceback of its own code was printed to stderr.
    """
    reference = asked.app or os.environ.get("SEDANO_APP", "")
    if not reference:
        raise UsageError("which app? give --app module:attribute, or set SEDANO_APP")
    code = asked.code.resolve()
    if not code.is_dir():
        raise UsageError(f"--code: {code} is no directory; give the one that holds the modules of {reference}")
    if sys.path[:1] != [str(code)]:
        sys.path.insert(0, str(code))
    module = reference.partition(":")[0]
    with redirect_stdout(sys.stderr):
        try:
            importlib.import_module(module)
        except (Exception, SystemExit) as wrong:
            raise _refusal(module, code, wrong) from wrong
        try:
            return load(reference)
        except ConfigurationError as wrong:
            raise UsageError(str(wrong)) from wrong


def whole(least: int) -> Callable[[str], int]:
    """Return what reads an option as a whole number that is *least* or more."""

    def read(text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text}: give a whole number, {least} or more")
        return int(text)

    return read


def table(head: Row, rows: Iterable[Row]) -> None:
    """Print a table with its columns in line."""
    every = [[line(text) for text in row] for row in (head, *rows)]
    widths = [max(len(row[n]) for row in every) for n in range(len(head))]
    for row in every:
        say("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


def _refusal(module: str, code: Path, wrong: BaseException) -> ConfigurationError:
    """Return why *module* is not there; print the traceback when its own code fails."""
    if isinstance(wrong, ModuleNotFoundError) and wrong.name and f"{module}.".startswith(f"{wrong.name}."):
        return UsageError(f"app: {code} has no module {wrong.name}; name the app as module:attribute, below the directory that code names")
    told = traceback.TracebackException.from_exception(wrong)
    _forget_ours(told)
    say_text("".join(told.format()), err=True)
    return ConfigurationError(_fault(module, code, wrong))


def _fault(module: str, code: Path, wrong: BaseException) -> str:
    if isinstance(wrong, ModuleNotFoundError):
        return f"app: {module} needs the module {wrong.name}, which is neither in {code} nor among its pinned requirements; add it there"
    if isinstance(wrong, SystemExit):
        return f"app: importing {module} ends the process; keep what runs a program below `if __name__ == '__main__':`"
    return f"app: {module} cannot be imported: {type(wrong).__name__}: {wrong}; the traceback above shows where, correct it there"


def _forget_ours(told: traceback.TracebackException | None) -> None:
    """Leave only the user's frames in a traceback and in what caused it."""
    while told is not None:
        users = [frame for frame in told.stack if not _is_ours(frame.filename)]
        told.stack = traceback.StackSummary.from_list(users)
        told = told.__cause__ or told.__context__


def _is_ours(filename: str) -> bool:
    return filename.startswith("<frozen importlib") or filename == importlib.__file__ or Path(filename).is_relative_to(LIBRARY)
