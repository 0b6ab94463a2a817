"""Time limits of bodies, soft and hard, by Celery's names, as far as a process allows that other tasks run in as well.

- **soft**: `SoftTimeLimitExceeded` is raised inside a `def` body, once; an `async def` body is cancelled, once. Either may clean up and
  return; one that lets it pass has failed, and is tried again by its policy.
- **hard**: the body is ended by what ``except Exception`` does not catch, again every second until it goes; an async one is cancelled once
  more. The task has failed for good (`TimeLimitExceeded`), whatever the body returns afterwards; what it published is not sent.
- A body that does not yield, because it is in a long call of C, cannot be ended without the process and the tasks beside it. A second after
  its hard limit the failure is recorded from beside it, under its claim: callers that wait see it in time, and the fence refuses a later
  record of the body. The follow-ups of the failure are published when the body ends, or when its message is delivered again because Lambda
  ended the process.

How a thread is met: the main one by a signal, which also ends what waits for the system (a sleep, a socket); any other by an asynchronous
exception, which it meets at its next step of Python code, so that a long wait ends before it does. Python drops either where it can raise
nothing, in the callback of a weak reference or in `__del__`, and reports it to `sys.unraisablehook`: the thread is met again from there.
Loaded with the first limit.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from sedano.engine.context import TaskContext
from sedano.errors import SoftTimeLimitExceeded
from sedano.model.ledger.outcome import Run
from sedano.model.ledger.records import ErrorRecord
from sedano.model.messages.message import TimeLimits
from sedano.ports import Clock

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

AGAIN_S = 1.0
"""The seconds after which a body that did not go is met again, and its failure recorded from beside it."""


class HardLimit(BaseException):
    """Ends a body at its hard limit; no `Exception`, so that a body that handles every failure does not handle this."""


DROPPED_S = 0.001
"""The seconds after which a thread is met again that Python kept from seeing what it met: a callback ends meanwhile."""


class _Hook:
    """`sys.unraisablehook` once bodies are watched: reports to a thread's watch what Python dropped there, to the hook before it the rest.

    Python calls it at any step of any thread, in the middle of a lock too: it takes none.
    """

    def __init__(self, before: Callable[[UnraisableHookArgs], Any]) -> None:
        """Report to *before* what is not a watch's."""
        self._before = before

    def __call__(self, unraisable: UnraisableHookArgs) -> None:
        """Report *unraisable*."""
        thread = threading.get_ident()
        for watch in reversed(tuple(_WATCHES)):
            if watch.dropped(thread, unraisable.exc_type):
                return
        self._before(unraisable)


_WATCHES: list[Watch] = []
"""The watches that may meet a thread now, the innermost of a thread last."""


class Watch:
    """Watches one body: a thread beside it that meets the body's thread when a limit is over.

    *hard_met*: the body was met at its hard limit. *overdue* is called once when the body did not go at its hard limit. *meets*: False
    leaves the body alone and only calls *overdue*, for a body that is ended in another way.
    """

    def __init__(self, limits: TimeLimits, overdue: Callable[[], None], *, meets: bool = True) -> None:
        """Watch the body that this thread is about to run."""
        self._limits, self._overdue, self._meets = limits, overdue, meets
        self._thread = threading.get_ident()
        self._by_signal = meets and threading.current_thread() is threading.main_thread() and hasattr(signal, "pthread_kill")
        self._lock, self._begun = threading.Lock(), threading.Event()
        self._news: SimpleQueue[type[BaseException] | None] = SimpleQueue()  # None: closed; it may be put to in the middle of a put
        self._over = self._soft_met = self.hard_met = False
        self._waiting: type[BaseException] | None = None
        self._met_with: type[BaseException] | None = None
        self._before: Any = None

    def begin(self) -> None:
        """Begin to watch."""
        if self._meets:
            if not isinstance(sys.unraisablehook, _Hook):
                sys.unraisablehook = _Hook(sys.unraisablehook)
            _WATCHES.append(self)
        if self._by_signal:
            self._before = signal.signal(signal.SIGALRM, self._rung)
        threading.Thread(target=self._watch, name="sedano-time-limit", daemon=True).start()
        self._begun.set()  # only now: what meets this thread must not meet it while it starts another

    def close(self) -> None:
        """Stop watching: nothing meets this thread any more once it returns.

        An exception that the watch has asked for, and that this thread has not met yet, is met here: Python looks for it at each call.
        `PyThreadState_SetAsyncExc(thread, NULL)`, which takes it back, leaves a flag of the interpreter set for good: on Python 3.11 the
        next function that a debugger, a profiler or coverage traces then never begins, and 3.12 runs at half its speed.
        """
        while True:
            try:
                with self._lock:
                    self._over = True
                self._news.put(None)
                if self in _WATCHES:
                    _WATCHES.remove(self)
                if self._by_signal:
                    signal.signal(signal.SIGALRM, self._before if self._before is not None else signal.SIG_DFL)
            except (SoftTimeLimitExceeded, HardLimit):
                continue
            return

    def check(self, seconds: float) -> None:
        """Raise what the body has not met yet, *seconds* after it began: its checkpoints ask this."""
        if self._limits.hard is not None and seconds >= self._limits.hard:
            raise HardLimit
        if self._limits.soft is not None and seconds >= self._limits.soft and not self._soft_met:
            self._soft_met = True
            raise SoftTimeLimitExceeded

    def dropped(self, thread: int, what: type[BaseException]) -> bool:
        """Return whether this watch had *thread* meet *what*, which Python dropped there; the thread is met again unless its body ended."""
        if thread != self._thread or what is not self._met_with:
            return False
        if not self._over:
            self._news.put(what)
        return True

    def _watch(self) -> None:
        soft, hard = self._limits.soft, self._limits.hard
        self._begun.wait()
        if soft is not None:
            if self._closes_within(soft):
                return
            self._meet(SoftTimeLimitExceeded)
        if self._closes_within(None if hard is None else hard - (soft or 0.0)):
            return
        self._meet(HardLimit)
        if self._closes_within(AGAIN_S):
            return
        self._overdue()
        while not self._closes_within(AGAIN_S):
            self._meet(HardLimit)

    def _closes_within(self, seconds: float | None) -> bool:
        """Return whether the watch is closed within *seconds*; None: wait until it is. Meanwhile meet the thread again where it must be."""
        until = None if seconds is None else time.monotonic() + seconds
        while True:
            try:
                news = self._news.get(timeout=None if until is None else max(0.0, until - time.monotonic()))
            except Empty:
                return False
            if news is None:
                return True
            time.sleep(DROPPED_S)
            with self._lock:
                if not self._over:
                    self._send(news)

    def _meet(self, with_what: type[BaseException]) -> None:
        """Have the body's thread raise *with_what*, unless the body has ended or met it at a checkpoint."""
        with self._lock:
            if self._over or not self._meets or (with_what is SoftTimeLimitExceeded and self._soft_met):
                return
            self._soft_met, self.hard_met = True, with_what is HardLimit
            self._send(with_what)

    def _send(self, what: type[BaseException]) -> None:
        self._met_with = what
        if self._by_signal:
            self._waiting = what
            signal.pthread_kill(self._thread, signal.SIGALRM)
        else:
            _raise_in(self._thread, what)

    def _rung(self, _number: int, _frame: Any) -> None:
        found, self._waiting = self._waiting, None
        if found is not None and not self._over:
            raise found


