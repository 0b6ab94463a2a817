"""The loop of a publisher: what programs write has a bound in total, and a program is not answered faster than it is read."""

import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sedano.host.listening_socket import listening
from sedano.host.publisher_lanes import SendingLanes
from sedano.host.publisher_process import MOST_HALF, PublisherProcess, PublisherSettings
from sedano.memory import ports

SECONDS = 60.0
BODY = 2**20


class Running:
    """A publisher in a thread, whose programs are sockets of the test."""

    def __init__(self, folder: str) -> None:
        """Start it."""
        self.path, deployment = str(Path(folder) / "p.sock"), ports()
        settings = PublisherSettings("sent", "here", frozenset({os.getuid()}), 4_096, SECONDS)
        self.asked: list[int] = []
        self._signals, self._wakes = socket.socketpair()
        self.process = PublisherProcess(
            listening(self.path, {}), deployment, settings,
            lambda wake: SendingLanes(deployment.queues, 1, deployment.telemetry, wake), None, None,
        )  # fmt: skip
        self._thread = threading.Thread(target=self.process.run, args=(self.asked, self._signals, lambda: None))
        self._thread.start()
        self.opened = ExitStack()

    def program(self) -> socket.socket:
        """Connect a program, and read the first line of the publisher."""
        made = self.opened.enter_context(socket.socket(socket.AF_UNIX))
        made.settimeout(SECONDS)
        made.connect(self.path)
        assert made.recv(1_024).startswith(b"INFO ")
        return made

    def end(self) -> None:
        """End it, and close the programs."""
        self.opened.close()
        self.asked.append(15)
        self._wakes.send(b".")
        self._thread.join()
        self._signals.close()
        self._wakes.close()


@pytest.fixture
def running() -> Iterator[Running]:
    """A publisher that ends with the test."""
    with tempfile.TemporaryDirectory() as folder:
        made = Running(folder)
        yield made
        made.end()


def test_halves_of_publications_are_bounded_together_and_the_oldest_ends_first(running: Running) -> None:
    programs = [running.program() for _ in range(MOST_HALF // (BODY - 1) + 1)]
    for program in programs:
        program.sendall(b"PUB 1 commands:default 0 - %d\n" % BODY + b"x" * (BODY - 1))
    ended, *others = programs
    expected = f"ERR busy more than {MOST_HALF} bytes wait for the rest of their publications\n"
    assert ended.recv(1_024).decode() == expected
    for program in others:
        program.sendall(b"x")
        assert program.recv(1_024) == b"+1\n"
    ended.close()
    again = running.program()
    again.sendall(b"PUB 1 commands:default 0 - 2\nhi")
    assert again.recv(1_024) == b"+1\n"


def test_questions_that_arrive_together_get_one_answer(running: Running) -> None:
    program = running.program()
    program.sendall(b"STAT\n" * 10_000 + b"PUB 1 commands:default 0 - 2\nhi")
    lines = b""
    while not lines.endswith(b"+1\n"):
        lines += program.recv(65_536)
    assert 1 <= lines.count(b"STAT {") <= 100
    program.sendall(b"STAT\n")
    assert program.recv(1_024).startswith(b'STAT {"calls":1,"programs":1,')
