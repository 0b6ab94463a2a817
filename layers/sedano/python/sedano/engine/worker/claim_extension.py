"""Extends claims and visibilities while bodies run, for a host whose queue makes a message visible again before a body can end.

On Lambda a claim lasts as long as the invocation, and the visibility longer, so nothing is extended.
A host that gives `WorkerSettings.visibility` claims for a little less than that (`claim_length`). Every sixth of the claim's length
both are extended: first the claim, then the visibility of its message, and only where the claim is still held.

States of a claim, seen from its holder: *held*, and after a refusal *lost*. The one write is EXTEND (`Ledger.extend`):

    held  --EXTEND: RUNNING and my nonce and my fence and a later end--> held until then
    held  --refused: someone else's nonce or fence, or ended------------> lost; neither it nor its message is extended again
    held  --not answered-------------------------------------------------> held as before; the next beat asks again

- RUNNING, nonce and fence: a worker that lost the claim cannot take the task back, and one that has recorded cannot reopen it.
- A later end: an extension that arrives late cannot shorten a newer one.
- The end is counted from before the request is sent, and the holder's belief ends a guard earlier. So no holder believes in its claim
  longer than the ledger records it, and a worker whose clock is ahead by less than the guard cannot take over a claim in which the holder
  still believes.
- STEAL compares the end exactly as it was seen, so of a steal and an extension the first wins.

A message without a claim has no such protection: once its visibility may have ended, it is not extended any more, because another worker
may have it.

The visibility is longer than the claim by two guards, so that the first delivery after a death may take over at once. Messages of the batch
that are not claimed yet are kept invisible as well. Nothing is extended beyond the batch's deadline, so a body that hangs is taken over.

A body begins only while its claim, or without a claim the visibility of its message, lasts by this worker's own belief (`holds`). Once they
have lapsed or were taken over, another worker may have begun the body already: the message is not touched, and the claim is released.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import NamedTuple

from sedano.engine.batch import NOT_EXTENDED, Batch, Held
from sedano.engine.task_context import TaskContext
from sedano.errors import OptionError, SedanoError
from sedano.model.ledger.records import Extension, Outcome, Recorded, TaskRecord
from sedano.ports import Delivery, Ledger, Ports

GivenUp = tuple[Delivery, Outcome]
"""A message whose body does not end, and the outcome that releases its claim."""

GUARD_S = 1.0
"""How much (s) the clocks of two workers may differ; a message stays invisible for twice that after its claim."""
SHORTEST_S = 3 * GUARD_S + 1.0
"""The shortest visibility that can be extended in time."""
BEATS = 6
"""How often a claim is extended in its own length."""

Beat = Callable[[], None]
Ticker = Callable[[float, Beat], Callable[[], None]]
"""Calls a beat at an interval (s), until the returned function is called."""


def claim_length(visibility: float) -> float:
    """Return the length (s) of a claim if messages stay invisible for *visibility* seconds.

    Raises:
        OptionError: that is too short.
    """
    if not visibility >= SHORTEST_S:
        raise OptionError(f"visibility: {visibility!r} s cannot be extended in time; give the queue {SHORTEST_S:g} s or more")
    return visibility - 2 * GUARD_S


def threaded(seconds: float, beat: Beat) -> Callable[[], None]:
    """Call *beat* every *seconds* on a thread; the returned function stops this, after the current beat."""
    over = threading.Event()

    def run() -> None:
        while not over.wait(seconds):
            beat()

    thread = threading.Thread(target=run, name="sedano-extending", daemon=True)
    thread.start()

    def stop() -> None:
        over.set()
        thread.join()

    return stop


Wait = Callable[[threading.Event, float], object]


class StandingTicker:
    """A ticker whose thread serves one batch after the other, for a process with many short ones: to start a thread for each of them takes
    longer than they do.

    The thread keeps its own time, so a batch gets its first beat at most one interval after it began, and possibly sooner. The thread ends
    when it had nothing to do for two intervals, and at once when the interval changes or the ticker is closed.
    """

    def __init__(self, report: Callable[[BaseException], object], wait: Wait = threading.Event.wait) -> None:
        """Start no thread yet. *report* gets what a beat has raised; *wait* waits for an event, at most for an interval (s)."""
        self._wait, self._report, self._lock = wait, report, threading.Lock()
        self._beat: Beat | None = None
        self._thread: threading.Thread | None = None
        self._over = threading.Event()
        self._seconds = 0.0

    def begin(self, seconds: float, beat: Beat) -> Callable[[], None]:
        """Call *beat* every *seconds*, until the returned function is called; that one waits for the current beat. A `Ticker`."""
        own = partial(beat)  # an object of its own, so that the end of one batch is not taken for that of another with the same beat
        with self._lock:
            self._beat = own
            if self._thread is None or not self._thread.is_alive() or seconds != self._seconds:
                self._over.set()
                self._seconds, self._over = seconds, threading.Event()
                self._thread = threading.Thread(target=self._run, args=(seconds, self._over), name="sedano-extending", daemon=True)
                self._thread.start()
        return lambda: self._stop(own)

    def close(self) -> None:
        """End the thread, after the current beat; a batch that begins later starts another one."""
        with self._lock:
            self._over.set()
            self._beat = self._thread = None

    def _stop(self, own: Beat) -> None:
        with self._lock:
            if self._beat is own:
                self._beat = None

    def _run(self, seconds: float, over: threading.Event) -> None:
        was_idle = False
        while True:
            self._wait(over, seconds)
            with self._lock:
                if over.is_set():  # the ticker is closed, or another thread beats at another interval
                    return
                if self._beat is not None:
                    self._beats(self._beat)
                elif was_idle:
                    self._thread = None
                    return
                was_idle = self._beat is None

    def _beats(self, beat: Beat) -> None:
        try:
            beat()
        except BaseException as error:  # noqa: BLE001 - without further beats the claims of the batch would end under its bodies
            with suppress(Exception):  # a log that cannot be written must not end the beats either
                self._report(error)


class Until(NamedTuple):
    """The end of a belief: by the wall clock (which may be set back) and by the monotonic one (which may stop while a machine sleeps)."""

    wall: float
    monotonic: float


class HeldMessage(NamedTuple):
    """A message of the current batch, the end of this worker's hold on it, and the record of its claim (None: it has none)."""

    delivery: Delivery
    until: Until
    record: TaskRecord | None = None


