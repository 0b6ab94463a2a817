"""The listening socket of the publisher: one that systemd passes to it, or one that it makes at a path.

systemd passes sockets as file descriptors from 3, their number in LISTEN_FDS, and the process that they are for in LISTEN_PID
(sd_listen_fds(3)). Such a socket stays open while the publisher restarts, so programs wait for it instead of sending themselves.
"""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import time
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from sedano.errors import UsageError

FIRST_PASSED = 3
MODE = 0o660
"""The access of the socket's file: its user and its group."""
BACKLOG = 128
LOCKED_S, LOOK_S = 5.0, 0.02
"""How long a start waits for another one in the same directory, and how often it looks, in seconds."""
LONGEST_PATH = 107
"""The most bytes of the path of a socket on Linux."""


class Listening(NamedTuple):
    """A listening socket, its *path*, and the device and inode of its file if this process made it, so that it deletes it."""

    channel: socket.socket
    path: str
    own: tuple[int, int] | None

    def close(self) -> None:
        """Close it, once, and delete its file if this process made it and no other one has replaced it."""
        if self.channel.fileno() < 0:
            return
        if self.own is not None:
            with suppress(OSError), _alone(self.path):
                if _inode(self.path) == self.own:  # an open socket keeps its inode, so no later file has the same
                    Path(self.path).unlink()
        self.channel.close()


def listening(path: str, environment: MutableMapping[str, str]) -> Listening:
    """Return the socket that systemd has passed, or a new one at *path*.

    Raises:
        UsageError: neither exists, the passed socket is not at *path*, or another process listens there.
    """
    passed = _passed(environment)
    if passed is None:
        if not path:
            raise UsageError("--socket: name the socket, such as /run/shop/publisher.sock, or start the publisher by a systemd socket unit")
        return _made(path)
    found = passed.getsockname()
    if not isinstance(found, str) or not found:
        raise UsageError("LISTEN_FDS: the socket that was passed has no path; write ListenStream=/run/shop/publisher.sock in its unit")
    if path and os.path.realpath(path) != os.path.realpath(found):
        raise UsageError(f"--socket: systemd passes the socket {found}; give that path, or leave the option out")
    passed.setblocking(False)
    return Listening(passed, found, own=None)


def _passed(environment: MutableMapping[str, str]) -> socket.socket | None:
    """Return the socket that systemd has passed to this process, and remove the variables, which are not for its children."""
    count, process = environment.pop("LISTEN_FDS", ""), environment.pop("LISTEN_PID", "")
    environment.pop("LISTEN_FDNAMES", None)
    if not count or process != str(os.getpid()):
        return None
    if count != "1":
        raise UsageError(f"LISTEN_FDS: {count[:20]} sockets were passed; the publisher listens on one: write one ListenStream= in the unit")
    found = socket.socket(fileno=FIRST_PASSED)
    os.set_inheritable(FIRST_PASSED, False)
    if found.family != socket.AF_UNIX or found.type != socket.SOCK_STREAM:
        raise UsageError("LISTEN_FDS: the socket that was passed is not a unix stream; write ListenStream=/run/shop/publisher.sock")
    return found


def _made(path: str) -> Listening:
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise UsageError(f"--socket: {path} has more than {LONGEST_PATH} bytes, which no socket may have; use a shorter path")
    try:
        with _alone(path):
            _clear(path)
            return _bound(path)
    except OSError as wrong:
        raise UsageError(f"--socket: {path}: {wrong.strerror}; name a path in a directory that this user may write to") from wrong


def _bound(path: str) -> Listening:
    channel = socket.socket(socket.AF_UNIX)
    try:
        before = os.umask(0o777 ^ MODE)
        try:
            channel.bind(path)
        finally:
            os.umask(before)
        channel.listen(BACKLOG)
        channel.setblocking(False)
        return Listening(channel, path, own=_inode(path))
    except OSError:
        channel.close()
        raise


def _inode(path: str) -> tuple[int, int]:
    found = os.lstat(path)
    return found.st_dev, found.st_ino


@contextmanager
def _alone(path: str) -> Iterator[None]:
    """Lock the directory of *path*: no other publisher makes or deletes a socket there meanwhile; a process that ends holds no lock.

    Raises:
        OSError: the directory cannot be read, or another process holds it for longer than `LOCKED_S`.
    """
    directory = os.open(Path(path).parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        until = time.monotonic() + LOCKED_S
        while True:
            try:
                fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise
                time.sleep(LOOK_S)
        yield
    finally:
        os.close(directory)


def _clear(path: str) -> None:
    """Delete the socket that a killed publisher has left at *path*."""
    try:
        is_socket = stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return
    if not is_socket:
        raise UsageError(f"--socket: {path} is a file and not a socket; name another path, or delete it")
    with socket.socket(socket.AF_UNIX) as tries:
        tries.settimeout(1)
        try:
            tries.connect(path)
        except (ConnectionRefusedError, FileNotFoundError):
            with suppress(FileNotFoundError):
                Path(path).unlink()
            return
        except OSError as wrong:
            raise UsageError(f"--socket: {path}: {wrong.strerror}; it belongs to another process") from wrong
    raise UsageError(f"--socket: another process listens at {path}; stop it, or name another path")
