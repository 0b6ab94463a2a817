"""A terminal for the stories of the command line: what a verb writes to it, and what a person types on it."""

import json
import os
import pty
import sys
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any

from sedano.cli import main

OF_TERMINALS = ("NO_COLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "TERM", "SEDANO_PAGER", "PAGER")


def items(written: str) -> list[dict[str, Any]]:
    """Return the items of the one document that a list is with `--json`."""
    document = json.loads(written)
    assert document["schema"].startswith("sedano.")
    assert document["schema"].endswith("/1")
    found: list[dict[str, Any]] = document["items"]
    return found


@contextmanager
def variables(given: Mapping[str, str]) -> Iterator[None]:
    """Let the environment have *given*, and nothing else of what a terminal has."""
    before = {name: os.environ.pop(name) for name in OF_TERMINALS if name in os.environ}
    os.environ.update(given)
    try:
        yield
    finally:
        for name in given:
            del os.environ[name]
        os.environ.update(before)


def on_terminal(arguments: Sequence[str], lines: int = 0, **given: str) -> str:
    """Run a verb that succeeds; return what it writes to a terminal of so many *lines* (0: it does not say)."""
    reader, writer = pty.openpty()
    termios.tcsetwinsize(writer, (lines, 80))
    with os.fdopen(writer, "w") as terminal, redirect_stdout(terminal), variables({"TERM": "xterm", **given}):
        assert sys.stdout.isatty()
        assert main(arguments) == 0
    written = b""
    with os.fdopen(reader, "rb", buffering=0) as there:
        try:
            while part := there.read(65_536):
                written += part
        except OSError:  # the end of a terminal on Linux
            pass
    return written.decode().replace("\r\n", "\n")


@contextmanager
def typed(text: str) -> Iterator[None]:
    """Let the standard input be a terminal on which *text* was typed."""
    reader, writer = pty.openpty()
    was = sys.stdin
    with os.fdopen(reader, "w") as there, os.fdopen(writer) as here:
        there.write(text)
        there.flush()
        sys.stdin = here
        try:
            yield
        finally:
            sys.stdin = was
