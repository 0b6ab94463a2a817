"""The beats of the loops of one process, and the watchdog, which gives signs of life only while all loops move (`sedano.model.beats`)."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable
from typing import NamedTuple
from weakref import WeakSet

from sedano.engine.worker.claim_extension import Beat as Extension
from sedano.engine.worker.claim_extension import StandingTicker, Ticker
from sedano.model.beats import Allowances, Beat, LoopAge, stuck, watched
from sedano.ports import Telemetry

FRAMES = 5
"""How many of the innermost calls of a stuck loop are logged."""


def _never() -> bool:
    return False


class Pulse:
    """The beat of one loop, which calls it on its own thread. *is_busy*: whether a body runs in it, which may take any time."""

    def __init__(self, is_busy: Callable[[], bool] = _never) -> None:
        """Begin without a limit."""
        self.last, self.thread, self.is_busy = Beat(0, None), 0, is_busy

    def beat(self, allowed: float | None) -> None:
        """Note that the loop has moved, and that its next move takes at most *allowed* seconds; None: it may wait without a limit."""
        self.last, self.thread = Beat(self.last.turns + 1, allowed), threading.get_ident()


class Pulses:
    """All beats of a process. Loops are added and removed on any thread; one thread checks them."""

    def __init__(self, allowed: Allowances) -> None:
        """Begin with none."""
        self.allowed = allowed
        self.stuck: list[str] = []
        """The loops that were stuck at the last check."""
        self._loops: dict[str, Pulse] = {}
        self._watched: dict[str, LoopAge] = {}
        self._tickers = WeakSet[StandingTicker]()  # those of lanes that are gone go with them
        self._lock = threading.Lock()

    def of(self, name: str, is_busy: Callable[[], bool] = _never) -> Pulse:
        """Return the pulse of the loop called *name* from now on."""
        made = Pulse(is_busy)
        with self._lock:
            self._loops[name] = made
        return made

    def end(self, name: str) -> None:
        """Forget the loop called *name*, which has ended as it should."""
        with self._lock:
            self._loops.pop(name, None)

    def close(self) -> None:
        """End the threads of the tickers, after the last batch."""
        with self._lock:
            tickers = list(self._tickers)
        for ticker in tickers:
            ticker.close()

    def look(self, step: float) -> list[str]:
        """Return the names of the loops that are stuck, *step* seconds after the last check."""
        with self._lock:
            loops = dict(self._loops)
        beats = {name: pulse.last._replace(allowed=None) if pulse.is_busy() else pulse.last for name, pulse in loops.items()}
        self._watched = {name: watched(self._watched.get(name), beat, step) for name, beat in beats.items()}
        self.stuck = stuck(self._watched)
        return self.stuck

    def place(self, name: str) -> list[str]:
        """Return where the loop called *name* is: its innermost calls, without values."""
        pulse = self._loops.get(name)
        frame = sys._current_frames().get(pulse.thread) if pulse is not None else None  # noqa: SLF001 - documented, and the only way
        found = traceback.extract_stack(frame)[-FRAMES:] if frame is not None else []
        return [f"{at.filename}:{at.lineno} {at.name}" for at in found]

    def ticker(self, name: str, telemetry: Telemetry) -> Ticker:
        """Return a ticker that extends claims; while it has claims to extend, its beats count as those of the loop called *name*."""

        def report(error: BaseException) -> None:
            telemetry.log("error", "a beat failed; the next one follows", loop=name, error=f"{type(error).__name__}: {error}")

        standing = StandingTicker(report)
        with self._lock:
            self._tickers.add(standing)

        def begin(seconds: float, extend: Extension) -> Callable[[], None]:
            pulse = self.of(name)
            pulse.beat(seconds + self.allowed.call)

            def beat() -> None:
                extend()
                pulse.beat(seconds + self.allowed.call)

            stop = standing.begin(seconds, beat)

            def ended() -> None:
                stop()
                self.end(name)

            return ended

        return begin


class Feed(NamedTuple):
    """A receiver of signs of life: *give* sends one, every so many *seconds*."""

    seconds: float
    give: Callable[[], None]


class Watchdog:
    """Checks the pulses of a process, and sends signs of life to their receivers while no loop is stuck."""

    def __init__(self, pulses: Pulses, telemetry: Telemetry, monotonic: Callable[[], float], feeds: tuple[Feed, ...] = ()) -> None:
        """Send nothing yet."""
        self._pulses, self._telemetry, self._monotonic = pulses, telemetry, monotonic
        self._feeds, self._due = feeds, [0.0] * len(feeds)
        self.stuck: list[str] = []
        self.looked = monotonic()

    def look(self) -> None:
        """Check once; log a loop that is stuck, with its place in the code."""
        now = self._monotonic()
        found, before = self._pulses.look(now - self.looked), self.stuck
        self.stuck, self.looked = found, now
        for name in found:
            if name not in before:
                words = "a loop of this process is stuck; no sign of life is sent"
                self._telemetry.log("error", words, loop=name, at=self._pulses.place(name))
        for name in before:
            if name not in found:
                self._telemetry.log("warning", "a loop of this process makes progress again, or has ended", loop=name)
        if not found:
            self._feed(now)

    def _feed(self, now: float) -> None:
        for number, feed in enumerate(self._feeds):
            if now >= self._due[number]:
                self._due[number] = now + feed.seconds
                feed.give()

    def away(self) -> float:
        """Return how many seconds ago the last check was."""
        return self._monotonic() - self.looked
