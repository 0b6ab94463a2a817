"""Runs a module until the process that started it has ended: `python supervisor.py MODULE LIBRARY`, with a pipe as its standard input.

The starting process holds the pipe's other end and never writes. When it ends, even by SIGKILL, the system closes the pipe, and the whole
process group (the module, and the functions that it started) ends. This file needs only the standard library, because it runs in the
endpoint's environment, where sedano is not installed; MODULE may be a module of sedano with the same restriction. LIBRARY is a directory
that contains only sedano.
"""

import os
import runpy
import signal
import sys
import threading


def end_with_the_pipe() -> None:
    """Wait for the end of standard input, then end the process group."""
    sys.stdin.buffer.read()
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    threading.Thread(target=end_with_the_pipe, daemon=True).start()
    module = sys.argv.pop(1)
    sys.path[:] = [*sys.path[1:], sys.argv.pop(1)]
    runpy.run_module(module, run_name="__main__")
