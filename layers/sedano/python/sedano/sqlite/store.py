"""The file: who may use it, its connections, and the transactions in which every port changes it.

A connection belongs to one thread of one process. A process that was forked opens its own, and never closes those that it inherited: to
close one takes away the locks of the parent. A change is a transaction that begins with BEGIN IMMEDIATE, so it has the right to write
before it reads, and waits for that right (`BUSY_S`) instead of failing where another one wrote in between. Nothing waits inside one.

The file holds the keys of the stage and the arguments of tasks, and what it holds is run. So only its owner may read it, nobody else may
write to its directory, and a link in its place is refused, as for the spool (`sedano.engine.publisher.spool`).
"""

from __future__ import annotations

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
from sedano.sqlite.schema import OLDEST_SQLITE, OURS, TABLES, VERSION

BUSY_S = 5.0
"""How long a transaction waits for another one before its call is answered with `Unavailable`."""
STATEMENTS = 256
"""How many prepared statements a connection keeps: more than the ports have."""
LEAST_BYTES = 512
"""The smallest page of a database: what is shorter, and not empty, is none."""
_MAGIC = b"SQLite format 3\0"
_LATER = frozenset({
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_NOMEM,
})  # fmt: skip


class _Connection(sqlite3.Connection):
    """A connection that can be remembered weakly."""


_OPEN: weakref.WeakSet[_Connection] = weakref.WeakSet()
_INHERITED: list[_Connection] = []


def _keep() -> None:
    _INHERITED.extend(_OPEN)


os.register_at_fork(before=_keep, after_in_parent=_INHERITED.clear)


class Store:
    """One SQLite file. Thread-safe, and safe over a fork.

    Args:
        path: the file, which is made, with the directory that it is in, when it is first used.
        busy: seconds to wait for another transaction.
    """

    def __init__(self, path: Path, busy: float = BUSY_S) -> None:
        """Use the file at *path*, also when the working directory changes; nothing is opened or made yet."""
        self.path = path.absolute()
        self._busy = busy
        self._own = threading.local()

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return what one SELECT finds: all of it as it was at one moment."""
        try:
            found: list[tuple[Any, ...]] = self._connection().execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise self._fault(error) from error
        return found

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection in a transaction of its own, which may write: committed at the end, undone when the block fails."""
        try:
            database = self._connection()
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
        kept: tuple[_Connection, int] | None = getattr(self._own, "kept", None)
        self._own.kept = None
        if kept is not None and kept[1] == os.getpid():
            kept[0].close()

    def _connection(self) -> sqlite3.Connection:
        kept: tuple[_Connection, int] | None = getattr(self._own, "kept", None)
        if kept is not None and kept[1] == os.getpid():
            return kept[0]
        made = self._opened()
        self._own.kept = made, os.getpid()
        return made

    def _opened(self) -> _Connection:
        """Open the file, and make it and its tables where there are none.

        Raises:
            ConfigurationError: it cannot be used; the message says what to do.
        """
        if sqlite3.sqlite_version_info < OLDEST_SQLITE:
            raise ConfigurationError(f"{self.path} takes SQLite {_told(OLDEST_SQLITE)} or later; this is {sqlite3.sqlite_version}")
        try:
            _make_file(self.path)
        except OSError as error:
            raise ConfigurationError(f"{self.path} cannot be made: {error}; name a file in a directory that you may write to") from error
        database = sqlite3.connect(
            self.path, timeout=self._busy, isolation_level=None, check_same_thread=False, factory=_Connection, cached_statements=STATEMENTS,
        )  # fmt: skip
        try:
            self._write_ahead(database)
            database.execute("PRAGMA synchronous = NORMAL")
            self._founded(database)
        except BaseException:
            database.close()
            raise
        _OPEN.add(database)
        return database

    def _write_ahead(self, database: sqlite3.Connection) -> None:
        """Turn write-ahead logging on. Where two processes do that at once SQLite refuses the second one without waiting."""
        until = time.monotonic() + self._busy
        while True:
            try:
                database.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
                time.sleep(0.01)

    def _founded(self, database: sqlite3.Connection) -> None:
        """Make the tables of a new file.

        Raises:
            ConfigurationError: the file belongs to another program, or to a newer version of this one.
        """
        if self._is_founded(database):
            return
        with database:
            database.execute("BEGIN IMMEDIATE")
            if self._is_founded(database):
                return
            if database.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
                raise ConfigurationError(f"{self.path} is a database of another program; name another file")
            for statement in filter(str.strip, TABLES.split(";")):
                database.execute(statement)
            database.execute(f"PRAGMA application_id = {OURS}")
            database.execute(f"PRAGMA user_version = {VERSION}")

    def _is_founded(self, database: sqlite3.Connection) -> bool:
        (owner,) = database.execute("PRAGMA application_id").fetchone()
        if owner != OURS:
            return False
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version != VERSION:
            raise ConfigurationError(
                f"{self.path} has the layout {version}, and this version of sedano knows {VERSION}: a newer one wrote it; "
                "use that version, or name another file"
            )
        return True

    def _fault(self, error: sqlite3.Error) -> SedanoError:
        """Return what an error of SQLite means: try later, or change something."""
        code = getattr(error, "sqlite_errorcode", None)
        if code is not None and code & 0xFF in _LATER:
            return Unavailable(f"{self.path}: {error}")
        return ConfigurationError(f"{self.path} cannot be used: {error}; repair it, or move it away with its -wal and -shm to begin anew")


def _told(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _make_file(path: Path) -> None:
    """Make the file where there is none; require that it is the user's own, that nobody else can read it, and that it is a database.

    Raises:
        ConfigurationError: it is not, or others may write to its directory.
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
    with path.open("rb") as file:
        if found.st_size and (found.st_size < LEAST_BYTES or file.read(len(_MAGIC)) != _MAGIC):
            raise ConfigurationError(f"{path} is no database; name another file")
