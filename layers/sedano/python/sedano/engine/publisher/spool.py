"""The spool: a program's store on disk for messages that the queue did not accept, until they are sent.

A message that is in the spool is confirmed (`delay()` returned its id), so it must outlive the process: it is in a SQLite database in WAL
mode, and `keep` returns when its transaction is committed with `synchronous=FULL`. A SIGKILL at any moment loses no committed message and
leaves none half written. The same holds for a power failure, if the disk honours its flushes.

Messages are sent after the next successful publication, when the program ends, by the next program of the app for the same deployment (in
the same ways), or by `sedano spool send`. A message for one deployment is never sent to another: each has its own database. A program takes
messages for a minute to send them, so two programs do not send the same ones; one that dies meanwhile leaves them to the next. A message
that is sent twice is absorbed by its claim.

`sedano.engine.publisher.spool_folder` defines where a spool is and which hosts have none: on Lambda nothing is stored, because a sandbox is
frozen after its invocation and its files may never be sent; `SEDANO_SPOOL=off` turns the spool off on any host.

Only its owner may read or write the spool, because its messages are published in the owner's name: a directory of another user, one that
others may write to, or a symbolic link is refused. Foreign data in its place (a file that is not a database, a database of another program,
a row that is not a message) is moved away unchanged, never read as a message, and never raises while a program starts.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from sedano.engine.drafts import Addressed
from sedano.engine.publisher.spool_folder import NAME, OFF, home
from sedano.errors import BacklogFull, SpoolError
from sedano.ports import Outgoing
from sedano.ports.backlog import MOST, TAKEN_S, Stored, delay_left

BUSY_S = 2.0
"""How long (s) a call waits for another process that holds the database."""
LATEST_S = 1e12
"""No message is due at or after this moment (epoch s)."""
LEAST_BYTES = 512
"""The smallest page of a database."""
_MAGIC = b"SQLite format 3\0"
_OURS = 0x5EDA0501
_TABLES = """
CREATE TABLE message (seq INTEGER PRIMARY KEY AUTOINCREMENT, queue TEXT, body TEXT, delay INTEGER, due REAL, tenant TEXT, serial_key TEXT,
    kept REAL, taken REAL NOT NULL DEFAULT 0, tries INTEGER NOT NULL DEFAULT 0, spoiled INTEGER NOT NULL DEFAULT 0);
