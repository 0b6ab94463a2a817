"""Waiting until a process that a test began has ended: told by the system, not looked for again and again."""

import os
import select

MOST_SECONDS = 240.0


def until_ended(pid: int) -> None:
    """Wait until this child of ours has ended; how it did can still be asked by the code that began it."""
    if not hasattr(os, "pidfd_open"):
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        return
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:  # its end was read already
        return
    try:
        assert select.select([process], [], [], MOST_SECONDS)[0], f"process {pid} has not ended after {MOST_SECONDS} s"
    finally:
        os.close(process)
