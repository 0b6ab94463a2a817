"""Imports the app that the command line names."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from contextlib import redirect_stdout
from pathlib import Path

from sedano.app import Sedano, load
from sedano.cli.printer import say_text
from sedano.errors import ConfigurationError, UsageError

LIBRARY = Path(__file__).resolve().parent.parent


def app_of(app: str | None, code: Path) -> Sedano:
    """Return the app that *app* names, or SEDANO_APP, with its modules below *code*; what its module prints goes to stderr.

    Raises:
        UsageError: no app is named, or the name is not that of an app in this directory.
        ConfigurationError: its module raises when it is imported; the traceback of its own code was printed to stderr.
    """
    reference = app or os.environ.get("SEDANO_APP", "")
    if not reference:
        raise UsageError(
            'which app? give --app module:attribute, or set SEDANO_APP, or write app = "module:attribute" in [tool.sedano] '
            "of pyproject.toml; sedano new NAME makes a project"
        )
    code = code.resolve()
    if not code.is_dir():
        raise UsageError(f"--code: {code} is not a directory; give the one that holds the modules of {reference}")
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


def _refusal(module: str, code: Path, wrong: BaseException) -> ConfigurationError:
    """Return why *module* cannot be imported; print the traceback if its own code fails."""
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
    """Keep only the user's frames in a traceback and in the tracebacks of its causes."""
    while told is not None:
        users = [frame for frame in told.stack if not _is_ours(frame.filename)]
        told.stack = traceback.StackSummary.from_list(users)
        told = told.__cause__ or told.__context__


def _is_ours(filename: str) -> bool:
    return filename.startswith("<frozen importlib") or filename == importlib.__file__ or Path(filename).is_relative_to(LIBRARY)