CREATE TABLE about (name TEXT PRIMARY KEY, said TEXT);
"""
_NOT_A_DATABASE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class Taken(NamedTuple):
    """A message that this process took to send it; *seq* names it in the spool."""

    seq: int
    message: Addressed


class Found(NamedTuple):
    """A spool on this machine: its *place*, *app*, *stage*, how many messages wait (without *spoiled* ones), since when, for which
    queues."""

    place: Path
    app: str
    stage: str
    waiting: int
    spoiled: int
    oldest: float
    queues: Sequence[str]


def every() -> list[Found]:
    """Return the spools of this user, also those of deleted deployments; an unreadable spool counts no messages."""
    folders = sorted(folder for folder in home().glob("*/*") if folder.is_dir() and not folder.is_symlink())
    return [about(folder) for folder in folders if any(folder.iterdir())]


def about(folder: Path) -> Found:
    """Return the facts about the spool in *folder*, and leave no open file."""
    with closing(Spool(folder)) as spool:
        return spool.about()


class Spool:
    """The spool of one app and one deployment. Thread-safe; a child process opens its own connection."""

    _process: int
    """The process that opened the database."""
    _flushes: bool
    """Whether the connection flushes each transaction to the disk."""

    def __init__(self, folder: Path) -> None:
        """Use *folder*; nothing is opened or made yet."""
        self.folder = folder
        self._lock = threading.RLock()
        self._database: sqlite3.Connection | None = None

    def keep(self, messages: Sequence[Addressed], now: float) -> None:
        """Store all of *messages*, or none; when this returns, they survive this process.

        Raises:
            BacklogFull: too many messages already wait.
            SpoolError: the directory or the database cannot be used; the message says what to do.
        """
        rows = [
            (m.queue, m.outgoing.body, m.outgoing.delay, now + m.outgoing.delay, m.outgoing.tenant, m.outgoing.serial_key, now)
            for m in messages
        ]
        with self._changing(flushed=True) as database:
            (waiting,) = database.execute("SELECT count(*) FROM message WHERE NOT spoiled").fetchone()
            if waiting + len(rows) > MOST:
                raise BacklogFull(f"{waiting} messages already wait in {self.folder}; send or drop them with `sedano spool`")
            insert = "INSERT INTO message (queue, body, delay, due, tenant, serial_key, kept) VALUES (?, ?, ?, ?, ?, ?, ?)"
            database.executemany(insert, rows)

    def take(self, most: int, now: float, without: Sequence[str] = ()) -> list[Taken]:
        """Take up to *most* messages that no other process is sending, the oldest first, for a minute; none of the queues *without*; a row
        that is not a message is marked as spoiled."""
        if not self.exists():
            return []
        with self._changing() as database:
            wanted = "SELECT seq, queue, body, delay, due, tenant, serial_key FROM message"
            free = f"WHERE NOT spoiled AND NOT (taken > ? AND taken <= ?) AND queue NOT IN ({', '.join('?' * len(without))})"
            rows = database.execute(f"{wanted} {free} ORDER BY tries, seq LIMIT ?", (now, now + TAKEN_S, *without, most)).fetchall()
            found = [(row[0], _message(row[1:], now)) for row in rows]
            database.executemany("UPDATE message SET taken = ? WHERE seq = ?", [(now + TAKEN_S, seq) for seq, _ in found])
            spoiled = [(seq,) for seq, message in found if message is None]
            database.executemany("UPDATE message SET spoiled = 1 WHERE seq = ?", spoiled)
        return [Taken(seq, message) for seq, message in found if message is not None]

    def done(self, taken: Sequence[Stored]) -> None:
        """Forget messages that were sent."""
        if not taken:
            return
        with self._changing() as database:
            database.executemany("DELETE FROM message WHERE seq = ?", [(one.seq,) for one in taken])

    def give_back(self, taken: Sequence[Stored]) -> None:
        """Leave messages that could not be sent to the next sender, after those that were tried less often."""
        if taken:
            with self._changing() as database:
                database.executemany("UPDATE message SET tries = tries + 1, taken = 0 WHERE seq = ?", [(one.seq,) for one in taken])

    def release(self, taken: Sequence[Taken]) -> None:
        """Leave messages that were not tried to the next sender, in the place that they had."""
        if taken:
            with self._changing() as database:
                database.executemany("UPDATE message SET taken = 0 WHERE seq = ?", [(one.seq,) for one in taken])

    def waiting(self) -> int:
        """Return how many messages wait; 0 if there is no spool or it cannot be read."""
        return self.about().waiting

    def about(self) -> Found:
        """Return the facts about this spool; an unreadable spool has no messages."""
        app, stage = unquote(self.folder.parent.name), ""
        with suppress(SpoolError):
            if self.exists():
                with self._changing() as database:
                    counts = "SELECT count(*) - total(spoiled), total(spoiled), coalesce(min(kept), 0) FROM message"
                    waiting, spoiled, oldest = database.execute(counts).fetchone()
                    stage = dict(database.execute("SELECT name, said FROM about")).get("stage", "")
                    queues = [str(queue) for (queue,) in database.execute("SELECT DISTINCT queue FROM message ORDER BY queue")]
                    moment = oldest if isinstance(oldest, float) else 0.0
                    return Found(
                        place=self.folder, app=app, stage=str(stage), waiting=int(waiting), spoiled=int(spoiled) + self._unread(),
                        oldest=moment, queues=queues,
                    )  # fmt: skip
        return Found(place=self.folder, app=app, stage=str(stage), waiting=0, spoiled=self._unread(), oldest=0.0, queues=())

    def drop(self, number: int) -> int:
        """Delete all messages, waiting and spoiled, if there are *number* of them; return how many were deleted.

        Raises:
            SpoolError: it is another number; nothing was deleted.
        """
        with self._changing() as database:
            (rows,) = database.execute("SELECT count(*) FROM message").fetchone()
            there = rows + self._unread()
            if there != number:
                raise SpoolError(f"{self.folder} has {there} messages, not {number}; nothing was dropped; list them again")
            database.execute("DELETE FROM message")
        for path in self.folder.glob("unreadable-*"):
            path.unlink()
        return number

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            if self._database is not None and self._process == os.getpid():
                self._database.close()
            self._database = None

    def exists(self) -> bool:
        """Return whether any message was ever stored here."""
        return (self.folder / NAME).exists() or any(self.folder.glob("*.jsonl"))

    def _unread(self) -> int:
        return sum(1 for _ in self.folder.glob("unreadable-*.db")) + sum(1 for _ in self.folder.glob("unreadable-*.jsonl"))

    @contextmanager
    def _changing(self, *, flushed: bool = False) -> Iterator[sqlite3.Connection]:
        """Yield the database in a transaction of its own: committed at the end, undone when it fails.

        Only one that is *flushed* is on the disk when this returns; a power failure that undoes another one causes a copy, and no loss.
        """
        with self._lock:
            try:
                database = self._open()
                if flushed is not self._flushes:
                    database.execute(f"PRAGMA synchronous = {'FULL' if flushed else 'NORMAL'}")
                    self._flushes = flushed
                with database:
                    database.execute("BEGIN IMMEDIATE")
                    yield database
            except (sqlite3.Error, OSError) as error:
                self.close()
                raise SpoolError(f"the spool {self.folder} cannot be used: {error}; {_cure(error)}") from error

    def _open(self) -> sqlite3.Connection:
        if self._database is None or self._process != os.getpid():
            _make_private(self.folder)
            try:
                self._database = self._opened()
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorcode not in _NOT_A_DATABASE:
                    raise
                self._set_aside()
                self._database = self._opened()
            self._process = os.getpid()
            self._adopt(self._database)
        return self._database

    def _opened(self) -> sqlite3.Connection:
        _make_file(self.folder / NAME)
        if not _may_be_a_database(self.folder / NAME):
            raise _foreign()
        database = sqlite3.connect(self.folder / NAME, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
            self._founded(database)
            self._flushes = True
        except BaseException:
            database.close()
            raise
        return database

    def _founded(self, database: sqlite3.Connection) -> None:
        """Create the tables of a new database; raise if it belongs to another program."""
        with database:
            database.execute("BEGIN IMMEDIATE")
            (owner,) = database.execute("PRAGMA application_id").fetchone()
            if owner == _OURS:
                return
            if database.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
                raise _foreign()
            for statement in filter(str.strip, _TABLES.split(";")):
                database.execute(statement)
            said = (("stage", os.environ.get("SEDANO_STAGE", "")), ("queues", os.environ.get("SEDANO_QUEUES", "")))
            database.executemany("INSERT INTO about VALUES (?, ?)", said)
            database.execute(f"PRAGMA application_id = {_OURS}")

    def _set_aside(self) -> None:
        """Rename the file in the place of the database, with the files that belong to it."""
        number = 1 + sum(1 for _ in self.folder.glob("unreadable-*.db"))
        for suffix in ("-shm", "-wal", ""):
            with suppress(FileNotFoundError):
                (self.folder / f"{NAME}{suffix}").rename(self.folder / f"unreadable-{number}.db{suffix}")

    def _adopt(self, database: sqlite3.Connection) -> None:
        """Take over the messages of an earlier version's files of JSON lines; a file with an unreadable line is also kept."""
        for path in sorted(self.folder.glob("[!u]*.jsonl")):
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            rows = [row for row in map(_row, lines) if row is not None]
            with database:
                database.execute("BEGIN IMMEDIATE")
                insert = "INSERT INTO message (queue, body, delay, due, tenant, serial_key, kept) VALUES (?, ?, ?, 0, ?, ?, 0)"
                database.executemany(insert, rows)
            if len(rows) == len(lines):
                path.unlink()
            else:
                path.rename(path.with_name(f"unreadable-{path.name}"))


