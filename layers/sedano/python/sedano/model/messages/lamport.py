"""A hybrid Lamport clock: one integer that orders causes before effects and stays close to physical time.

`forward` is the local tick, `adjust` merges the clock of a received message (PROTOCOLS §1; Lamport 1978, Kulkarni et al. 2014, and kombu's
`LamportClock`, which has the same method names). The unit is the microsecond since the epoch, so the clock is correct at once after a cold
start, and no counter is stored. The value is safe as a JSON number until 2255.

Promises: C1, e → f implies clock(e) < clock(f). C2, a clock is never further ahead of physical time than `MAX_AHEAD` plus one tick per
event, because a remote clock that is further ahead is refused: one message with a wrong clock cannot advance the clocks of a whole cluster.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

MAX_AHEAD_US = 300_000_000
"""How far (microseconds) a remote clock may be ahead of this machine; a clock further ahead is refused."""


class ClockAhead(ValueError):
    """A remote clock is further ahead of this machine than `MAX_AHEAD_US`."""


def forward(clock: int, now_us: int) -> int:
    """Return the clock after one local event at *now_us*."""
    return now_us if now_us > clock else clock + 1


def adjust(clock: int, other: int, now_us: int) -> int:
    """Return the clock after receiving *other*; raise `ClockAhead` if *other* is more than five minutes ahead of *now_us*."""
    if other > now_us + MAX_AHEAD_US:
        far, most = (other - now_us) / 1e6, MAX_AHEAD_US / 1e6
        raise ClockAhead(f"the message's clock is {far:.0f} s ahead of this machine's, and {most:.0f} are allowed: one of the two is wrong")
    return max(clock, other, now_us) + 1


def agrees(clock: int, sent: float) -> bool:
    """Return whether *clock* is plausible for a message that the queue accepted at *sent* (epoch s; 0: unknown).

    A machine whose clock is more than five minutes ahead cannot sign a request (SigV4), so no valid clock is further ahead of the queue's
    clock. One second is added for the ticks of events in between and for the queue's rounding.
    """
    return sent > 0 and clock <= int(sent * 1e6) + MAX_AHEAD_US + 1_000_000


class LamportClock:
    """The clock of one process: thread-safe, with kombu's two methods.

    *now_us* returns physical time in microseconds; tests and the simulator control time through this argument.
    """

    __slots__ = ("_lock", "_now_us", "value")

    def __init__(self, now_us: Callable[[], int], value: int = 0) -> None:
        """Start at *value*, usually 0: the first tick catches up with physical time."""
        self._now_us = now_us
        self._lock = threading.Lock()
        self.value = value

    def forward(self) -> int:
        """Tick for a local event and return the new value."""
        now_us = self._now_us()
        with self._lock:
            self.value = value = now_us if now_us > self.value else self.value + 1  # inlined `forward`: this runs once per event
        return value

    def adjust(self, other: int) -> int:
        """Tick for a received *other* and return the new value. If *other* is too far ahead, raise `ClockAhead` and stay unchanged."""
        now_us = self._now_us()
        with self._lock:
            self.value = value = adjust(self.value, other, now_us)
        return value