class Extending:
    """Extends the messages of one worker, one batch at a time. *length*: of each claim; None: nothing is extended."""

    def __init__(self, ports: Ports, visibility: float | None, ticker: Ticker = threaded) -> None:
        """Keep messages invisible for *visibility* seconds from each beat of *ticker* (None: do not extend)."""
        self._ports, self._visibility, self._ticker = ports, visibility or 0.0, ticker
        self.length = claim_length(visibility) if visibility is not None else None
        self._kept: dict[str, HeldMessage] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._deciding = threading.Lock()

    def let_go(self) -> list[HeldMessage]:
        """Stop extending, and return the messages whose claims were held."""
        self._over.set()
        with self._lock:
            kept, self._kept = self._kept, {}
        return [one for one in kept.values() if one.record is not None]

    def batch(self, deliveries: Sequence[Delivery], batch: Batch) -> AbstractContextManager[object]:
        """Extend *deliveries* while the block processes them."""
        return NOT_EXTENDED if self.length is None else self._extended(deliveries, batch, self.length)

    @contextmanager
    def _extended(self, deliveries: Sequence[Delivery], batch: Batch, length: float) -> Iterator[None]:
        until, batch.deciding = self._from_now(length), self._deciding
        self._kept = {delivery.message_id: HeldMessage(delivery, until) for delivery in deliveries}
        stop = self._ticker(length / BEATS, lambda: self.beat(batch))
        try:
            yield
        finally:
            stop()
            self._kept = {}

    def hold(self, held: Sequence[Held]) -> None:
        """Extend the claims of *held* too from now on."""
        if self.length is None:
            return
        now = self._ports.clock.now()
        with self._lock:
            for one in held:
                if one.record is not None:
                    delivery, left = one.job.delivery, one.record.expires - now - GUARD_S
                    self._kept[delivery.message_id] = HeldMessage(delivery, self._from_now(left), one.record)

    def ended(self, held: Sequence[Held]) -> None:
        """Extend the claims of *held* no more; their messages stay invisible until the batch is over."""
        with self._lock:
            for one in held:
                kept = self._kept.get(one.job.delivery.message_id)
                if kept is not None:
                    self._kept[one.job.delivery.message_id] = kept._replace(record=None)

    def overdue(self, running: Sequence[TaskContext]) -> list[str]:
        """Return the ids of those of the *running* tasks whose claims have ended by our own belief: others may run them by now."""
        if self.length is None:
            return [context.id for context in running if context.deadline < self._ports.clock.now()]
        with self._lock:
            kept = [*self._kept.values()]
        return [one.record.task_id for one in kept if one.record is not None and not self._is_ours(one)]

    def holds(self, held: Held) -> bool:
        """Return whether the body of *held* may begin: by this worker's belief its claim, or without one the visibility of its message, has
        not ended."""
        if self.length is None:
            return True
        kept = self._kept.get(held.job.delivery.message_id)
        return kept is not None and self._is_ours(kept)

    def _is_ours(self, kept: HeldMessage) -> bool:
        clock = self._ports.clock
        return clock.now() < kept.until.wall and clock.monotonic() < kept.until.monotonic

    def _from_now(self, seconds: float) -> Until:
        clock = self._ports.clock
        return Until(clock.now() + seconds, clock.monotonic() + seconds)

    def beat(self, batch: Batch) -> None:
        """Extend everything that is still held, unless the time of *batch* is over."""
        try:
            self._beat(batch)
        except Exception as error:  # noqa: BLE001 - the next beat tries again; bodies go on meanwhile
            self._ports.telemetry.log("warning", "claims not extended; the next beat does", error=str(error))

    def _beat(self, batch: Batch) -> None:
        now = self._ports.clock.now()
        if self.length is None or self._over.is_set() or now > batch.deadline:
            return
        with self._lock:
            self._kept = {key: one for key, one in self._kept.items() if one.record is not None or self._is_ours(one)}
            kept = {key: one for key, one in self._kept.items() if batch.is_extended(one.delivery)}
        self._extend(kept, now, self.length)
        for key, one in kept.items():
            with batch.deciding:
                if not one.delivery.receipt or not batch.is_extended(one.delivery) or self._over.is_set():
                    continue
                until = self._from_now(self.length)
                self._ports.queues.hold(one.delivery, self._visibility)
            self._lasts(key, None, until)

    def _extend(self, kept: dict[str, HeldMessage], now: float, length: float) -> None:
        """Extend the claims of *kept* to *length* seconds from *now*; remove those that are not known to be extended."""
        until = self._from_now(length - GUARD_S)
        claims = {key: one.record for key, one in kept.items() if one.record is not None}
        wanted = [Extension(record.task_id, record.nonce, record.fence, now + length) for record in claims.values()]
        for key, answer in zip(claims, self._ports.ledger.extend(wanted) if wanted else (), strict=True):
            if not isinstance(answer, SedanoError) and answer.granted:
                self._lasts(key, claims[key], until)
            elif isinstance(answer, SedanoError) or not self._has_ended(key, claims[key], answer.record):
                kept.pop(key)

    def _lasts(self, key: str, mine: TaskRecord | None, until: Until) -> None:
        """Believe *until* then that this worker holds the message *key*, under the claim *mine* or without one, if that is still true.

        The queue does not report that a message was visible again when a late request arrived. So without a claim, the answer counts only
        if it arrives before the current belief ends.
        """
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and kept.record is mine and (mine is not None or self._is_ours(kept)):
                self._kept[key] = kept._replace(until=until)

    def _has_ended(self, key: str, mine: TaskRecord, found: TaskRecord | None) -> bool:
        """Forget the claim *mine*, which was refused because of *found*; return whether this worker has recorded its end."""
        ended = found is not None and (found.nonce, found.fence) == (mine.nonce, mine.fence)
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and kept.record is mine:
                if ended:
                    self._kept[key] = kept._replace(record=None)
                else:
                    del self._kept[key]
        if not ended:
            self._ports.telemetry.log("warning", "a claim cannot be extended: the task was taken over", task_id=mine.task_id)
        return ended


def released(ledger: Ledger, given_up: Sequence[GivenUp]) -> list[Delivery]:
    """Record *given_up* in *ledger*, and return the messages whose claims were released; no later result of their bodies is recorded.

    Raises:
        Unavailable: the ledger did not answer; the claims expire.
    """
    answers = ledger.record([outcome for _, outcome in given_up]) if given_up else []
    return [message for (message, _), answer in zip(given_up, answers, strict=True) if isinstance(answer, Recorded) and answer.accepted]