def _raise_in(thread: int, what: type[BaseException]) -> None:
    """Have *thread* raise *what* at its next step of Python code."""
    import ctypes

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(what))


class Limited:
    """Keeps one body within its *limits*. *late* gets the run of a body that did not end, from another thread."""

    hard_limit = HardLimit

    def __init__(self, limits: TimeLimits, clock: Clock, context: TaskContext, late: Callable[[Run], None]) -> None:
        """Begin to measure; the checkpoints of *context* know the limits as well."""
        self.limits, self._clock, self._context, self._late = limits, clock, context, late
        self._began = clock.monotonic()
        self._watch, self._asks = Watch(limits, self._overdue), context.checkpoint
        context.checkpoint, context.again = self._check, self.again

    def run(self, body: Callable[[], Run]) -> Run:
        """Return the run of *body*, on this thread, within its limits."""
        found: Run | None = None
        try:
            try:
                self._watch.begin()
                found = body()
            finally:
                self._watch.close()
        except (SoftTimeLimitExceeded, HardLimit):  # it was met in the last steps around the body
            pass
        self._close()
        return self.settled(self.softly() if found is None else found)

    def _close(self) -> None:
        while True:
            try:
                self._watch.close()
            except (SoftTimeLimitExceeded, HardLimit):  # on the way into the call
                continue
            return

    def again(self) -> None:
        """Begin the limits anew, on the body's thread, as a map asks between its calls; end it when a call was over its hard one."""
        self._watch.close()
        if self._is_over():
            raise HardLimit
        self._began, self._watch = self._clock.monotonic(), Watch(self.limits, self._overdue)
        self._watch.begin()

    def beside(self) -> Watch:
        """Return a watch that leaves the body alone, for one that is ended in another way: an async one."""
        return Watch(self.limits, self._overdue, meets=False)

    def softly(self) -> Run:
        """Return the run of the body that did not end within its soft limit."""
        return Run(error=ErrorRecord(SoftTimeLimitExceeded.__name__, str(SoftTimeLimitExceeded())))

    def settled(self, run: Run) -> Run:
        """Return *run* as it counts: an end after the hard limit is a failure."""
        return self.ended() if self._is_over() else run

    def _is_over(self) -> bool:
        hard = self.limits.hard
        return self._watch.hard_met or (hard is not None and self._clock.monotonic() - self._began >= hard)

    def ended(self) -> Run:
        """Return the run of the body at its hard limit; what it published is not sent."""
        self._context.outbox.clear()
        self._context.added.clear()
        return _failure(self.limits)

    def _check(self) -> None:
        self._watch.check(self._clock.monotonic() - self._began)
        if self._asks is not None:
            self._asks()

    def _overdue(self) -> None:
        self._late(_failure(self.limits))


def _failure(limits: TimeLimits) -> Run:
    """Return the run of a body that did not end within its hard limit, regardless of its end."""
    return Run(error=ErrorRecord("TimeLimitExceeded", f"the task ran longer than its hard time limit of {limits.hard:g} s"), poisonous=True)
