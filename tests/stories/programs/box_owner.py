"""A process that owns the group of a boxed program in the middle of a call, says which processes there are, and waits for its death."""

import os
import select
import signal
import sys

from sedano.engine.boxes.child import BoxProcess
from sedano.engine.boxes.watcher import WATCHER
from sedano.model.boxes import BoxPlan, BoxRequest, request_line

child = BoxProcess(BoxPlan("box", tuple(sys.argv[2:])))
os.write(child.requests, request_line(BoxRequest("1", "box", "t", 0, 1, 0.0, ""), ["hang"], {}))
select.select([child.errors], [], [])
hangs = os.read(child.errors, 1_000).decode().split()[1:]
if sys.argv[1] == "replaced":
    os.kill(WATCHER.pid or 0, signal.SIGKILL)
    os.waitid(os.P_PID, WATCHER.pid or 0, os.WEXITED | os.WNOWAIT)
    WATCHER.add(os.getpgid(0))
    WATCHER.remove(os.getpgid(0))
if sys.argv[1] == "removed":
    WATCHER.remove(child.pid)
if sys.argv[1] == "forked" and os.fork() == 0:
    signal.pause()
os.kill(WATCHER.pid or 0, signal.SIGTERM)
print(*hangs, WATCHER.pid, flush=True)
signal.pause()
