"""The body of a pack: its members run one after another, and their ends become its result. The rule is pure (`sedano.model.packs`).

A member whose body may not begin now leaves the pack, and so does one with effects, which are recorded in a transaction of their own: it
runs again alone. A pack that was taken over runs nothing: all its members leave.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sedano.engine.batch import Arguments, Batch, Held, Judged, Ran
from sedano.engine.canvas.map_tasks import built_in
from sedano.engine.outbox import stored
from sedano.engine.registry import Registry
from sedano.engine.worker.body_results import Endings
from sedano.engine.worker.verdicts import Judging
from sedano.errors import MessageRefused, SedanoError
from sedano.model.ledger.outcome import Run
from sedano.model.ledger.records import Outcome, TaskRecord
from sedano.model.messages.message import PACK, TimeLimits
from sedano.model.pack_ends import LEFT, MemberEnd, cut, end_of_member, ends_text, fitted, result_bytes, with_result_in
from sedano.model.packs import PackedCalls, asked_of, may_run, member_command, read_calls, spoken
from sedano.model.tasks.task_spec import TaskSpec, apart
from sedano.ports import Ports

MOST_BYTES = 300_000
"""The most bytes of the ends of a pack, which lie in one record."""
INLINE_BYTES = 64_000
"""While the ends of a pack are longer, their longest results lie in the blob store: each of their readers reads the whole record."""
RESULT_BYTES, SPILLED_BYTES, OUTBOX_BYTES, TEXT_BYTES, CALL_BYTES = 3_000, 1_000, 500, 800, 1_000
"""Of one member: a longer result always lies in the blob store, and a result that is no longer than the second never does. So do a longer
outbox and the arguments of a longer call; each text of an error is cut."""


class Bodies(Protocol):
    """The part of the execution that a pack needs."""

    def begins(self, held: Held, batch: Batch, longest: float) -> bool:
        """Return whether the body of *held* may begin now; *longest*: the seconds of the longest body before it."""

    def ran(self, held: Held, arguments: Arguments, batch: Batch, late: Callable[[Ran], None]) -> Ran | None:
        """Run the body of *held*; None: this worker does not hold it any more. *late* gets its end if it does not end at its limit."""

    def recorded(self, ran: Ran) -> object:
        """Record the run of a pack."""


class PackRun:
    """A pack whose members run. Another thread closes it when one of its bodies does not end; then the members that ended keep their ends,
    no other one begins, and what the body returns later is not used."""

    def __init__(self, held: Held, calls: PackedCalls, started: float, clock: int) -> None:
        """Begin: no member has begun."""
        self.held, self.calls, self.started, self.clock = held, calls, started, clock
        self.ends, self.ran, self.lock = [LEFT] * len(calls.calls), list[Judged](), threading.RLock()
        self.closed: Ran | None = None

    def end(self, place: int, end: MemberEnd, judged: Judged) -> None:
        """Note the *end* of the member at *place*, whose verdict is *judged*, while the pack is open."""
        with self.lock:
            if self.closed is None:
                self.ends[place] = end
                self.ran.append(judged)

    @property
    def longest(self) -> float:
        """The seconds of the longest body."""
        return max((one.ran.ended - one.ran.started for one in self.ran), default=0.0)


@dataclass(frozen=True, slots=True)
class Packs:
    """Runs packs. *running*: those that run, by their id."""

    registry: Registry
    ports: Ports
    endings: Endings
    judging: Judging
    running: dict[str, PackRun] = field(default_factory=dict)

    def run(self, held: Held, arguments: Arguments, batch: Batch, bodies: Bodies) -> Ran:
        """Run the members of the pack *held* and return its run, whose result holds their ends."""
        job, record = held.job, held.record
        calls = read_calls(job.command._replace(args=arguments[0]))
        task = self.registry.tasks.get(calls.task) or built_in(self.registry, calls.task)
        task = limited(task, batch.limits.get(calls.task, "")) if task is not None else None
        pack = PackRun(held, calls, self.ports.clock.now(), self.judging.lamport.forward())
        if record is None or not may_run(record) or task is None or not fits(task):
            return self._closed(pack)
        self.running[job.command.task_id] = pack
        try:
            for place in range(len(calls.calls)):
                if pack.closed is None and not asked_of(record.marks, place):  # a mark says that its member is revoked
                    self._run(pack, place, task, batch, bodies)
            return self._closed(pack)
        finally:
            del self.running[job.command.task_id]

    def given_up(self, claimed: TaskRecord) -> Outcome | None:
        """Return the outcome that ends the claim of a running body that does not end: of a pack, with the ends of the members that ended;
        its other members leave. None: the claim expires, because the members have ended, or none has begun."""
        if claimed.name != PACK:
            return self.judging.released(claimed)
        pack = self.running.get(claimed.task_id)
        return self.judging.judge(self._closed(pack)).outcome if pack is not None else None

    def _closed(self, pack: PackRun) -> Ran:
        """Close *pack* and return its run: the same one each time."""
        with pack.lock:
            if pack.closed is None:
                text = fitted(pack.calls.task, self._spilled(pack.calls.task, pack.ends), MOST_BYTES)
                pack.closed = Ran(
                    held=pack.held, run=Run(), result=text, drafts=(), started=pack.started, started_clock=pack.clock,
                    ended=self.ports.clock.now(), members=pack.ran,
                )  # fmt: skip
            return pack.closed

    def _run(self, pack: PackRun, place: int, task: TaskSpec, batch: Batch, bodies: Bodies) -> None:
        """Run the member at *place*, and note how it ended; by default it leaves the pack."""
        command = member_command(pack.held.job.command, pack.calls, place)
        own, _ = spoken(pack.calls.member(place), pack.held.record)
        member = Held(pack.held.job._replace(command=command, task=task), own)

        def late(ran: Ran) -> None:
            self._end(pack, place, ran)
            bodies.recorded(self._closed(pack))

        try:
            if bodies.begins(member, batch, pack.longest):
                self._end(pack, place, self._body(member, pack.calls.calls[place], batch, bodies, late))
        except Exception as error:  # noqa: BLE001 - the last resort: what goes wrong with one member concerns no neighbour
            words = str(error) if isinstance(error, SedanoError) else f"{type(error).__name__}: {error}"
            self.ports.telemetry.log("warning", "a member leaves its pack", task_id=command.task_id, error=words)

    def _body(
        self, member: Held, call: tuple[Sequence[Any], Any], batch: Batch, bodies: Bodies, late: Callable[[Ran], None]
    ) -> Ran | None:
        """Run the body of *member* and return its run; None: it must not begin."""
        arguments = member.job.task.parameters.fit(*call)
        try:
            return bodies.ran(member, arguments, batch, late)
        except Exception as error:  # noqa: BLE001 - the last resort: the code around the body failed, as for a task of its own
            return self.endings.surprised(member, error)

    def _end(self, pack: PackRun, place: int, ran: Ran | None) -> None:
        """Judge the run of the member at *place* and note its end, unless it leaves the pack."""
        if ran is None or ran.effects:
            return
        judged = self.judging.judge(ran)
        if judged.outcome is not None:
            pack.end(place, end_of_member(self._short(judged.outcome, judged)), judged)

    def _short(self, outcome: Outcome, judged: Judged) -> Outcome:
        """Return *outcome* with what is long in the blob store, because the ends of all members lie in one record."""
        blobs, result, error = self.ports.blobs, outcome.result, outcome.error
        if result is not None and result_bytes(result) > RESULT_BYTES:
            outcome = outcome._replace(result=None, result_ref=blobs.put(result.encode()))
        if outcome.outbox:
            outbox, ref = stored(judged.posted, blobs, OUTBOX_BYTES)
            outcome = outcome._replace(outbox=outbox, outbox_ref=ref)
        if outcome.call is not None and len(outcome.call.body) > CALL_BYTES:
            from sedano.engine.reruns import with_arguments_kept

            outcome = outcome._replace(call=with_arguments_kept(outcome.call, blobs))
        return outcome._replace(error=cut(error, TEXT_BYTES)) if error is not None else outcome

    def _spilled(self, task: str, ends: list[MemberEnd]) -> list[MemberEnd]:
        """Return *ends* with the longest results in the blob store, until their text is short; they fit the record without it too."""
        over = len(ends_text(task, ends)) - INLINE_BYTES
        results = [(result_bytes(end.result), place, end.result) for place, end in enumerate(ends) if end.result is not None]
        for size, place, result in sorted(results, key=lambda one: -one[0]):
            if over <= 0 or size <= SPILLED_BYTES:
                break
            try:
                ends[place] = with_result_in(ends[place], self.ports.blobs.put(result.encode()))
            except SedanoError as error:
                self.ports.telemetry.log("warning", "results of a pack stay in its record", task=task, error=str(error))
                break
            over -= size
        return ends


def fits(task: TaskSpec) -> bool:
    """Return whether calls of *task* can run in a pack, by the declaration of this worker: that of their publisher may be older."""
    return not task.is_async and not apart(task) and task.delivery == "claimed"


def limited(task: TaskSpec, text: str) -> TaskSpec | None:
    """Return *task* with the time limits that were changed at run time, by the *text* of its changes.

    None: each call needs its own message, because a rate or concurrency was set.
    """
    if not text:
        return task
    from sedano.model.limits.task_limits import UNLIMITED, read

    try:
        change = read(text)
    except MessageRefused:  # the gate of limits reports it, and applies the last ones that it could read
        return None
    if change.paces or change.concurrency not in (None, UNLIMITED):
        return None
    if change.time is None:
        return task
    times = TimeLimits(*change.time)
    return task._replace(time_limits=times if times.longest else None)
