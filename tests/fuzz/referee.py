"""What one execution must keep, whatever the input: the referee of the fuzzer.

A target's `run` raises `Broken` for a promise of its own that was broken (a neighbour that did not run, an input that was dropped without a
trace). Around it stand the promises that all have in common: no exception but a refusal of the closed list leaves it, it takes at most
`CPU_S` of CPU and `BYTES` of memory, and it imports nothing.
"""

from __future__ import annotations

import atexit
import gc
import resource
import signal
import sys
import time
import traceback
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NamedTuple

CPU_S = 0.120
"""The most CPU that one message may cost."""
BYTES = 64 * 1_048_576
"""The most memory that one message may cost."""
ENDLESS_S = 4
"""An execution that goes on for so long is ended."""
GROWTH_KB = 8_192
"""When the process has grown by so much, what made it grow is measured."""
SUSPECT_S = CPU_S / 3
"""An execution that takes so long is measured again."""
Run = Callable[[bytes], None]


class Broken(Exception):
    """An execution broke a promise; the message says which."""


class Endless(BaseException):
    """An execution did not end."""


class Escape(NamedTuple):
    """A promise that an input broke: its *kind*, in which *place* of the library, and what was raised or measured."""

    kind: str
    place: str
    detail: str

    @property
    def key(self) -> str:
        """What escapes of one cause have in common."""
        return f"{self.kind} at {self.place}"


class Referee:
    """Runs inputs and says what they broke."""

    def __init__(self, run: Run, most_cpu: float = CPU_S) -> None:
        """Judge *run*, whose one execution may take *most_cpu* seconds of CPU."""
        self._run, self.most_cpu = run, most_cpu
        self.slowest = 0.0
        self.largest = 0
        self._resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self._modules: set[str] = set()

    def learn(self) -> None:
        """Take the modules that are imported by now as those that the library imports of its own accord."""
        self._modules = set(sys.modules)

    def judge(self, data: bytes) -> Escape | None:
        """Run *data* once and return what it broke, if anything."""
        WATCH.begin()
        began = time.process_time()
        escape = self._ran(data)
        took = time.process_time() - began
        WATCH.end()
        if escape is not None:
            return escape
        if took > self.slowest:
            escape = self._slow(data, took)
        resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if resident > self._resident + GROWTH_KB:
            self._resident = resident
            escape = escape or self.measured(data)
        if self._modules and len(sys.modules) > len(self._modules):
            escape = escape or self._imported()
        return escape

    def measured(self, data: bytes) -> Escape | None:
        """Run *data* once more and measure its memory."""
        gc.collect()
        tracemalloc.start()
        WATCH.begin(40)
        try:
            self._ran(data)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            WATCH.end()
            tracemalloc.stop()
        self.largest = max(self.largest, peak)
        return Escape("memory", "the whole input", f"{peak / 1_048_576:.0f} MiB") if peak > BYTES else None

    def _ran(self, data: bytes) -> Escape | None:
        try:
            self._run(data)
        except Broken as broken:
            return Escape("promise", str(broken).partition(":")[0], str(broken)[:300])
        except Endless:
            return Escape("endless", "the whole input", f"more than {ENDLESS_S} s of CPU")
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever leaves is what is looked for
            return Escape(type(error).__name__, place_of(error), f"{type(error).__name__}: {error!s:.200}")
        return None

    def _slow(self, data: bytes, took: float) -> Escape | None:
        """Return whether *data* is too slow each time: one slow run may be the machine's."""
        tries = [took]
        while min(tries) > SUSPECT_S and len(tries) < 4:
            WATCH.begin()
            began = time.process_time()
            self._ran(data)
            tries.append(time.process_time() - began)
            WATCH.end()
        self.slowest = max(self.slowest, min(tries))
        return Escape("cpu", "the whole input", f"{min(tries) * 1000:.0f} ms of CPU") if min(tries) > self.most_cpu else None

    def _imported(self) -> Escape | None:
        new = set(sys.modules) - self._modules
        self._modules |= new
        strange = sorted(name for name in new if not name.startswith("sedano.") and name.partition(".")[0] not in sys.stdlib_module_names)
        return Escape("import", strange[0], f"imported {', '.join(strange)}") if strange else None


class _Watch:
    """Ends an execution that does not end: looks each second of CPU whether it still is the same one."""

    def __init__(self) -> None:
        self._number = 0
        self._seen = 0
        self._ticks = 0
        self._most = ENDLESS_S
        self._running = False

    def start(self) -> None:
        """Begin to look; once a process, on its main thread."""
        signal.signal(signal.SIGVTALRM, self._tick)
        signal.setitimer(signal.ITIMER_VIRTUAL, 1.0, 1.0)
        atexit.register(signal.setitimer, signal.ITIMER_VIRTUAL, 0.0)  # the handler is gone before the process is

    def begin(self, most: int = ENDLESS_S) -> None:
        """An execution begins, which may take *most* seconds of CPU."""
        self._number += 1
        self._most = most
        self._running = True

    def end(self) -> None:
        """It has ended."""
        self._running = False

    def _tick(self, number: int, frame: FrameType | None) -> None:
        same = self._running and self._seen == self._number
        self._ticks = self._ticks + 1 if same else 0
        self._seen = self._number
        if self._ticks >= self._most:
            self._ticks = 0
            raise Endless


WATCH = _Watch()


def place_of(error: BaseException) -> str:
    """Return where in the library *error* was raised, or where the library called what raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/sedano/" in frame.filename] or frames
    return f"{'/'.join(Path(ours[-1].filename).parts[-2:])}:{ours[-1].lineno} {ours[-1].name}" if ours else "nowhere"
