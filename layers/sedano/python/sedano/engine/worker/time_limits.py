"""Time limits of bodies, soft and hard, by Celery's names, as far as possible in a process that also runs other tasks.

- **soft**: `SoftTimeLimitExceeded` is raised inside a `def` body, once; an `async def` body is cancelled, once. Either may clean up and
  return; a body that does not catch it has failed, and is retried by its policy.
- **hard**: an exception that ``except Exception`` does not catch is raised in the body, again every second until it ends; an async one is
  cancelled once more. The task has finally failed (`TimeLimitExceeded`), whatever the body returns afterwards; its publications are not
  sent.
- A body inside a long call of C code cannot be ended without ending the process and its other tasks. A second after its hard limit
  another thread records the failure, under its claim: waiting callers see it in time, and the fence refuses a later record of the body.
  The follow-ups of the failure are published when the body ends, or when its message is delivered again because Lambda ended the process.

How a thread is interrupted: the main thread by a signal, which also ends system calls that wait (a sleep, a socket); any other thread by an
asynchronous exception, which is raised at its next step of Python code, so a long wait ends first. Python drops either where it cannot
raise, in the callback of a weak reference or in `__del__`, and reports it to `sys.unraisablehook`, from which the thread is interrupted
again. Loaded with the first limit.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from sedano.engine.task_context import TaskContext
from sedano.errors import SoftTimeLimitExceeded
from sedano.model.ledger.outcome import Run
from sedano.model.ledger.records import ErrorRecord
from sedano.model.messages.message import TimeLimits
from sedano.ports import Clock

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

AGAIN_S = 1.0
"""The seconds after which a body that did not end is interrupted again, and its failure is recorded by another thread."""


class HardLimit(BaseException):
    """Ends a body at its hard limit; not an `Exception`, so that a body that handles every failure does not catch it."""


DROPPED_S = 0.001
"""The seconds after which a thread is interrupted again if Python dropped the exception; a callback ends meanwhile."""


class _Hook:
    """`sys.unraisablehook` once bodies are watched: reports dropped exceptions to the thread's watch, and the rest to the previous hook.

    Python calls it at any step of any thread, even while a lock is held, so it takes no lock.
    """

    def __init__(self, before: Callable[[UnraisableHookArgs], Any]) -> None:
        """Report exceptions of no watch to *before*."""
        self._before = before

    def __call__(self, unraisable: UnraisableHookArgs) -> None:
        """Report *unraisable*."""
        thread = threading.get_ident()
        for watch in reversed(tuple(_WATCHES)):
            if watch.dropped(thread, unraisable.exc_type):
                return
        self._before(unraisable)


_WATCHES: list[Watch] = []
"""The watches that may interrupt a thread now, the innermost of a thread last."""


class Watch:
    """Watches one body: another thread interrupts the body's thread when a limit has passed.

    *hard_met*: the body was interrupted at its hard limit. *overdue* is called once if the body did not end at its hard limit. *meets*:
        False does not interrupt the body and only calls *overdue*, for a body that is ended in another way.
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
        """Stop watching: after this returns, the thread is not interrupted any more.

        A pending exception that the watch has requested is raised here, because Python checks for it at each call.
        `PyThreadState_SetAsyncExc(thread, NULL)`, which cancels it, leaves a flag of the interpreter set permanently: on Python 3.11 the
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
        """Raise a limit that has passed *seconds* after the body began and was not raised yet; called by the body's checkpoints."""
        if self._limits.hard is not None and seconds >= self._limits.hard:
            raise HardLimit
        if self._limits.soft is not None and seconds >= self._limits.soft and not self._soft_met:
            self._soft_met = True
            raise SoftTimeLimitExceeded

    def dropped(self, thread: int, what: type[BaseException]) -> bool:
        """Return whether this watch raised *what* in *thread*, where Python dropped it; the thread is interrupted again unless its body
        ended."""
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
        """Return whether the watch is closed within *seconds*; None: wait until it is. Meanwhile interrupt the thread again if
        necessary."""
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
        """Raise *with_what* in the body's thread, unless the body has ended or a checkpoint has raised it."""
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
    """Raise *what* in *thread* at its next step of Python code."""
    import ctypes

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(what))


class Limited:
    """Keeps one body within its *limits*. *late* gets the run of a body that did not end, from another thread."""

    hard_limit = HardLimit

    def __init__(self, limits: TimeLimits, clock: Clock, context: TaskContext, late: Callable[[Run], None]) -> None:
        """Begin to measure; the checkpoints of *context* check the limits too."""
        self.limits, self._clock, self._context, self._late = limits, clock, context, late
        self._began = clock.monotonic()
        self._watch = Watch(limits, self._overdue)
        context.limits = self

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
        """Restart the limits, on the body's thread, between two calls of a map; end the body if a call exceeded its hard limit."""
        self._watch.close()
        if self._is_over():
            raise HardLimit
        self._began, self._watch = self._clock.monotonic(), Watch(self.limits, self._overdue)
        self._watch.begin()

    def beside(self) -> Watch:
        """Return a watch that does not interrupt the body, for an async one, which is ended in another way."""
        return Watch(self.limits, self._overdue, meets=False)

    def softly(self) -> Run:
        """Return the run of the body that did not end within its soft limit."""
        return Run(error=ErrorRecord(SoftTimeLimitExceeded.__name__, str(SoftTimeLimitExceeded())))

    def settled(self, run: Run) -> Run:
        """Return the final form of *run*: an end after the hard limit is a failure."""
        return self.ended() if self._is_over() else run

    def _is_over(self) -> bool:
        hard = self.limits.hard
        return self._watch.hard_met or (hard is not None and self._clock.monotonic() - self._began >= hard)

    def ended(self) -> Run:
        """Return the run of the body at its hard limit; its publications are not sent."""
        self._context.outbox.clear()
        self._context.added.clear()
        return _failure(self.limits)

    def check(self) -> None:
        """Raise a limit that has passed."""
        self._watch.check(self._clock.monotonic() - self._began)

    def _overdue(self) -> None:
        self._late(_failure(self.limits))


def _failure(limits: TimeLimits) -> Run:
    """Return the run of a body that did not end within its hard limit, regardless of its end."""
    return Run(error=ErrorRecord("TimeLimitExceeded", f"the task ran longer than its hard time limit of {limits.hard:g} s"), poisonous=True)
