"""A terminal for the stories of the command line: what a verb writes to it, and what a person types on it."""

import os
import pty
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout

from sedano.cli import main


def on_terminal(arguments: Sequence[str]) -> str:
    """Run a verb that succeeds; return what it writes to a terminal."""
    reader, writer = pty.openpty()
    with os.fdopen(writer, "w") as terminal, redirect_stdout(terminal):
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
