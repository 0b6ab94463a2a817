"""Continues a canvas after the end of one of its tasks.

The rule is pure (`sedano.model.canvas.continuation`); this module applies it through the ports.

A task that succeeded passes its value to the next step of its chain, to its links and its forks; the last step of a chain that is a member
of a group arrives at the group's join. For a task that ended without success, its error callbacks are called. The rest of its chain never
runs, so the end of the chain, for which a caller may wait, is recorded as failed with the same error and the id of the task that failed
first. That costs one write for each enclosing chain, however long the rest is.

Every id is derived, and a record is written only if it does not exist, so a redelivery repeats this without an effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from json import dumps
from typing import Any, NamedTuple

from sedano.engine.batch import Job
from sedano.engine.canvas.chord_results import Gathering, HeaderFailed
from sedano.engine.canvas.error_requests import request_of
from sedano.engine.canvas.launches import (
    LaunchOrigin,
    added_by,
    continued,
    drafted,
    extended,
    launched,
    opened,
    origin_of,
    page_of,
    part_draft,
)  # fmt: skip
from sedano.engine.canvas.lost_pages import callbacks, kept, lost
from sedano.engine.canvas.page_cache import Plans
from sedano.engine.drafts import Addressed, CommandDraft, Composer
from sedano.engine.lineage_marks import resumed
from sedano.engine.registry import Registry
from sedano.errors import MessageRefused, Unavailable
from sedano.model import states
from sedano.model.canvas.continuation import (
    PlaceContents,
    PlannedTask,
    Resume,
    branches,
    errbacks,
    find,
    following,
    is_aside,
    members,
    part_of,
    slot_id,
    told_to_errback,
)
from sedano.model.canvas.join import Join
from sedano.model.canvas.page_reader import PAGE_MEMBERS, Item
from sedano.model.ledger.records import ErrorRecord, Outcome, copy_of, end_of
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.lineage import Lineage, derived_id
from sedano.model.messages.message import LAUNCH, NOTHING, PACK, UNKNOWN_DATA, Command, JoinMember, Place
from sedano.model.packs import member_id, pack_id, read_calls, size_of
from sedano.model.queues import queue_of
from sedano.model.states import TaskState
from sedano.ports import Ports

MOST_PARTS = 100
"""The most launches among which the ends of the members of a lost page are shared out."""
CALL = ("task", "args", "kwargs", "ref", "immutable")
"""The identity of an error callback, without the origin of its stamps or deadline."""


@dataclass(slots=True)
class Consequences:
    """The effects of an end: *messages* to send; *exits*, ends to record for tasks that will never run, and copies of ends for joins
    (`Conducting.copied`); *arrivals* at joins, failed or not.
    """

    messages: list[Addressed] = field(default_factory=list)
    exits: list[Outcome] = field(default_factory=list)
    arrivals: list[tuple[JoinMember, bool]] = field(default_factory=list)


class Cut(NamedTuple):
    """The *end* of a body whose plan is lost, to be put unless one exists, and its effects once it is recorded."""

    end: Outcome
    found: Consequences


@dataclass(frozen=True, slots=True)
class Conducting:
    """Continues canvases."""

    ports: Ports
    lamport: LamportClock
    composer: Composer
    registry: Registry
    plans: Plans
    gathering: Gathering

    def check(self, command: Command, args: Sequence[Any]) -> None:
        """Check the place of *command*, or the calls of a pack, *args*, before it runs, because a canvas that cannot continue must not wait
        as a follow-up forever.

        Raises:
            MessageRefused: its canvas is inconsistent (code `schema`) or lost (`blob`); or it is not a valid pack.
        """
        if command.task == PACK:
            read_calls(command._replace(args=args))
        if command.task == LAUNCH:
            page_of(command, self.plans)
        elif command.place is not None:
            find(command.place, self.plans.load)

    def attempts_before(self, command: Command) -> int:
        """Return how many attempts the task had before it was replaced: they do not count as retries of the replacement."""
        if command.place is None or command.task == LAUNCH:
            return 0
        try:
            resume = find(command.place, self.plans.load).resume
        except MessageRefused:
            return 0
        return resume.attempt if resume is not None and command.task_id == command.place.canvas_id else 0

    def succeeded(self, job: Job, value: Callable[[], Any], added: int) -> Consequences:
        """Return the follow-ups of *job*, which succeeded with the value that *value* returns, and *added* members to its chord. If the
        follow-ups are lost (a page or arguments in the blob store, a result of the header), the canvas ends there, as after a failure, so
        that no caller waits for it.
        """
        try:
            return self._continued(job, value, added)
        except HeaderFailed as failed:  # since its body began: a member's record is gone
            return self.failed(job, states.FAILURE, failed.error)
        except MessageRefused as lost:
            self.ports.telemetry.count("CanvasesCut", task=job.task.name)
            self.ports.telemetry.log("error", "the next step of a canvas is lost", task_id=job.command.task_id, error=str(lost))
            return self.failed(job, states.FAILURE, ErrorRecord(type(lost).__name__, str(lost)))

    def _continued(self, job: Job, value: Callable[[], Any], added: int) -> Consequences:
        command, found = job.command, Consequences()
        if command.task == LAUNCH:
            found.messages = self._launched(job)
            return found
        ended = True
        if command.place is not None:
            ended = self._handed_on(command.place, command.task_id, value, job, found)
        if ended and command.member is not None and added:
            self.ports.ledger.open_join(extended(command.task_id, command.member, added))
        elif ended and command.member is not None:
            found.arrivals.append((command.member, False))
        if ended:
            self.copied(job, found)
        return found

    def failed(self, job: Job, state: TaskState, error: ErrorRecord | None) -> Consequences:
        """Return the follow-ups of *job*, which ended as *state* without success."""
        command, found = job.command, Consequences()
        why = _why(command.task_id, error)
        unled = command.task == LAUNCH and command.gather is not None and why.cause != command.task_id
        if unled:
            self._never_led(job, state, why, found)
        if command.task == LAUNCH and command.place is not None and (part := part_of(command.place)) is not None:
            if not unled:
                self._part_failed(command.place.canvas_id, part, job, state, why, found)
            return found
        if command.place is not None:
            self._failed_at(command.place, job, state, why, found)
        if command.member is not None:
            found.arrivals.append((command.member, True))
        self.copied(job, found)
        return found

    def copied(self, job: Job, found: Consequences) -> None:
        """Add a copy of the end of *job*, or of the chain that ends with it, if the member has its own id (`model.canvas.continuation`).

        Raises:
            Unavailable: its record cannot be read now.
        """
        command = job.command
        if command.member is None or (slot := slot_id(command.member)) in (command.task_id, *(one.task_id for one in found.exits)):
            return
        if found.exits:
            found.exits.append(copy_of(found.exits[-1], slot))
            return
        record = self.ports.ledger.read([command.task_id]).get(command.task_id)
        if record is None or record.state not in states.TERMINAL:
            raise Unavailable(f"the record of {command.task_id}, a member of the join {command.member.join_id}, does not exist yet")
        found.exits.append(copy_of(end_of(record, command.id, self.ports.clock.now()), slot))

    def continued(self, join: Join) -> Addressed | JoinMember:
        """Return the message that runs after the full *join*; or, if the join held members that a member added, that member, which arrives
        now."""
        member = added_by(join)
        if member is not None:
            return member
        draft, lineage = continued(join, self.plans, self.ports.clock.now(), self.ports.blobs)
        return self.composer.compose(draft, lineage)

    def cut(self, join: Join, why: MessageRefused, job: Job) -> Cut:
        """Return how the body of the full *join*, whose plan is lost as *why* says, ends by the message of *job*, its last member.

        Raises:
            Unavailable: a member's record cannot be read now.
        """
        end, now = lost(join), self.ports.clock.now()
        body = Command(job.command.id, *end.body[::2], self.composer.source, now, job.received_clock, data_ref=UNKNOWN_DATA)
        header = self.gathering.failure(end.gather)
        error = _why(body.task_id, header or ErrorRecord(type(why).__name__, str(why)))
        found = Consequences(arrivals=[(end.member, True)] if end.member is not None else [])
        found.exits = [self._exit(*one, job, states.FAILURE, error) for one in end.chains]
        last = self._exit(*end.body, job, states.FAILURE, error)._replace(message_id="")
        around = [last, *found.exits]
        if end.member is not None and (slot := slot_id(end.member)) not in {one.task_id for one in around}:
            found.exits.append(copy_of(around[-1], slot))
        told: set[str] = set()
        for item in callbacks(end, header is not None):
            try:
                self._call(item, body, error, end.origin, found, told)
            except MessageRefused as gone:
                self.ports.telemetry.log("error", "an error callback is lost, because its plan is", task_id=body.task_id, error=str(gone))
        return Cut(last, found)

    def _handed_on(
        self, place: Place, salt: str, value: Callable[[], Any], job: Job, found: Consequences, lineage: Lineage | None = None
    ) -> bool:
        """Publish the item after *place*; return whether none exists, so that the chain has ended."""
        spot = find(place, self.plans.load)
        args = [value()] if spot.next is not None or "links" in spot.item or "forks" in spot.item else []
        self._publish(branches(spot, salt, place, args, self.plans.load), job, found, None, lineage)
        ask = following(place, spot, args, job.command.member)
        if ask is not None:
            self._publish([ask], job, found, job.command.member, lineage)
            return False
        resume = spot.resume
        if resume is None or resume.place is None:
            return True
        back = resumed(self.ports, origin_of(job.command, "").lineage, resume.hops, resume.budget, job.command.task_id)
        return self._handed_on(resume.place, derived_id(salt, "resumed"), value, job, found, back)

    def _publish(
        self, asks: Iterable[PlannedTask], job: Job, found: Consequences, member: JoinMember | None, lineage: Lineage | None = None
    ) -> None:
        origin = origin_of(job.command, queue_of(job.delivery.queue))
        if lineage is not None:
            origin = origin._replace(lineage=lineage)
        found.messages += [
            self._composed(drafted(ask._replace(member=member), origin, self.ports.clock.now(), self.ports.blobs), origin) for ask in asks
        ]

    def _composed(self, draft: CommandDraft, origin: LaunchOrigin) -> Addressed:
        return self.composer.compose(draft, origin.lineage)

    def _launched(self, job: Job) -> list[Addressed]:
        command = job.command
        args, _ = self.gathering.arguments(command)
        page, origin = page_of(command, self.plans), origin_of(command, queue_of(job.delivery.queue))
        if page.join is not None and page.join[0] == command.task_id:
            join = opened(command, page, origin, kept(self._spots(command.place)) if command.place is not None else NOTHING)
            if not join.size:
                draft, lineage = continued(join, self.plans, self.ports.clock.now(), self.ports.blobs)
                return [self.composer.compose(draft, lineage)]
            self.ports.ledger.open_join(join)
        drafts = launched(page, origin, args, self.plans, self.ports.clock.now(), self.ports.blobs)
        return [self._composed(draft, origin) for draft in drafts]

    def _failed_at(self, place: Place, job: Job, state: TaskState, why: ErrorRecord, found: Consequences) -> None:
        try:
            spots = list(self._spots(place))
        except MessageRefused:
            # The place itself was refused: no callback is known, and its message gives only the end of the chain.
            found.exits += [self._exit(place.canvas_id, 0, "", job, state, why)] if place.canvas_id != job.command.task_id else []
            return
        if is_aside(place):
            self.ports.telemetry.count("ForksFailed", task=job.task.name)
            self.ports.telemetry.log("warning", "a side branch failed; its canvas continues", task_id=job.command.task_id)
        derived, told = why.cause != job.command.task_id, set[str]()
        for at, spot in spots:
            for item in errbacks(spot, derived):
                self._call(item, job.command, why, origin_of(job.command, queue_of(job.delivery.queue)), found, told)
            if spot.next is not None:
                resume = spot.resume or Resume(0, None)
                found.exits.append(self._exit(at.canvas_id, resume.attempt, spot.end, job, state, why))

    def _spots(self, place: Place) -> Iterator[tuple[Place, PlaceContents]]:
        """Yield the place of the task, and of each task that it replaces."""
        at: Place | None = place
        while at is not None:
            spot = find(at, self.plans.load)
            yield at, spot
            at = spot.resume.place if spot.resume is not None else None

    def _never_led(self, job: Job, state: TaskState, why: ErrorRecord, found: Consequences) -> None:
        """End the members of a group that is the body of a chord whose header failed, if the end of one must be reported (`Written.told`).

        All of them end, because a caller that waits for a group takes one end for a sign that it began. If no end must be reported, only
        the launch ends. The error callbacks of the step that a member would begin with are called with that step's id, as those of a body
        that is one task; the step, and the chain that it begins, end as failed. The pages of a large group and groups within are launches
        of their own, which end in the same way, so what one message does is bounded by a page.
        """
        command, now = job.command, self.ports.clock.now()
        origin = origin_of(command, queue_of(job.delivery.queue))
        try:
            page = page_of(command, self.plans)
        except MessageRefused:
            return
        if not page.item.get("told", command.place is not None and part_of(command.place) is not None):
            return
        if "pages" in page.item:
            drafts = launched(page._replace(join=None), origin, (), self.plans, now, self.ports.blobs)
            found.messages += [self._composed(draft.asking(gather=command.gather), origin) for draft in drafts]
            return
        for ask in members(page.item, page.at, page.first, (), self.plans.load, page.watched, None):
            if "task" in ask.item:
                self._never_begun(ask, job, state, why, found)
            else:
                draft = drafted(ask._replace(gather=command.gather), origin, now, self.ports.blobs)
                found.messages.append(self._composed(draft, origin))

    def _never_begun(self, ask: PlannedTask, job: Job, state: TaskState, why: ErrorRecord, found: Consequences) -> None:
        """End the step of *ask*, which a member of a group would have begun with, and the chain that it is the first of."""
        ends = [self._exit(ask.task_id, 0, ask.task, job, state, why)]
        if ask.place is not None and ask.place.canvas_id != ask.task_id:
            ends.append(self._exit(ask.place.canvas_id, 0, find(ask.place, self.plans.load).end, job, state, why))
        found.exits += ends
        now, told = self.ports.clock.now(), set[str]()
        step = Command(
            id=job.command.id, task_id=ask.task_id, task=ask.task, source=self.composer.source, time=now, clock=job.received_clock,
            data_ref=UNKNOWN_DATA,
        )  # fmt: skip
        for item in ask.item.get("errors", ()):
            self._call(item, step, why, origin_of(job.command, queue_of(job.delivery.queue)), found, told)

    def _part_failed(self, group_id: str, part: range, job: Job, state: TaskState, why: ErrorRecord, found: Consequences) -> None:
        """End the members of a page of a group that cannot be published any more.

        A message may claim any size, so the work for one is bounded: the join must be the one that it says, and of more members than a
        page holds the ends are shared out, by launches of parts of the same page, which end in the same way.
        """
        join = job.command.member
        if join is not None and not self.gathering.is_open(join.join_id, join.size):
            return
        if len(part) > job.command.lineage.budget:
            return
        if len(part) > PAGE_MEMBERS:
            self._publish_parts(part, job, found)
            return
        size = size_of(group_id)
        for number in part:
            # Until a pack has ended, its record is the arbiter of its members, which may run by an earlier copy of this launch.
            if not size or number % size == 0:
                own = pack_id(group_id, number // size) if size else member_id(group_id, number)
                found.exits.append(self._exit(own, 0, "", job, state, why))
            if join is not None:
                found.arrivals.append((JoinMember(join.join_id, number, join.size), True))

    def _publish_parts(self, part: range, job: Job, found: Consequences) -> None:
        command, origin = job.command, origin_of(job.command, queue_of(job.delivery.queue))
        step = max(PAGE_MEMBERS, -(-len(part) // MOST_PARTS))
        for first in range(part.start, part.stop, step):
            member = command.member._replace(index=first) if command.member is not None else None
            draft = part_draft(command, origin, range(first, min(first + step, part.stop)), member)
            found.messages.append(self._composed(draft, origin))

    def _exit(self, task_id: str, attempt: int, name: str, job: Job, state: TaskState, why: ErrorRecord) -> Outcome:
        clock, now = self.lamport.forward(), self.ports.clock.now()
        ended = states.ROWS[state].dependents or states.FAILURE
        return Outcome(
            task_id=task_id, state=ended, nonce=self.ports.entropy.nonce(), fence=0, message_id=job.command.id, attempt=attempt,
            clock=clock, name=name or LAUNCH, at=now, error=why,
        )  # fmt: skip

    def _call(self, item: Item, command: Command, why: ErrorRecord, origin: LaunchOrigin, found: Consequences, told: set[str]) -> None:
        """Publish the error callback *item* of *command* once, even if it was linked several times."""
        call = {name: item[name] for name in CALL if name in item}
        digest = sha256(dumps(call, sort_keys=True).encode()).hexdigest()[:32]
        if digest in told:
            return
        told.add(digest)
        ask = PlannedTask(item, derived_id(command.task_id, f"error/{digest}"), self._context(item, command, why))
        found.messages.append(self._composed(drafted(ask, origin, self.ports.clock.now(), self.ports.blobs), origin))

    def _context(self, item: Item, command: Command, why: ErrorRecord) -> Sequence[Any]:
        """Return the arguments of an error callback: request, exception and traceback if it takes three, else the failed task's id."""
        spec = self.registry.tasks.get(str(item["task"]))
        room = spec.parameters.room(len(item.get("args", ())), item.get("kwargs", {})) if spec is not None else 1
        if told_to_errback(room) == 3:
            return [request_of(command), {"type": why.type_name, "message": why.message}, why.traceback]
        return [command.task_id][: told_to_errback(room)]


def _why(task_id: str, error: ErrorRecord | None) -> ErrorRecord:
    if error is None:
        error = ErrorRecord("TaskRevoked", f"task {task_id} was revoked before it ran")
    return error if error.cause else error._replace(cause=task_id)