def _may_be_a_database(path: Path) -> bool:
    """Return whether a file is empty or begins as a database does; SQLite takes a short one for empty, and would write over it."""
    size = path.stat().st_size
    with path.open("rb") as file:
        return not size or (size >= LEAST_BYTES and file.read(len(_MAGIC)) == _MAGIC)


def _foreign() -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError("it is not a database of this program")
    error.sqlite_errorcode = sqlite3.SQLITE_NOTADB
    return error


def _row(line: str) -> tuple[Any, ...] | None:
    """Return a line of an earlier version's spool as a row; None if it is incomplete."""
    try:
        queue, body, delay, tenant, *key = json.loads(line)
    except (ValueError, TypeError, RecursionError):
        return None
    row = (queue, body, delay, tenant, next(iter(key), None))
    return row if _message((queue, body, delay, 0.0, tenant, row[4]), 0.0) is not None else None


def _is_text(value: object) -> bool:
    """Return whether *value* is text that can be sent: half a surrogate pair cannot."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _message(row: Sequence[Any], now: float) -> Addressed | None:
    """Return the message of a row, with what is left of its delay at *now*; None when it is not a message."""
    queue, body, delay, due, tenant, key = row
    if not (_is_text(queue) and _is_text(body) and all(one is None or _is_text(one) for one in (tenant, key))):
        return None
    if isinstance(delay, bool) or not isinstance(delay, int) or not isinstance(due, float | int):
        return None
    if not abs(delay) < LATEST_S or not abs(due) < LATEST_S:
        return None
    return Addressed(queue, Outgoing(body, delay_left(delay, due, now), tenant, serial_key=key))


def _make_private(folder: Path) -> None:
    """Create *folder* and the two above it, and require that they belong to this user and that no other user can read the last.

    Raises:
        SpoolError: one of them does not fulfil this.
    """
    folder.parent.parent.parent.mkdir(parents=True, exist_ok=True)
    for path, forbidden in ((folder.parent.parent, 0o022), (folder.parent, 0o022), (folder, 0o077)):
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode):
            raise SpoolError(f"{path} is a link or not a directory; name another directory in SEDANO_SPOOL, or {OFF!r} for none")
        if found.st_uid != os.geteuid():
            raise SpoolError(f"{path} belongs to another user; name a directory of your own in SEDANO_SPOOL, or {OFF!r} for none")
        if stat.S_IMODE(found.st_mode) & forbidden:
            raise SpoolError(f"{path} is open to other users; `chmod 700 {path}`, if nothing in it is theirs")


def _make_file(path: Path) -> None:
    """Create the database's file if it does not exist, and require that it belongs to this user and no other user can read it."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise SpoolError(f"{path} is not a file that only you can read; take it away, or `chmod 600 {path}` if it is your own")


def _cure(error: Exception) -> str:
    if isinstance(error, PermissionError) or "readonly" in str(error) or "Read-only" in str(error):
        return f"name a directory that can be written to in SEDANO_SPOOL, or {OFF!r} for none"
    return "make room on its disk, or name another directory in SEDANO_SPOOL"
