"""One connection of a program to the publisher process of its host. Used by one thread at a time."""

from __future__ import annotations

import select
import socket
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from sedano.model.publisher_frames import PublisherInfo, Refusal, Unconfirmed, publication_bytes, read_info
from sedano.ports import Outgoing

CHUNK = 65_536
LONGEST_ANSWER = 4_096
"""The most bytes of a line of the publisher."""
LEAST_S = 0.001


class PublisherConnection:
    """A connection over *channel*, whose waits end at a monotonic moment."""

    def __init__(self, channel: socket.socket, monotonic: Callable[[], float]) -> None:
        """Connect to nothing yet."""
        self._channel, self._monotonic = channel, monotonic
        self._lines: deque[bytes] = deque()
        self._rest = b""
        self._unconfirmed = Unconfirmed()
        self._ready, self._both = select.poll(), select.poll()

    def open(self, path: str, until: float) -> PublisherInfo:
        """Connect to the socket at *path* before *until*, and return what the publisher says of itself.

        Raises:
            OSError: no process listens there, or it does not answer in time.
            ValueError: it is not a publisher of this version.
        """
        try:
            self._bound(until)
            self._channel.connect(path)
            self._channel.setblocking(False)
            self._ready.register(self._channel, select.POLLIN)
            self._both.register(self._channel, select.POLLIN | select.POLLOUT)
            info = read_info(self._line(until))
        except BaseException:
            self._channel.close()
            raise
        self._window = info.window
        return info

    def exchange(
        self, queue: str, messages: Sequence[Outgoing], answers: dict[int, Refusal | None], until: float
    ) -> None:  # fmt: skip
        """Write *messages* and note in *answers*, by their position, which were confirmed (None) or refused; the connection is closed
        where it fails.

        Raises:
            OSError: the publisher has ended, or has not answered before *until*.
            ValueError: its answer cannot be read.
        """
        try:
            for start in range(0, len(messages), self._window):
                self._exchange_window(queue, messages[start : start + self._window], start, answers, until)
        except BaseException:
            self._channel.close()
            raise

    def close(self) -> None:
        """Close it."""
        self._channel.close()

    def _exchange_window(
        self, queue: str, messages: Sequence[Outgoing], start: int, answers: dict[int, Refusal | None], until: float
    ) -> None:  # fmt: skip
        first = self._unconfirmed.last + 1
        add = self._unconfirmed.add
        written = b"".join([publication_bytes(add(), queue, m.delay, m.tenant, m.body) for m in messages])
        self._write(written, until)
        while len(self._unconfirmed):
            for seq, refusal in self._unconfirmed.read(self._line(until)):
                answers[start + seq - first] = refusal

    def _write(self, written: bytes, until: float) -> None:
        """Write all; answers are read meanwhile, because a publisher reads no program that leaves its answers unread."""
        left = memoryview(written)
        while True:
            with suppress(BlockingIOError):
                left = left[self._channel.send(left) :]
            if not left:
                return
            if self._wait(self._both, until) & ~select.POLLOUT:
                self._read()

    def _line(self, until: float) -> bytes:
        """Return the next line, without its end."""
        while not self._lines:
            self._wait(self._ready, until)
            self._read()
        return self._lines.popleft()

    def _read(self) -> None:
        """Read the lines that have arrived."""
        data = self._channel.recv(CHUNK)
        if not data:
            raise ConnectionResetError("the publisher closed the connection")
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._lines += lines
        if len(self._rest) > LONGEST_ANSWER:
            raise ValueError("a line of the publisher does not end")

    def _wait(self, what: select.poll, until: float) -> int:
        """Wait for an event before *until*, and return it."""
        found = what.poll(max(0.0, until - self._monotonic()) * 1_000)
        if not found:
            raise TimeoutError("the publisher does not answer")
        return found[0][1]

    def _bound(self, until: float) -> None:
        self._channel.settimeout(max(LEAST_S, until - self._monotonic()))
