"""A command in a process of its own that Ctrl-C ends."""

import sys

_HEARS = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
#: What to begin it through: a test run that was itself started in the background ignores Ctrl-C, and so would whatever it starts.
HEARS_CTRL_C = (sys.executable, "-c", _HEARS)
