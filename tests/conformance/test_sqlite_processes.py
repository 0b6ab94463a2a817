"""What a process confirmed over one SQLite file is there for all others: whoever opens, closes, forks, or runs out of room beside it."""

import os
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from sedano.errors import ConfigurationError, Unavailable
from sedano.sqlite.store import Store

BOUND_S = 30
PUT = "INSERT INTO memo VALUES (?, 'nonce', ?)"
ANOTHER = """
import sys; from pathlib import Path; from sedano.sqlite.store import Store
store = Store(Path(sys.argv[1]))
with store.changing() as database: database.execute("INSERT INTO memo VALUES (?, 'nonce', '')", (sys.argv[2],))
store.close()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "own" / "sedano.db"


def put(store: Store, name: str, body: str = "") -> None:
    with store.changing() as database:
        database.execute(PUT, (name, body))


def another_process_puts(path: Path, name: str) -> None:
    """A process that knows nothing of this one opens the file, writes, and closes it."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(place for place in sys.path if place)}
    subprocess.run([sys.executable, "-c", ANOTHER, str(path), name], env=environment, check=True, timeout=BOUND_S)


def seen_from_outside(path: Path) -> set[str]:
    """The names that somebody finds who opens the file now."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(place for place in sys.path if place)}
    program = "import sys, sqlite3; print(*[name for (name,) in sqlite3.connect(sys.argv[1]).execute('SELECT name FROM memo')])"
    found = subprocess.run([sys.executable, "-c", program, str(path)], env=environment, check=True, timeout=BOUND_S, capture_output=True)
    return set(found.stdout.decode().split())


def forked(do: Callable[[], None]) -> int:
    """Do it in a child, which ends with 0 when it ends well, and by SIGALRM when it takes too long."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(BOUND_S)
            do()
            status = 0
        except BaseException:  # noqa: BLE001 - nothing of the child may go on in the parent's test
            traceback.print_exc()
        finally:
            os._exit(status)
    return child


def require_well(child: int) -> None:
    assert os.waitpid(child, 0)[1] == 0, f"the child failed, or took {BOUND_S} s"


def test_a_thread_that_opens_the_file_takes_no_lock_from_the_others(path: Path) -> None:
    store = Store(path)
    put(store, "first")
    late = threading.Thread(target=lambda: store.rows("SELECT 1"))
    late.start()
    late.join(BOUND_S)
    another_process_puts(path, "other")
    put(store, "second")
    assert seen_from_outside(path) == {"first", "other", "second"}


def test_what_a_child_writes_is_there_when_its_parent_closed_the_file_before(path: Path) -> None:
    store = Store(path)
    put(store, "parent")
    (ready, opened), (go, closed) = os.pipe(), os.pipe()

    def child() -> None:
        store.rows("SELECT 1")
        os.write(opened, b"x")
        os.read(go, 1)
        put(store, "child")

    number = forked(child)
    os.read(ready, 1)
    store.rows("SELECT 1")
    store.close()
    os.write(closed, b"x")
    require_well(number)
    assert seen_from_outside(path) == {"parent", "child"}


def test_a_fork_waits_for_the_change_of_another_thread_and_the_child_can_write(path: Path) -> None:
    store, begun, go = Store(path), threading.Event(), threading.Event()

    def change() -> None:
        with store.changing() as database:
            begun.set()
            go.wait(BOUND_S)
            database.execute(PUT, ("thread", ""))

    thread = threading.Thread(target=change)
    thread.start()
    assert begun.wait(BOUND_S)
    threading.Timer(0.2, go.set).start()
    require_well(forked(lambda: put(store, "child")))
    thread.join(BOUND_S)
    put(store, "parent")
    assert seen_from_outside(path) == {"thread", "child", "parent"}


def change_within_a_change(store: Store) -> None:
    with store.changing() as database:
        database.execute(PUT, ("undone", ""))
        with pytest.raises(Unavailable, match="this thread is within a change of the file; try again when that has ended"):
            put(store, "inner")
        database.execute(PUT, ("undone too", ""))
        raise ZeroDivisionError


