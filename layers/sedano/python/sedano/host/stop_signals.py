"""Collects the signals that end a process of workers: a handler notes each signal, and wakes the loop that waits."""

from __future__ import annotations

import select
import signal
import socket
from types import TracebackType
from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopSignals:
    """Collects signals in *asked* while its block runs, in the main thread. *woken* becomes readable when one arrives."""

    def __init__(self) -> None:
        """Collect nothing yet."""
        self.asked: list[int] = []
        self.woken, self._wakes = socket.socketpair()
        self._before: dict[int, Any] = {}
        self._descriptor = -1

    def __enter__(self) -> Self:
        """Begin."""
        for end in (self.woken, self._wakes):
            end.setblocking(False)
        self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        self._descriptor = signal.set_wakeup_fd(self._wakes.fileno(), warn_on_full_buffer=False)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Restore the earlier handlers of the signals."""
        signal.set_wakeup_fd(self._descriptor)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self.woken.close()
        self._wakes.close()

    def _note(self, number: int, _: object) -> None:
        self.asked.append(number)

    def wait(self, seconds: float) -> None:
        """Wait for a signal, at most for *seconds*."""
        if select.select([self.woken], [], [], seconds)[0]:
            self.woken.recv(64)
