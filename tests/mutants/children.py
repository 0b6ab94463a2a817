"""A forked child for each mutant: what it may use, what ends it, and the verdict that it leaves.

A child ends by itself after the first test that fails. It is ended from outside when a test uses much more CPU time than without the
mutant, when every thread of it sleeps for longer than a test ever did without one, and, where there is no /proc, by its alarm.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

KILLED, SURVIVED, UNREACHED, UNPLANTED = "killed", "survived", "unreached", "unplanted"
MOST_MEMORY = 4 * 1_073_741_824
SAID = 8_000
"""The bytes of a verdict, in a file that the child shares with its parent."""
LOOK_S = 0.25


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a mutant was judged: killed, survived, run by no test, or not to be planted; by which test, for what."""

    status: str
    judge: str = ""
    why: str = ""


def say(out: int, verdict: Verdict) -> None:
    """Write down *verdict* in the place of what was said before."""
    text = json.dumps([verdict.status, verdict.judge, verdict.why]).encode()
    os.pwrite(out, text.ljust(SAID), 0)


def limit(cpu: float, wall: float) -> None:
    """End this process after so many seconds of CPU time, or by the clock, from now on."""
    signal.setitimer(signal.ITIMER_PROF, cpu)
    signal.setitimer(signal.ITIMER_REAL, wall)


def forked(body: Callable[[int], None], seconds: float, asleep: float) -> Verdict:
    """Run *body* in a child, for at most *seconds*, of which it sleeps at most *asleep*, and return the last thing that it said."""
    with TemporaryFile() as out:
        child = os.fork()
        if child == 0:
            _child(body, out.fileno())
        _await(child, seconds, asleep)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        return Verdict(*json.loads(os.pread(out.fileno(), SAID, 0)))


def _await(child: int, seconds: float, asleep: float) -> None:
    """Return when *child* has ended, which it does after at most *seconds*; without pidfds, its own alarm alone ends it."""
    if hasattr(os, "pidfd_open"):
        ended, until, woke = os.pidfd_open(child), time.monotonic() + seconds, time.monotonic()
        try:
            while not select.select([ended], [], [], LOOK_S)[0]:
                now = time.monotonic()
                woke = woke if _sleeps(child) else now
                if now > until or now - woke > asleep:
                    os.kill(child, signal.SIGKILL)
                    break
        finally:
            os.close(ended)
    os.waitpid(child, 0)


def _sleeps(child: int) -> bool:
    """Return whether every thread of *child* sleeps and no process of its own works for it. One that lacks a processor does not sleep."""
    try:
        threads = [*Path(f"/proc/{child}/task").iterdir()]
        states = {(one / "stat").read_text().rpartition(") ")[2][:1] for one in threads}
        return states == {"S"} and not any((one / "children").read_text() for one in threads)
    except OSError:
        return False


def _child(body: Callable[[int], None], out: int) -> None:
    """Be the child: whatever happens, nothing of the parent runs in it afterwards."""
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        say(out, Verdict(UNPLANTED, "", "its process died"))
        body(out)
    except BaseException as error:  # noqa: BLE001 - the child ends here
        say(out, Verdict(UNPLANTED, "", repr(error)[:500]))
    finally:
        os._exit(0)
