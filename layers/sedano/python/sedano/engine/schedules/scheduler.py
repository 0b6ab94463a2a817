"""The scheduler: publishes the next occurrences of periodic tasks. Several schedulers may run at once.

A round reads all agendas with one call. For each it decides the occurrences of the next 90 seconds (`sedano.model.schedules.schedule`),
writes them by compare-and-swap, publishes them (the queue delays each message to the second), and crosses them off. If nothing is due, a
round costs one read and no write. Each of the two writes changes states alone, which a table keeps apart from the definitions, so it does
not grow with the schedules beside the one that is due. The ledger is asked for earlier occurrences of limited schedules that are due, and
of no others.

The write that decides is also the claim: until its date (`sedano.model.schedules.agenda.HOLD_S`) other schedulers leave the agenda to its
writer, so several schedulers send no more than one. The write that crosses off ends the claim, also when some could not be published. The
moments of a dead scheduler are taken over by the first round after the claim, with a conditional write, under the same ids. An edit ends
the claim of another: a change by an operator or a deployment is published at once.

Where instances are limited, a launch of the task (`OCCURRENCE`) is published instead, which checks at its moment whether so many earlier
occurrences still wait or run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from sedano.engine.drafts import Addressed, CommandDraft, Composer
from sedano.engine.publisher.sender import Publisher
from sedano.engine.revocation.record import revoke
from sedano.engine.schedules.instance_limits import OCCURRENCE
from sedano.engine.unexpected_errors import answers_of, is_unexpected, passing, unexpected
from sedano.errors import SedanoError, Unavailable, UnknownQueue
from sedano.model import states
from sedano.model.messages import codec
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.lineage import derived_id
from sedano.model.messages.message import NOTHING, Command
from sedano.model.messages.timestamps import write as write_moment
from sedano.model.schedules.agenda import Agenda, AgendaChanged, Periodic, agenda_of, claimed, is_held, reconciled, with_periodic
from sedano.model.schedules.schedule import decided, ended, is_due, levelled, occurrence, remembered, withdrawn
from sedano.ports import Ports

TRIES = 8
Alter = Callable[[Agenda], Agenda]
Accepted = Mapping[str, Mapping[int, SedanoError | None]]
"""The moments of each schedule that need no further attempt: those that were published, and with an error those that cannot be."""


class SchedulerRound(NamedTuple):
    """The result of a round: occurrences that were *published*, moments that were skipped (*missed*), and agendas that failed."""

    published: int = 0
    missed: int = 0
    failed: int = 0


class Decided(NamedTuple):
    """A periodic task after a decision; *is_idle*: it has no moment that is due or pending."""

    periodic: Periodic
    is_idle: bool


class Scheduler:
    """Works on the agendas of one deployment."""

    __slots__ = ("_composer", "_lamport", "_ports", "_publisher")

    def __init__(self, ports: Ports, lamport: LamportClock, source: str) -> None:
        """Publish over *ports* on behalf of *source*."""
        self._ports, self._lamport = ports, lamport
        self._composer = Composer(source, lamport, ports)
        self._publisher = Publisher(ports.queues, ports.timers, ports.clock, ports.entropy, ports.telemetry)

    def round(self, declared: Mapping[str, Periodic] = NOTHING) -> SchedulerRound:
        """Publish the next occurrences of all schedules, declared in code (*declared*) or added at run time; a failed one is tried again.

        Raises:
            Unavailable: the agendas could not be read.
        """
        rounds = [
            self._work_on(number, agenda, lambda seen: reconciled(seen, declared, self._ports.clock.now()))
            for number, agenda in enumerate(self._ports.schedules.read())
        ]
        done = SchedulerRound(*map(sum, zip(*rounds, strict=True)))
        for metric, number in (("OccurrencesPublished", done.published), ("OccurrencesMissed", done.missed)):
            if number:
                self._ports.telemetry.count(metric, number)
        return done

    def change(self, name: str, alter: Callable[[Periodic | None], Periodic | None]) -> Periodic | None:
        """Let *alter* change the periodic task *name*, publish its next occurrences, and return the changed task.

        Occurrences that were published ahead and no longer apply are revoked. No other schedule of the agenda is decided or published: the
        clock of an operator's machine may be wrong, and the next round decides them.

        Raises:
            Unavailable: the store did not answer, or others changed it under each attempt; trying again is safe.
            MessageRefused: the stored agenda cannot be read.
            Unavailable: others changed it during each read.
        """
        before: Periodic | None = None

        def altered(seen: Agenda) -> Agenda:
            nonlocal before
            before = seen.periodics.get(name)
            new = alter(before)
            return seen if new == before else with_periodic(seen, name, new)._replace(held=0)

        number = agenda_of(name)
        changed = self._swapped(_readable(self._ports.schedules.read()[number]), altered).agenda
        after = changed.periodics.get(name)
        if before is not None:
            now = self._ports.clock.now()
            for one in withdrawn(before.state, before.schedule, after.schedule if after is not None else None, now):
                revoke(self._ports, self._lamport, one.task_id, terminate=False)
        self._work_on(number, changed, _same, only=name)
        return after

    def read(self) -> dict[str, Periodic]:
        """Return all periodic tasks by name; raise `MessageRefused`, or `Unavailable`, when some cannot be read."""
        return {name: found for agenda in self._ports.schedules.read() for name, found in _readable(agenda).periodics.items()}

    def publish(self, found: Periodic, moments: Sequence[int]) -> list[SedanoError | None]:
        """Publish the occurrences of *found* at *moments*; answer None for each that was accepted."""
        now = self._ports.clock.now()
        answers: list[SedanoError | None] = [None] * len(moments)
        messages: dict[int, Addressed] = {}
        for place, moment in enumerate(moments):
            try:
                messages[place] = self._composer.compose(_draft(found, moment, now))
            except Exception as error:  # noqa: BLE001 - the last resort: the other occurrences are published
                answers[place] = unexpected(self._ports.telemetry, error)
        for place, answer in zip(messages, self._sent([*messages.values()]), strict=True):
            answers[place] = answer
        return answers

    def _sent(self, messages: Sequence[Addressed]) -> Sequence[SedanoError | None]:
        return answers_of(self._ports.telemetry, self._publisher.publish_all, messages)

    def _work_on(self, number: int, seen: Agenda | SedanoError, alter: Alter, only: str | None = None) -> SchedulerRound:
        """Process one agenda; a failure is logged, and the next round tries again."""
        try:
            return self._work(_readable(seen), alter, only)
        except Exception as error:  # noqa: BLE001 - the last resort: the other agendas are worked on
            answer = unexpected(self._ports.telemetry, error)
            self._ports.telemetry.log("error", "agenda not worked on; the next round does", agenda=number, error=str(answer))
            return SchedulerRound(failed=1)

    def _work(self, seen: Agenda, alter: Alter, only: str | None) -> SchedulerRound:
        """Decide, claim, publish and cross off the due occurrences of one agenda, unless another scheduler holds it.

        *only*: the one schedule that is decided and published; None: all, and those without a moment, too, until the same second.
        """
        over = self._ended(seen, only)

        def planned(agenda: Agenda) -> Agenda:
            now = self._ports.clock.now()
            altered = alter(agenda)
            if altered is agenda and is_held(agenda, now):
                return agenda
            decided = {name: self._decided(one, over.get(name, ()), now) for name, one in _of(altered, only)}
            periodics = {**altered.periodics, **{name: one for name, (one, _) in decided.items()}}
            if altered is agenda and periodics == agenda.periodics:
                return held(agenda, now)
            idle = [name for name, (_, is_idle) in decided.items() if is_idle and only is None]
            periodics |= {name: periodics[name]._replace(state=levelled(periodics[name].state, now)) for name in idle}
            return held(altered._replace(periodics=periodics), now)

        def held(found: Agenda, now: float) -> Agenda:
            return claimed(found, now) if any(one.state.pending for _, one in _of(found, only)) else found

        mine, agenda = self._swapped(seen, planned)
        if not mine:
            return SchedulerRound()
        missed = _missed(agenda) - _missed(seen)
        accepted = {name: self._publish(one) for name, one in _of(agenda, only) if one.state.pending}
        if accepted:
            self._cross_off(agenda, accepted)
        sent = sum(error is None for done in accepted.values() for error in done.values())
        refused = sum(map(len, accepted.values())) - sent
        return SchedulerRound(sent, max(0, missed) + refused)

    def _cross_off(self, agenda: Agenda, accepted: Accepted) -> None:
        """Write *agenda* without what was *accepted*; if another write was first, the next round publishes it again, under the same ids."""
        self._ports.schedules.change(_crossed_off(agenda, accepted)._replace(nonce=self._ports.entropy.nonce()), agenda)

    def _decided(self, found: Periodic, over: frozenset[int] | tuple[int, ...], now: float) -> Decided:
        """Return *found* with the next occurrences; a schedule that cannot be decided is unchanged, and the others continue."""
        step = f"decide {found.schedule.name}"
        return passing(self._ports.telemetry, step, partial(_decided, found, over, now), Decided(found, is_idle=False))

    def _is_due(self, found: Periodic, now: float) -> bool:
        return passing(self._ports.telemetry, f"decide {found.schedule.name}", partial(is_due, found.schedule, found.state, now), False)

    def _swapped(self, seen: Agenda, alter: Alter) -> AgendaChanged:
        """Change an agenda by *alter* if it is still as it was *seen*; if another write was first, alter the new one.

        Return whether this call wrote it: without a change by *alter* it costs no write.
        """
        for _ in range(TRIES):
            new = alter(seen)
            if new == seen:
                return AgendaChanged(False, seen)
            answer = self._ports.schedules.change(new._replace(nonce=self._ports.entropy.nonce()), seen)
            if answer.done:
                return answer
            seen = answer.agenda
        raise Unavailable(f"agenda {seen.number}: others changed it during each of {TRIES} attempts")

    def _publish(self, found: Periodic) -> dict[int, SedanoError | None]:
        """Publish pending occurrences; return the moments that are finished, with the error of those that no repetition can publish.

        A moment ends with an error only if the reason is in the occurrence itself, or its queue does not exist. After an unavailable store,
        a throttled key, a missing grant or an unforeseen exception, the moment stays pending, and the next round publishes it under the
        same id.
        """
        done: dict[int, SedanoError | None] = {}
        for moment, error in zip(found.state.pending, self.publish(found, found.state.pending), strict=True):
            final = error is None or error.is_final or isinstance(error, UnknownQueue)
            if final and not is_unexpected(error):
                done[moment] = error
            if error is not None:
                level = "warning" if moment not in done else "error"
                self._ports.telemetry.log(level, "occurrence not published", schedule=found.schedule.name, moment=moment, error=str(error))
        return done

    def _ended(self, agenda: Agenda, only: str | None) -> dict[str, frozenset[int]]:
        """Return the occurrences that have ended, of those that limited schedules which are due remember, by schedule."""
        now = self._ports.clock.now()
        wanted = {
            occurrence(one.schedule, moment).task_id: (name, moment)
            for name, one in _of(agenda, only)
            if one.state.running and self._is_due(one, now)
            for moment in remembered(one.state.running, now)
        }
        records = self._ports.ledger.read([*wanted]) if wanted else {}
        over = [wanted[task_id] for task_id, record in records.items() if record.state in states.TERMINAL]
        return {name: frozenset(moment for other, moment in over if other == name) for name, _ in over}


def _draft(found: Periodic, moment: int, now: float) -> CommandDraft:
    """Return the draft of the occurrence at *moment*, delayed until it may run; if instances are limited, the draft of its launch."""
    schedule, call, one = found.schedule, found.call, occurrence(found.schedule, moment)
    args, kwargs = codec.decode_data(call.data.encode())
    if call.moment is not None:
        kwargs = {**kwargs, call.moment: write_moment(one.scheduled)}
    expires = one.runs_at + call.expires if call.expires is not None else None
    command = Command(
        id="", task_id=one.task_id, task=call.task, args=args, kwargs=kwargs, expires=expires, tenant=call.tenant,
        ignore_result=call.ignore_result, stamps=call.stamps,
    )  # fmt: skip
    draft = CommandDraft(call.queue, command, delay=max(0, -int(-(one.runs_at - now) // 1)))
    if schedule.max_instances is None:
        return draft
    launch: dict[str, object] = {
        "task_id": one.task_id, "before": [occurrence(schedule, other).task_id for other in found.state.running if other < moment],
        "most": schedule.max_instances, "task": call.task, "queue": call.queue, "data": codec.encode_data(args, kwargs).decode(),
        "expires": expires, "ignore_result": call.ignore_result,
    }  # fmt: skip
    launch_id = derived_id(one.task_id, "launch")
    return draft.asking(task_id=launch_id, task=OCCURRENCE, args=(), kwargs=launch, expires=None, ignore_result=True)


def _decided(found: Periodic, over: frozenset[int] | tuple[int, ...], now: float) -> Decided:
    state = ended(found.state, over)
    new = decided(found.schedule, state, now)
    # what has ended alone is not worth a write: it is found again when the next moment is decided
    return Decided(found, is_idle=not state.pending) if new is state else Decided(found._replace(state=new), is_idle=False)


def _crossed_off(agenda: Agenda, accepted: Accepted) -> Agenda:
    """Return *agenda* without the pending moments that were *accepted*, and unclaimed."""
    periodics = dict(agenda.periodics)
    for name, done in accepted.items():
        found = periodics[name]
        left = tuple(moment for moment in found.state.pending if moment not in done)
        refused = sum(error is not None for error in done.values())
        periodics[name] = found._replace(state=found.state._replace(pending=left, missed=found.state.missed + refused))
    return agenda._replace(periodics=periodics, held=0)


def _of(agenda: Agenda, only: str | None) -> Sequence[tuple[str, Periodic]]:
    """Return the schedules of *agenda*, or the one named *only*, with their names."""
    return [(name, one) for name, one in agenda.periodics.items() if only in (None, name)]


def _missed(agenda: Agenda) -> int:
    return sum(one.state.missed for one in agenda.periodics.values())


def _readable(found: Agenda | SedanoError) -> Agenda:
    if not isinstance(found, Agenda):
        raise found
    return found


def _same(agenda: Agenda) -> Agenda:
    return agenda
