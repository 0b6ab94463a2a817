"""The end of a program that publishes: waiting messages are sent, or stored, before the process ends."""

from __future__ import annotations

import atexit
import signal
import threading
from types import FrameType

from sedano.engine.publisher.publisher import Outlet


def survive_exit(outlet: Outlet) -> None:
    """Let *outlet* send what it keeps back when the process ends, also on SIGTERM; what an earlier process stored goes with the next
    publication.

    To connect sends nothing: a stage that is gone costs a program no wait before its first call.
    """
    atexit.register(outlet.close)
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _on_sigterm)
    outlet.resume()


def _on_sigterm(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)
