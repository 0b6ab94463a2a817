"""Runs a module until the process that started it is gone: `python supervisor.py MODULE LIBRARY`, with a pipe as its standard input.

The starter holds the pipe's other end and never writes. However it ends, even by SIGKILL, the system closes the pipe,
and the whole process group (the module, and the functions it started) ends with it. Needs the standard library alone,
because it runs in the endpoint's environment, where sedano is not installed: the module may be one of sedano's that needs no more.
LIBRARY is a directory that holds sedano and nothing else.
"""

import os
import runpy
import signal
import sys
import threading


def end_with_the_pipe() -> None:
    """Waits for the end of standard input, then ends the process group."""
    sys.stdin.buffer.read()
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    threading.Thread(target=end_with_the_pipe, daemon=True).start()
    module = sys.argv.pop(1)
    sys.path[:] = [*sys.path[1:], sys.argv.pop(1)]
    runpy.run_module(module, run_name="__main__")
