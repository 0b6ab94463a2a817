"""The socket of a publisher: two that start together, and one that ends after another has taken its place."""

import fcntl
import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sedano.errors import UsageError
from sedano.host.listening_socket import Listening, listening


@pytest.fixture
def path() -> Iterator[Path]:
    """A path that is short enough for a socket."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "p.sock"


def test_a_start_waits_for_another_one_and_does_not_delete_its_socket(path: Path) -> None:
    said: list[str] = []

    def start() -> None:
        try:
            listening(str(path), {}).close()
        except UsageError as wrong:
            said.append(str(wrong))

    directory = os.open(path.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as first:
        fcntl.flock(directory, fcntl.LOCK_EX)
        first.bind(str(path))
        second = threading.Thread(target=start)
        second.start()
        second.join(0.3)
        assert second.is_alive(), "it waits"
        first.listen()
        os.close(directory)
        second.join()
    assert said == [f"--socket: another process listens at {path}; stop it, or name another path"]
    assert path.exists()


def test_one_of_many_that_start_together_listens(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(path))
    found: list[Listening] = []
    gate = threading.Barrier(8)

    def start() -> None:
        gate.wait()
        with suppress(UsageError):
            found.append(listening(str(path), {}))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (one,) = found
    with socket.socket(socket.AF_UNIX) as program:
        program.connect(str(path))
    one.close()
    one.close()
    assert not path.exists()


def test_a_publisher_that_ends_deletes_no_socket_but_its_own(path: Path) -> None:
    first = listening(str(path), {})
    path.unlink()
    second = listening(str(path), {})
    first.close()
    assert path.exists()
    second.close()
    assert not path.exists()
