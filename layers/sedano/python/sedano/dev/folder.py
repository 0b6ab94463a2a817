"""The folder `.sedano` of a project: its lock, its database, and the file through which programs find `sedano dev`."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from sedano.api.dev_server import FILE, FOLDER, LOCK, DevServer, read, written
from sedano.errors import ConfigurationError, UsageError

DATABASE = "dev.db"
_BESIDE = ("-wal", "-shm")


class DevFolder:
    """The folder of one project."""

    def __init__(self, project: Path) -> None:
        """Use the folder in *project*; nothing is created yet."""
        self.path = project / FOLDER
        self._lock: int | None = None

    @property
    def database(self) -> Path:
        """The SQLite file that keeps the state between runs."""
        return self.path / DATABASE

    def acquire(self) -> None:
        """Create the folder and take its lock, which is released when this process ends.

        Raises:
            UsageError: another `sedano dev` holds it; the message names that process.
            ConfigurationError: the folder cannot be created or used.
        """
        try:
            self.path.mkdir(mode=0o700, exist_ok=True)
            lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as wrong:
            raise ConfigurationError(f"{self.path} cannot be used: {wrong.strerror}; make the project's folder writable") from None
        try:
            os.lockf(lock, os.F_TLOCK, 0)
        except OSError:
            os.close(lock)
            raise UsageError(self._holder()) from None
        self._lock = lock
        with suppress(FileExistsError), (self.path / ".gitignore").open("x", encoding="utf-8") as ignored:
            ignored.write("*\n")

    def release(self) -> None:
        """Remove the file through which programs find this process, and release the lock."""
        if self._lock is not None:
            (self.path / FILE).unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None

    def last(self) -> DevServer | None:
        """Return the file that an earlier `sedano dev` left, and remove it; None if it does not exist."""
        try:
            server = read(self.path)
        except ConfigurationError:
            server = None
        (self.path / FILE).unlink(missing_ok=True)
        return server

    def announce(self, server: DevServer) -> None:
        """Write the file through which programs find *server*, atomically."""
        new = self.path / f"{FILE}.new"
        new.unlink(missing_ok=True)
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(written(server))
        new.replace(self.path / FILE)

    def set_aside(self) -> Path | None:
        """Rename the database, so that the next use creates a new one; return its new name, or None if there was no database."""
        if not self.database.exists():
            return None
        with suppress(sqlite3.Error):  # a damaged file is renamed as it is
            database = sqlite3.connect(self.database)
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            database.close()
        number = next(number for number in range(1, 1_000_000) if not (self.path / f"{DATABASE}.{number}").exists())
        kept = self.path / f"{DATABASE}.{number}"
        for beside in _BESIDE:
            with suppress(FileNotFoundError):
                (self.path / f"{DATABASE}{beside}").rename(f"{kept}{beside}")
        return self.database.rename(kept)

    def _holder(self) -> str:
        try:
            server = read(self.path)
        except ConfigurationError:
            return f"another `sedano dev` starts or runs in {self.path.parent}; stop it first"
        where = f" with webhooks at {server.webhooks}" if server.webhooks else ""
        words = f"`sedano dev` already runs in {self.path.parent}: process {server.pid}, app {server.app}{where}"
        return f"{words}; use that one, or stop it with Ctrl-C in its terminal or `kill {server.pid}`"
