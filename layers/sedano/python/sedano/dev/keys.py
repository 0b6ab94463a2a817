"""Keys that are pressed in the terminal in which `sedano dev` runs: they arrive one by one, without Enter and without being shown."""

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
"""The signals that stop a program which uses its terminal from the background."""


@contextmanager
def single(descriptor: int) -> Iterator[None]:
    """Let the keys of the terminal *descriptor* arrive one by one; those that were typed before stay. Its modes are set back."""
    modes = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor, termios.TCSANOW)
        yield
    finally:
        with suppress(termios.error):  # the terminal was closed
            termios.tcsetattr(descriptor, termios.TCSANOW, modes)


@contextmanager
def terminal(descriptor: int) -> Iterator[bool]:
    """Take keys from the terminal *descriptor*; yield whether it is one, and this program is in its foreground. Its modes are set back."""
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
    """Return the keys that were pressed, in lower case; None when no more can arrive."""
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
    except OSError:  # a terminal without jobs
        return True
