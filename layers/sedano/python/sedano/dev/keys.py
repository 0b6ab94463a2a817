"""Keys that are pressed in the terminal in which `sedano dev` runs: they arrive one by one, without Enter and without echo."""

from __future__ import annotations

import os
import signal
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress

RESTART, QUIT = "r", "q"
WORDS = f"keys: {RESTART} restarts the worker, {QUIT} ends sedano dev"
_OF_BACKGROUND = (signal.SIGTTIN, signal.SIGTTOU)
"""The signals that stop a program that uses its terminal from the background."""


@contextmanager
def single(descriptor: int) -> Iterator[None]:
    """Let the keys of the terminal *descriptor* arrive one by one, including those typed before. Its modes are restored at the end."""
    modes = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor, termios.TCSANOW)
        yield
    finally:
        with suppress(termios.error):  # the terminal was closed
            termios.tcsetattr(descriptor, termios.TCSANOW, modes)


@contextmanager
def terminal(descriptor: int) -> Iterator[bool]:
    """Take keys from the terminal *descriptor*; yield whether this program is in its foreground. Its modes are restored."""
    if not _is_ours(descriptor):
        yield False
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _OF_BACKGROUND}
    try:
        with single(descriptor):
            yield True
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def pressed(descriptor: int) -> str | None:
    """Return the keys that were pressed, in lower case; None after the end of the input."""
    try:
        data = os.read(descriptor, 1024)
    except OSError:
        return None
    return data.decode("ascii", "replace").lower() if data else None


def _is_ours(descriptor: int) -> bool:
    if not os.isatty(descriptor):
        return False
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:  # a terminal without job control
        return True
