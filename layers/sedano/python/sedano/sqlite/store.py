"""The file: its permissions, its connections, and the transactions in which every port changes it.

A connection belongs to one thread of one process. A change is a transaction that begins with BEGIN IMMEDIATE: it gets the right to write
before it reads, and waits for that right (`BUSY_S`) instead of failing because another transaction wrote in between. No code waits inside a
transaction, and none begins inside another one.

SQLite's locks on the file belong to the process, and two actions release them silently; another process then deletes the write-ahead log
that this one still writes to. One is to open and close the file without SQLite: this module never does that to a file that was opened. The
other is a fork: SQLite in the child assumes that it has the locks of the parent. So before a fork all connections are closed, when the
calls that use them have ended, and each thread opens another one with its next call.

The file contains the keys of the stage and the arguments of tasks, and workers run its tasks. So only its owner may read it, no other user
may write to its directory, and a symbolic link in its place is refused, as for the spool (`sedano.engine.publisher.spool`).
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sedano.errors import ConfigurationError, SedanoError, Unavailable
from sedano.sqlite.schema import CHANGES, OLDEST_SQLITE, OURS, TABLES, VERSION

BUSY_S = 5.0
"""How long a transaction waits for another one before its call gets `Unavailable`."""
STATEMENTS = 256
"""How many prepared statements a connection keeps: more than the ports have."""
LEAST_BYTES = 512
"""The smallest page of a database: a file that is shorter, and not empty, is not a database."""
FORK_S = 2 * BUSY_S
"""How long a fork waits for a call of another thread to end."""
_OWNER = """
SELECT (SELECT count(*) FROM sqlite_master), (SELECT application_id FROM pragma_application_id),
    (SELECT user_version FROM pragma_user_version)
"""
_LATER = frozenset({
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_CANTOPEN,
})  # fmt: skip
_SHORT_OF = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOMEM, errno.EINTR})


class _Seat:
    """The use of one file by one thread of one process: its connection, and the lock that it holds during a call."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.database: sqlite3.Connection | None = None
        self.process = os.getpid()

    @property
    def is_changing(self) -> bool:
        """Whether a transaction is open: a signal may interrupt a change, and its handler runs in the same thread."""
        return self.database is not None and self.database.in_transaction

    def close(self) -> None:
        """Close the connection, unless it is another process's, or this thread is within a change."""
        if self.database is not None and self.process == os.getpid() and not self.is_changing:
            with suppress(sqlite3.Error):
                self.database.close()
            self.database = None

    def __del__(self) -> None:
        """Close the connection when its thread has ended. Without this it would stay open until the garbage collector finds it, as part of
        a cycle.
        """
        self.close()


