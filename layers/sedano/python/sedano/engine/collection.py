"""Calls that wait for others: of a debounced task the last of a quiet period runs; those of a batched task run together as one call.

Debounce. Each call is noted where it is received, the latest by its publisher's logical clock, and sent anew with a delay until it may have
been quiet for long enough. Only then does a worker check whether it is still the latest; an earlier one ends as REVOKED. The latest one's
message is never acknowledged before its copy is in the queue, so no crash loses it. When its quiet is over counts only with the mark of one
of the stage's keys (`sedano.ports.seals`): otherwise the call is noted as if it had just been published. Without keys, a call that is the
latest and was published long enough ago runs.

Batch. Calls go into a basket, one for each slice of time and key. A worker sends the command that runs a basket before it puts anything
into it, with a delay until the slice is over; the first of these copies shuts the basket, the others meet its claim. So every basket has a
command that runs it. A call whose worker died between putting it in and acknowledging it may be in two baskets: calls are received at least
once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sedano.engine.batch import Arguments, Batch, Job, Stillborn
from sedano.engine.canvas.chord_results import HeaderFailed
from sedano.engine.drafts import CommandDraft, Composer
from sedano.engine.publisher.requeue import Requeued, resend
from sedano.engine.publisher.sender import send
from sedano.engine.unexpected_errors import contain
from sedano.errors import SedanoError, Unavailable
from sedano.model import refusals, states
from sedano.model.collection import MOST_BASKET_BYTES, MOST_PARTS, RUNS, Fetched, Latest, overdue, slice_of, written
from sedano.model.limits.task_limits import QUIET, TaskLimits
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.lineage import derived_id
from sedano.model.messages.message import Command
from sedano.ports import Ports

MARGIN_S = 1.0
"""A basket is read this much later (s) than the end of its slice, because clocks may differ a little."""
WHOLE_S = 1.0
"""A queue delays by whole seconds, so the command of a basket may arrive this much later (s)."""
ALONE_BYTES = MOST_BASKET_BYTES // 4
"""A call that is longer than this runs alone, without a basket."""
MOST_SENT = 1_000


class CollectionRequest(NamedTuple):
    """A job of a debounced or batched task, its limits and its *key*."""

    job: Job
    limits: TaskLimits
    key: str

    @property
    def name(self) -> str:
        """The common data of calls of one task and key."""
        return f"{self.job.task.name}/{self.key}"


class Collected(NamedTuple):
    """The destination of a call: the id of the task that runs it with others, and the latest start of that task if a worker is free (epoch
    s)."""

    batch: str
    until: float


class Collecting:
    """Notes calls and collects them. One per worker; *arguments* fetches those of a command."""

    def __init__(self, ports: Ports, lamport: LamportClock, source: str, arguments: Callable[[Command], Arguments]) -> None:
        """Have sent for no basket yet."""
        self.ports, self.arguments = ports, arguments
        self._composer = Composer(source, lamport, ports)
        self._sent: OrderedDict[str, None] = OrderedDict()
        self._parts: OrderedDict[str, int] = OrderedDict()

    def quieten(self, asked: Sequence[CollectionRequest], batch: Batch) -> list[Job]:
        """Return the jobs that are the latest after the quiet period, and those to end because a later one exists; send the others
        again."""
        going: list[Job] = []
        waiting: list[Requeued] = []
        for one in asked:
            try:
                found = self._quieten(one)
            except SedanoError as away:
                self.ports.telemetry.log("warning", "debounce not answered", task_id=one.job.command.task_id, error=str(away))
                batch.defer_job(one.job, away)
                continue
            if isinstance(found, Requeued):
                waiting.append(found)
            else:
                going.append(found)
        resend(self.ports, waiting, batch)
        return going

    def collect(self, asked: Sequence[CollectionRequest], batch: Batch) -> list[Job]:
        """Put the calls into baskets, and give back those that cannot be put into one; return those whose header failed: they end unrun."""
        failed: list[Job] = []
        groups: dict[tuple[str, tuple[int, float]], list[CollectionRequest]] = {}
        for one in asked:
            if one.limits.batch is not None:
                groups.setdefault((one.name, one.limits.batch), []).append(one)
        for (name, (most, seconds)), some in groups.items():
            for start in range(0, len(some), most):
                failed += self._collect(name, some[start : start + most], most, seconds, batch)
        return failed

    def opened(self, job: Job) -> Job:
        """Return the job that runs a basket with the calls that are in it.

        Raises:
            Unavailable: the store did not answer.
        """
        args, kwargs = self.arguments(job.command)
        if kwargs or len(args) != 1:
            return job
        (basket,) = args
        if not isinstance(basket, str):
            return job  # a call that was too long for a basket is here alone
        calls = self.ports.limits.shut(basket, self.ports.clock.now()).calls
        if not calls:
            why = "its basket is empty"
            return job._replace(stillborn=Stillborn(states.REVOKED, refusals.SUPERSEDED, "batch", why, park=False))
        return job._replace(command=job.command._replace(args=[Fetched(calls)], data_ref=None))

    def _quieten(self, asked: CollectionRequest) -> Job | Requeued:
        job, now = asked.job, self.ports.clock.now()
        until = self._until(asked)
        if until is not None and now < until:
            return Requeued(job, until, {}, "debounce: waiting for quiet")
        call = Latest(job.command.clock, job.command.task_id)
        latest = self.ports.limits.note(asked.name, call, now) if until is None else self.ports.limits.latest(asked.name)
        if overdue(latest, call.task_id):
            why = f"a later call, {latest.task_id if latest else ''}, took its place"
            return job._replace(stillborn=Stillborn(states.REVOKED, refusals.SUPERSEDED, "debounce", why, park=False))
        if until is not None:
            return job
        until = now + asked.limits.debounce
        given = self.ports.seals.attached(QUIET, str(int(until * 1_000_000)), *_bound(asked))
        if not given and now - job.command.time >= asked.limits.debounce:
            return job  # no key would prove that it has waited: it was published for long enough, and is the latest still
        return Requeued(job, until, {QUIET: given} if given else {}, "debounce: waiting for quiet")

    def _until(self, asked: CollectionRequest) -> float | None:
        """Return the end of its quiet period, as noted by a worker of this stage; None if no worker has noted it, whatever the message
        contains."""
        given = asked.job.delivery.attributes.get(QUIET, "")
        text = self.ports.seals.detached(QUIET, given, *_bound(asked))
        return int(text) / 1_000_000 if text else None

    def _collect(self, name: str, some: Sequence[CollectionRequest], most: int, seconds: float, batch: Batch) -> list[Job]:
        failed: list[Job] = []
        written_down = self._written(some, failed, batch)
        some = [one for one, _ in written_down]
        try:
            went: dict[str, Collected] = {}
            short: dict[str, str] = {}
            for one, entry in written_down:
                task_id = one.job.command.task_id
                if len(entry.encode()) > ALONE_BYTES:
                    basket = f"{name}/{task_id}"
                    self._run(one.job, [entry], basket, 0)
                    went[task_id] = Collected(_runner(basket), self.ports.clock.now())
                else:
                    short[task_id] = entry
            if short:
                went |= dict.fromkeys(short, self._put(name, some[0].job, [*short.values()], most, seconds))
        except SedanoError as away:
            for one in some:
                self.ports.telemetry.log("warning", "call not collected", task_id=one.job.command.task_id, error=str(away))
                batch.defer_job(one.job, away)
            return failed
        for one in some:
            self._tell(one.job, went[one.job.command.task_id], batch)
        return failed

    def _written(self, some: Sequence[CollectionRequest], failed: list[Job], batch: Batch) -> list[tuple[CollectionRequest, str]]:
        """Return those of *some* whose arguments can be read, each as a basket holds it; settle the others, but for those that *failed*."""
        found: list[tuple[CollectionRequest, str]] = []
        for one in some:
            try:
                args, kwargs = self.arguments(one.job.command)
                found.append((one, written(one.job.command.task_id, args, kwargs)))
            except HeaderFailed:
                failed.append(one.job)
            except Exception as error:  # noqa: BLE001 - the last resort: the calls beside it go on
                contain(self.ports.telemetry, error, one.job.delivery, batch)
        return found

    def _tell(self, job: Job, collected: Collected, batch: Batch) -> None:
        """Note in the history that *job* was collected, for `explain`, because it leaves no record."""
        batch.move(job.delivery)
        batch.count("CallsCollected", job.task.name)
        batch.chronicle.line(
            "task-held", job.received_clock, self.ports.clock.now(), uuid=job.command.task_id, name=job.task.name,
            reason="batch: waiting for other calls", until=round(collected.until, 3), batch=collected.batch,
        )  # fmt: skip

    def _put(self, name: str, job: Job, entries: Sequence[str], most: int, seconds: float) -> Collected:
        now = self.ports.clock.now()
        number, end = slice_of(now, seconds)
        while True:
            first = self._parts.get(f"{name}/{number}", 0)
            for part in range(first, MOST_PARTS):
                basket = f"{name}/{number}.{part}"
                self._send_for(basket, job, end - now + MARGIN_S)
                found = self.ports.limits.put(basket, entries, most, now)
                if found is not None:
                    _remember(self._parts, f"{name}/{number}", part)
                    full = len(found.calls) >= most
                    if full:
                        self._run(job, basket, basket, 0)
                    return Collected(_runner(basket), now if full else end + MARGIN_S + WHOLE_S)
            number, end = number + 1, end + seconds

    def _send_for(self, basket: str, job: Job, seconds: float) -> None:
        """Send the command that runs *basket*, unless this worker has already sent it."""
        if basket in self._sent:
            return
        self._run(job, basket, basket, -int(-seconds // 1))
        _remember(self._sent, basket, None)

    def _run(self, job: Job, calls: str | Sequence[str], name: str, delay: int) -> None:
        """Send the command that runs *calls*, or the calls in the basket of that name."""
        task = job.task.name + RUNS
        command = Command(
            id="", task_id=_runner(name), task=task, args=[calls], tenant=job.command.tenant,
            ignore_result=job.task.ignore_result or None, stamps=job.command.stamps,
        )  # fmt: skip
        message = self._composer.compose(CommandDraft(job.task.queue, command, delay=delay))
        (error,) = send(self.ports.queues, self.ports.timers, self.ports.clock, message.queue, [message.outgoing])
        if error is not None:
            raise Unavailable(f"the command that runs a batch of {task} was not sent: {error}")


def _bound(asked: CollectionRequest) -> tuple[str, str, str, str]:
    """Return what the mark of a debounced call belongs to: the queue, the message, and the calls that it is one of."""
    return asked.job.delivery.queue, asked.job.command.id, asked.job.command.task_id, asked.name


def _runner(basket: str) -> str:
    """Return the id of the task that runs *basket*."""
    return derived_id(basket, "batch")


def _remember(known: OrderedDict[str, Any], name: str, value: Any) -> None:
    known[name] = value
    known.move_to_end(name)
    if len(known) > MOST_SENT:
        known.popitem(last=False)
