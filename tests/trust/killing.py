"""Killing a process of the endpoint, which may only be handed its next invocation when it sees that the process has ended."""

import os
import select
import signal

MOST_SECONDS = 60.0


def kill(pid: int) -> None:
    """Kill a process that may be somebody else's child, and wait until its parent can see its end (where the system tells: Linux)."""
    if not hasattr(os, "pidfd_open"):
        os.kill(pid, signal.SIGKILL)
        return
    ended = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(ended, signal.SIGKILL)
        assert select.select([ended], [], [], MOST_SECONDS)[0], f"process {pid} does not end"
    finally:
        os.close(ended)