class _Seats:
    """All seats of this process, which a fork empties; `lock` guards the set and the creation of a file."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._all: weakref.WeakSet[_Seat] = weakref.WeakSet()
        self._held: list[_Seat] = []
        self._inherited: list[sqlite3.Connection] = []

    def another(self) -> _Seat:
        """Return a new seat."""
        seat = _Seat()
        with self.lock:
            self._all.add(seat)
        return seat

    def before_fork(self) -> None:
        """Wait for the calls of other threads to end, and close all connections."""
        self.lock.acquire()
        for seat in [*self._all]:
            if seat.lock.acquire(timeout=FORK_S):
                self._held.append(seat)
                seat.close()

    def after_fork(self) -> None:
        """Let the threads go on."""
        for seat in self._held:
            seat.lock.release()
        self._held.clear()
        self.lock.release()

    def after_fork_in_child(self) -> None:
        """Keep the connections that could not be closed, for good: closing them would release the locks of the parent."""
        self._inherited += [seat.database for seat in self._all if seat.database is not None]
        self.after_fork()


_SEATS = _Seats()
os.register_at_fork(before=_SEATS.before_fork, after_in_parent=_SEATS.after_fork, after_in_child=_SEATS.after_fork_in_child)


class Store:
    """One SQLite file. Thread-safe, and safe over a fork.

    Args:
        path: the file; the file and its directory are made at the first use.
        busy: seconds to wait for another transaction.
    """

    def __init__(self, path: Path, busy: float = BUSY_S) -> None:
        """Use the file at *path*, also when the working directory changes; nothing is opened or made yet."""
        self.path = path.absolute()
        self._busy = busy
        self._own = threading.local()

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows that one SELECT finds, all as of one moment."""
        seat = self._seat()
        with seat.lock:
            try:
                database = seat.database or self._open(seat)
                found: list[tuple[Any, ...]] = database.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                raise self._fault(error) from error
        return found

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection in a transaction of its own, which may write: committed at the end, undone when the block fails.

        Raises:
            Unavailable: another transaction holds the file for too long, the disk is full, or this thread is within a change already (a
                handler of a signal may interrupt one).
        """
        seat = self._seat()
        with seat.lock:
            if seat.is_changing:
                raise Unavailable(f"{self.path}: this thread is within a change of the file; try again when that has ended")
            try:
                database = seat.database or self._open(seat)
                try:
                    database.execute("BEGIN IMMEDIATE")
                    yield database
                    database.execute("COMMIT")
                except BaseException:
                    if database.in_transaction:
                        database.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                raise self._fault(error) from error

    def close(self) -> None:
        """Close the connection of this thread; the next call opens another."""
        seat = self._seat()
        with seat.lock:
            seat.close()

    def _seat(self) -> _Seat:
        seat: _Seat | None = getattr(self._own, "seat", None)
        if seat is None or seat.process != os.getpid():
            seat = self._own.seat = _SEATS.another()
        return seat

    def _open(self, seat: _Seat) -> sqlite3.Connection:
        """Open the file; make it and its tables if they do not exist.

        Raises:
            ConfigurationError: the file cannot be used; the message says what to do.
            Unavailable: the machine has run out of a resource for now.
        """
        if sqlite3.sqlite_version_info < OLDEST_SQLITE:
            raise ConfigurationError(f"{self.path} needs SQLite {_told(OLDEST_SQLITE)} or later; this is {sqlite3.sqlite_version}")
        try:
            with _SEATS.lock:
                _make_file(self.path)
        except OSError as error:
            if error.errno in _SHORT_OF:
                raise Unavailable(f"{self.path}: {error}") from error
            raise ConfigurationError(f"{self.path} cannot be made: {error}; name a file in a directory that you may write to") from error
        database = sqlite3.connect(
            self.path, timeout=self._busy, isolation_level=None, check_same_thread=False, cached_statements=STATEMENTS,
        )  # fmt: skip
        try:
            self._found(database)
            database.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            database.close()
            raise
        seat.database = database
        return database

    def _found(self, database: sqlite3.Connection) -> None:
        """Make the tables of a new file, change those of an earlier layout, and require write-ahead logging. A file of another program is
        not written to.

        Raises:
            ConfigurationError: the file belongs to another program, or to a newer version of this one.
        """
        self._is_founded(database)
        self._write_ahead(database)
        if self._is_founded(database):
            return
        with database:
            database.execute("BEGIN IMMEDIATE")
            if self._is_founded(database):
                return
            _, owner, version = database.execute(_OWNER).fetchone()
            texts = [CHANGES[number] for number in range(version, VERSION)] if owner == OURS else [TABLES]
            for statement in filter(str.strip, ";".join(texts).split(";")):
                database.execute(statement)
            database.execute(f"PRAGMA application_id = {OURS}")
            database.execute(f"PRAGMA user_version = {VERSION}")

    def _write_ahead(self, database: sqlite3.Connection) -> None:
        """Turn write-ahead logging on. If two processes do this at once, SQLite refuses the second one without waiting.

        Raises:
            ConfigurationError: the file system does not support it.
        """
        until = time.monotonic() + self._busy
        while True:
            try:
                (mode,) = database.execute("PRAGMA journal_mode = WAL").fetchone()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
                time.sleep(0.01)
                continue
            if mode != "wal":
                raise ConfigurationError(f"the file system of {self.path} does not support a write-ahead log; name a file on a local disk")
            return

    def _is_founded(self, database: sqlite3.Connection) -> bool:
        """Return whether the file is ours and has this layout; False if it is new, or has an earlier layout that `CHANGES` can upgrade.

        Raises:
            ConfigurationError: it is another program's, or a newer version's.
        """
        tables, owner, version = database.execute(_OWNER).fetchone()
        if owner == OURS and version == VERSION:
            return True
        if owner == OURS and version in CHANGES:
            return False
        if owner == OURS:
            raise ConfigurationError(
                f"{self.path} has the layout {version}, and this version of sedano supports {VERSION}: a newer one wrote it; "
                "use that version, or name another file"
            )
        if owner or tables:
            raise ConfigurationError(f"{self.path} is a database of another program; name another file")
        return False

    def _fault(self, error: sqlite3.Error) -> SedanoError:
        """Return the error for an *error* of SQLite: `Unavailable` if the call may succeed later, else `ConfigurationError`."""
        code = getattr(error, "sqlite_errorcode", None)
        if code is not None and code & 0xFF in _LATER:
            return Unavailable(f"{self.path}: {error}")
        if code == sqlite3.SQLITE_NOTADB:
            return ConfigurationError(f"{self.path} is not a database; name another file")
        return ConfigurationError(f"{self.path} cannot be used: {error}; repair it, or move it away with its -wal and -shm to start empty")


def _told(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _make_file(path: Path) -> None:
    """Make the file if it does not exist; require that it is the user's own, and that no other user can read it.

    An existing file is not opened: closing it would release the locks that connections of this process have on it.

    Raises:
        ConfigurationError: the file is not such a file, it is too short for a database, or others may write to its directory.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = path.parent.stat()
    if folder.st_uid != os.geteuid() or stat.S_IMODE(folder.st_mode) & 0o022:
        raise ConfigurationError(f"{path.parent} is not a directory that only you can write to; name a file in one of your own")
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise ConfigurationError(f"{path} is not a file that only you can read; take it away, or `chmod 600 {path}` if it is your own")
    if 0 < found.st_size < LEAST_BYTES:
        raise ConfigurationError(f"{path} is not a database; name another file")
