"""The body of a pack: its members run one after another, and their ends become its result. The rule is pure (`sedano.model.packs`).

A member whose body may not begin now leaves the pack, and so does one whose end needs a record of its own: because it was replaced, added
members to its chord, has effects, or raised `Reject`. It runs again alone. A pack that was taken over runs nothing: all its members leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sedano.engine.batch import Arguments, Batch, Held, Judged, Ran
from sedano.engine.canvas.map_tasks import built_in
from sedano.engine.outbox import stored
from sedano.engine.registry import Registry
from sedano.engine.worker.body_results import Endings
from sedano.engine.worker.verdicts import Judging
from sedano.errors import MessageRefused, Reject, SedanoError
from sedano.model import states
from sedano.model.ledger.outcome import Run
from sedano.model.ledger.records import Outcome, TaskRecord
from sedano.model.messages.message import TimeLimits
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

    def ran(self, held: Held, arguments: Arguments, batch: Batch) -> Ran | None:
        """Run the body of *held*; None: this worker does not hold it any more."""


@dataclass(frozen=True, slots=True)
class Packs:
    """Runs packs."""

    registry: Registry
    ports: Ports
    endings: Endings
    judging: Judging

    def run(self, held: Held, arguments: Arguments, batch: Batch, bodies: Bodies) -> Ran:
        """Run the members of the pack *held* and return its run, whose result holds their ends."""
        job, record, started = held.job, held.record, self.ports.clock.now()
        calls = read_calls(job.command._replace(args=arguments[0]))
        clock, ran = self.judging.lamport.forward(), list[Judged]()
        task = self.registry.tasks.get(calls.task) or built_in(self.registry, calls.task)
        task = limited(task, batch.limits.get(calls.task, "")) if task is not None else None
        ends = [LEFT] * len(calls.calls)
        if record is not None and may_run(record) and task is not None and fits(task):
            marked = MemberEnd(states.REVOKED, clock=clock)  # before any body began, as a revocation by a record of its own
            ends = [
                marked if asked_of(record.marks, place) else self._end(held, record, calls, place, task, batch, bodies, ran)
                for place in range(len(ends))
            ]
        text = fitted(calls.task, self._spilled(calls.task, ends), MOST_BYTES)
        ended = self.ports.clock.now()
        return Ran(held=held, run=Run(), result=text, drafts=(), started=started, started_clock=clock, ended=ended, members=ran)

    def _end(
        self, held: Held, record: TaskRecord, calls: PackedCalls, place: int, task: TaskSpec, batch: Batch, bodies: Bodies,
        ran: list[Judged],
    ) -> MemberEnd:  # fmt: skip
        """Run the member at *place*, add its verdict to *ran*, and return its end."""
        command = member_command(held.job.command, calls, place)
        own, _ = spoken(calls.member(place), record)
        member = Held(held.job._replace(command=command, task=task), own)
        try:
            if not bodies.begins(member, batch, max((one.ran.ended - one.ran.started for one in ran), default=0.0)):
                return LEFT
            judged = self._judged(member, calls.calls[place], batch, bodies)
            if judged is None or judged.outcome is None:
                return LEFT
            end = end_of_member(self._short(judged.outcome, judged))
        except Exception as error:  # noqa: BLE001 - the last resort: what goes wrong with one member concerns no neighbour
            words = str(error) if isinstance(error, SedanoError) else f"{type(error).__name__}: {error}"
            self.ports.telemetry.log("warning", "a member leaves its pack", task_id=command.task_id, error=words)
            return LEFT
        ran.append(judged)
        return end

    def _judged(self, member: Held, call: tuple[Sequence[Any], Any], batch: Batch, bodies: Bodies) -> Judged | None:
        """Run *member* and return its verdict; None: it leaves the pack."""
        arguments = member.job.task.parameters.fit(*call)
        try:
            ran = bodies.ran(member, arguments, batch)
        except Exception as error:  # noqa: BLE001 - the last resort: the code around the body failed, as for a task of its own
            ran = self.endings.surprised(member, error)
        if ran is None or ran.added or ran.effects or ran.run.replaced:
            return None
        if ran.run.error is not None and ran.run.error.type_name == Reject.__name__:
            return None
        return self.judging.judge(ran)

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
        for place in sorted(range(len(ends)), key=lambda place: -result_bytes(ends[place].result or "")):
            result = ends[place].result
            if over <= 0 or result is None or (size := result_bytes(result)) <= SPILLED_BYTES:
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
