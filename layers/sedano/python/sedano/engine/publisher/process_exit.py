"""The end of a program that publishes: waiting messages are sent, or stored, before the process ends."""

from __future__ import annotations

import atexit
import signal
import threading
from types import FrameType

from sedano.engine.publisher.publisher import Outlet


def survive_exit(outlet: Outlet) -> None:
    """Let *outlet* send pending messages when the process ends, also on SIGTERM; messages that an earlier process stored are sent after the
    next publication.

    Connecting sends nothing, so with a deleted stage a program does not wait before its first call.
    """
    atexit.register(outlet.close)
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _on_sigterm)
    outlet.resume()


def _on_sigterm(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)