def test_a_change_within_a_change_is_refused_and_spoils_nothing(path: Path) -> None:
    store = Store(path)
    with pytest.raises(ZeroDivisionError):
        change_within_a_change(store)
    assert store.rows("SELECT name FROM memo") == [], "all of the outer one was undone"
    put(store, "after")
    assert seen_from_outside(path) == {"after"}


class MetError(BaseException):
    """What a body is met with at its time limit."""


def met_at(step: int, do: Callable[[], None]) -> bool:
    """Do it, and raise where a store or its context manager begins a function or leaves one of C for the *step*th time: there Python looks
    whether a signal or an asynchronous exception has come. Tell whether there was such a step."""
    left = step

    def looked(frame: FrameType, event: str, _: Any) -> None:
        nonlocal left
        if event in ("call", "c_return") and frame.f_code.co_filename.endswith(("sqlite/store.py", "contextlib.py")):
            left -= 1
            if left == 0:
                raise MetError

    before = sys.getprofile()
    sys.setprofile(looked)
    try:
        do()
    except MetError:
        return True
    finally:
        sys.setprofile(before)
    return False


def test_a_body_that_is_met_at_its_time_limit_within_a_change_holds_up_nobody(path: Path) -> None:
    store, other = Store(path), Store(path, busy=0.05)
    put(store, "first")
    for step in range(1, 100):
        if not met_at(step, partial(put, store, f"met{step}")):
            break
        put(other, f"other{step}")
        put(store, f"own{step}")
    assert 5 < step < 99, "it was met at each step of the call, and came to its end in the end"


@pytest.mark.parametrize("own_mark", [0, 77])
def test_a_database_of_another_program_stays_as_it_is(path: Path, own_mark: int) -> None:
    path.parent.mkdir(mode=0o700)
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE theirs (one)" if not own_mark else f"PRAGMA application_id = {own_mark}")
    database.close()
    path.chmod(0o600)
    before = path.read_bytes()
    with pytest.raises(ConfigurationError, match="is a database of another program; name another file"):
        Store(path).rows("SELECT 1")
    assert path.read_bytes() == before


def test_a_file_system_without_shared_memory_is_refused(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    without = sqlite3.connect(f"file:{path}?vfs=unix-dotfile", uri=True)
    with pytest.raises(ConfigurationError, match="does not support a write-ahead log; name a file on a local disk"):
        Store(path)._write_ahead(without)
    without.close()


def test_a_full_disk_is_said_and_what_was_confirmed_is_there(path: Path) -> None:
    store = Store(path)
    put(store, "first")

    def until_full() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
        confirmed = {"first"}
        with suppress(Unavailable):
            for number in range(100):
                put(store, str(number), "x" * 10_000)
                confirmed.add(str(number))
        assert 2 < len(confirmed) < 100, "some were confirmed, and one was refused"
        assert {name for (name,) in store.rows("SELECT name FROM memo")} == confirmed
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        put(store, "room", "x" * 300_000)

    require_well(forked(until_full))
    assert {"first", "0", "room"} <= seen_from_outside(path)


def test_a_process_without_file_descriptors_is_told_to_try_later(path: Path) -> None:
    Store(path).rows("SELECT 1")
    usual, most = resource.getrlimit(resource.RLIMIT_NOFILE)

    def starved() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, most))
        store = Store(path)
        with pytest.raises(Unavailable, match=r"Too many open files|unable to open database file"):
            store.rows("SELECT 1")
        resource.setrlimit(resource.RLIMIT_NOFILE, (usual, most))
        put(store, "later")

    require_well(forked(starved))
    assert seen_from_outside(path) == {"later"}


def test_a_thread_that_has_ended_leaves_no_open_file(path: Path) -> None:
    def open_files() -> list[str]:
        return [name for name in map(os.path.realpath, Path("/proc/self/fd").iterdir()) if name.startswith(str(path))]

    store = Store(path)
    thread = threading.Thread(target=put, args=(store, "there"))
    thread.start()
    thread.join()
    assert open_files() == []
    put(store, "here")
    assert open_files()
    del store
    assert open_files() == []
