"""Crash points: the calls of ports at which a process of the world can die, and the record of the calls of one run.

A test runs once undisturbed, which lists the calls (`CrashWatch.calls`), then once for each point of `points`. Before a call: it is never
made. After it: it was made, and the process dies before it sees the answer. One run more sends every message twice. The pytest plugin does
all that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from sedano.engine.batch import Ran
from sedano.engine.gate import Gate
from sedano.engine.task_context import CURRENT
from sedano.engine.worker.admission import GateEntry
from sedano.errors import OptionError
from sedano.ports import Ports

Side = Literal["before", "after"]
BOTH: tuple[Side, ...] = ("before", "after")
WATCHED = (
    "ledger", "queues", "blobs", "events", "members", "leases", "control", "elections", "flow_runs", "memos", "limits", "timers",
    "schedules", "effects", "sinks",
)  # fmt: skip
"""The ports that reach outside of the process; the others read a clock, draw a number or count."""
DOUBLED = "doubled"
TIMES = {1: "once", 2: "twice"}


class Died(BaseException):
    """The process died: none of its code runs any more. `except Exception` in a body does not catch it; `finally` runs."""


class PortCall(NamedTuple):
    """A call of a port: the *process* that makes it, its *name* (`ledger.record`), the task in whose *body* it is made, and the *sides* at
    which a process can die."""

    process: str
    name: str
    body: str = ""
    sides: tuple[Side, ...] = BOTH


class Point(NamedTuple):
    """A death at call number *at* (from 0), on one *side* of it; *at* None: no death, and every message is sent twice."""

    at: int | None
    side: Side = "before"

    def __str__(self) -> str:
        """Return what `Point.read` reads."""
        return DOUBLED if self.at is None else f"{self.at}-{self.side}"

    @classmethod
    def read(cls, text: str) -> Point:
        """Return the point that *text* names: `31-after`, `31-before` or `doubled`.

        Raises:
            OptionError: it does not name a point.
        """
        number, _, side = text.partition("-")
        if text == DOUBLED:
            return cls(None)
        if number.isdecimal() and side in BOTH:
            return cls(int(number), "after" if side == "after" else "before")
        raise OptionError(f"crash point {text!r}: write the number of a call and a side, such as 31-after, or doubled")


@dataclass
class CrashWatch:
    """Notes the calls that the processes of a world make, and kills one at *point*; None kills none.

    *runs*: how often each task's body ran, including runs that a death interrupted. *fired*: the point was reached.
    """

    point: Point | None = None
    calls: list[PortCall] = field(default_factory=list)
    runs: Counter[str] = field(default_factory=Counter)
    fired: bool = False
    _dead: str = ""

    @property
    def doubles(self) -> bool:
        """Whether every message is sent twice."""
        return self.point is not None and self.point.at is None

    def around(self, process: str, name: str, call: Callable[[], Any]) -> Any:
        """Return what *call* returns, unless *process* dies before or after it."""
        at = self._note(PortCall(process, name, self._body()))
        self._die(process, at, "before")
        answer = call()
        self._die(process, at, "after")
        return answer

    def received(self, process: str) -> None:
        """Note that *process* received messages; it can die while it holds them."""
        self._die(process, self._note(PortCall(process, "queues.receive", sides=("after",))), "after")

    def restarted(self) -> None:
        """Let the process that died be replaced."""
        self._dead = ""

    def tapped(self, ports: Ports, process: str, *, in_bodies: bool = False) -> Ports:
        """Return *ports* for *process* with each call watched; *in_bodies*: watch only calls made in a task's body."""
        taps: dict[str, Any] = {name: _Tap(self, getattr(ports, name), process, name, in_bodies) for name in WATCHED}
        return replace(ports, **taps)

    def gate(self) -> GateEntry:
        """Return the gate of a worker that counts the bodies that ended."""
        return GateEntry("crash points", lambda _: True, lambda _: _Counting(self.runs))

    def _note(self, call: PortCall) -> int:
        if self._dead == call.process:
            raise Died
        self.calls.append(call)
        return len(self.calls) - 1

    def _die(self, process: str, at: int, side: Side) -> None:
        if self.point == (at, side):
            self.fired, self._dead = True, process
            self.runs.update([body] if (body := self._body()) else [])
            raise Died

    @staticmethod
    def _body() -> str:
        context = CURRENT.get()
        return "" if context is None else context.task


class _Counting(Gate):
    def __init__(self, runs: Counter[str]) -> None:
        self._runs = runs

    def note(self, ran: Ran) -> None:
        """Count a body that ended."""
        self._runs[ran.held.job.task.name] += 1


class _Tap:
    """A watched port."""

    def __init__(self, watch: CrashWatch, port: Any, process: str, name: str, in_bodies: bool) -> None:
        self._watch, self._port, self._process, self._name, self._in_bodies = watch, port, process, name, in_bodies

    def __getattr__(self, operation: str) -> Any:
        """Return the port's operation, watched."""
        method = getattr(self._port, operation)
        if not callable(method) or (self._in_bodies and CURRENT.get() is None):
            return method

        def watched(*args: Any, **kwargs: Any) -> Any:
            return self._watch.around(self._process, f"{self._name}.{operation}", lambda: method(*args, **kwargs))

        return watched


def points(calls: Sequence[PortCall]) -> list[Point]:
    """Return every point of a run that made these *calls*, in their order."""
    return [Point(at, side) for at, call in enumerate(calls) for side in call.sides]


def sampled(every: Sequence[Point], most: int) -> list[Point]:
    """Return at most *most* of *every* point: all of them, or *most* at even distances, including the first and the last."""
    if len(every) <= most:
        return list(every)
    if most == 1:
        return [every[len(every) // 2]]
    return [every[number * (len(every) - 1) // (most - 1)] for number in range(most)]


def place(point: Point, calls: Sequence[PortCall]) -> str:
    """Return in words where *point* lies in an undisturbed run that made these *calls*."""
    if point.at is None:
        return "every message was delivered twice"
    call = calls[point.at]
    own = [number for number, one in enumerate(calls) if one.process == call.process]
    where = own.index(point.at)
    body = f", in the body of {call.body}" if call.body else ""
    if point.side == "before":
        earlier = f" (after {calls[own[where - 1]].name})" if where else ""
        return f"the {call.process} died before {call.name}{earlier}{body}"
    later = f", before {calls[own[where + 1]].name}" if where + 1 < len(own) else ""
    return f"the {call.process} died after {call.name}{later}{body}"


def ran_again(runs: Counter[str], undisturbed: Counter[str]) -> str:
    """Return in words which bodies ran more often than *undisturbed*."""
    more = [f"{task} ran {TIMES.get(times, f'{times} times')}" for task, times in sorted(runs.items()) if times > undisturbed[task]]
    return ", ".join(more) or "no body ran again"
