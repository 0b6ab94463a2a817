"""Concurrency limits: a task runs under one of a fixed number of permits. A task without a permit waits as a message and is woken.

A permit is taken before the claim and given back after all follow-ups. It is a lease until its invocation's deadline, so a dead holder
keeps it no longer than that. Bodies that run one after the other share one: a worker takes no more permits of a task than it runs at once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from sedano.engine.batch import Batch, Job
from sedano.engine.pauses import await_call, may_be_woken, put_off, times_of
from sedano.errors import SedanoError
from sedano.model.deferrals import patience
from sedano.model.limits.concurrency import GUARD_MS, RESERVED_MS, Board, Full, Permit, chosen, granted
from sedano.model.limits.task_limits import Concurrency, Range
from sedano.ports import Delivery, Ports

TRIES = 6
AGAIN_S = 5.0
"""How long (s) a message that cannot be woken waits at first; twice as long each time, at most 900 s."""
SUSPENDED_S = 300.0
"""How long (s) a message of a suspended task is held back before the next check."""
MOST_BOARDS = 1_000
_SEPARATOR = "\n"


class PermitRequest(NamedTuple):
    """Jobs of one task and one *key*: at most *limit* run at a time, here at most *lanes* of them."""

    name: str
    jobs: Sequence[Job]
    limit: int
    lanes: int


class Permitting:
    """Gives permits and takes them back. One per worker."""

    def __init__(self, ports: Ports, owner: str) -> None:
        """Start without permits; *owner* is the worker's name."""
        self.ports, self.owner = ports, owner
        self._known: OrderedDict[str, Board] = OrderedDict()
        self._ranges: dict[str, tuple[float, int]] = {}

    def limit_of(self, task: str, concurrency: Concurrency) -> int:
        """Return how many of *task* may run now. A strategy is called at limited intervals; if it fails, the low end counts."""
        if not isinstance(concurrency, Range):
            return concurrency
        now = self.ports.clock.monotonic()
        asked, found = self._ranges.get(task, (float("-inf"), concurrency.low))
        if now - asked >= concurrency.every:
            try:
                found = concurrency.within(concurrency.strategy())
            except Exception as error:  # noqa: BLE001 - the strategy is the user's function
                self.ports.telemetry.log("warning", "concurrency strategy failed", task=task, error=f"{type(error).__name__}: {error}")
                found = concurrency.low
            self._ranges[task] = now, found
        return found

    def admit(self, wanted: PermitRequest, batch: Batch) -> list[Job]:
        """Return the jobs that may run, each with its permit; the others are held back."""
        if wanted.limit == 0:
            for job in wanted.jobs:
                put_off(self.ports, job, "suspended: concurrency is 0", SUSPENDED_S * (1 - self.ports.entropy.unit() / 4), batch)
            return []
        permits: list[Permit] = []
        need = min(len(wanted.jobs), wanted.lanes)
        for job in wanted.jobs[:need]:
            permit = self._permit(wanted, job, batch)
            if permit is None:
                break
            permits.append(permit)
        going = wanted.jobs if len(permits) == wanted.lanes else wanted.jobs[: len(permits)]
        for job in wanted.jobs[max(len(going), len(permits) + 1) :]:
            self._hold(job, None, wanted, batch)
        return [job._replace(token=p.token, permit=p.number) for job, p in zip(going, permits * len(going), strict=False)]

    def release(self, batch: Batch) -> None:
        """Give back the permits of the runs that have ended, and wake waiting messages."""
        while batch.permits:
            name, permit = batch.permits.pop()
            try:
                answer = self.ports.limits.give_back(name, permit)
                self._remember(answer.board)
                if answer.done:
                    self._wake(answer.board, permit)
            except SedanoError as error:
                self.ports.telemetry.log("warning", "permit not given back; it will expire", permit=name, error=str(error))

    def _permit(self, wanted: PermitRequest, job: Job, batch: Batch) -> Permit | None:
        """Return a permit for *job*, or None if the job is held back."""
        try:
            found = self._attempt(wanted, job, batch)
        except SedanoError as away:
            self.ports.telemetry.log("warning", "permit not answered", task_id=job.command.task_id, error=str(away))
            batch.defer_job(job, away)
            return None
        if isinstance(found, Permit):
            batch.permits.append((wanted.name, found))
            return found
        self._hold(job, found, wanted, batch)
        return None

    def _attempt(self, wanted: PermitRequest, job: Job, batch: Batch) -> Permit | Full | None:
        board, fresh = self._known.get(wanted.name) or Board(wanted.name), False
        until = round(batch.deadline * 1000) + GUARD_MS
        owner = f"{job.command.task} {job.command.task_id} on {self.owner}"
        for _ in range(TRIES):
            now, who = self._now(), job.delivery.message_id
            found = chosen(board, wanted.limit, now, who, self.ports.entropy.unit())
            if isinstance(found, Full):
                if fresh:
                    return found
                board, fresh = self.ports.limits.board(wanted.name), True
                continue
            permit = granted(board, found, now, until, self.ports.entropy.nonce(), owner)
            answer = self.ports.limits.take(wanted.name, permit, who, now)
            board, fresh = answer.board, True
            self._remember(board)
            if answer.done:
                return permit
        return None

    def _hold(self, job: Job, full: Full | None, wanted: PermitRequest, batch: Batch) -> None:
        """Hold *job* back until the first permit expires, and leave its receipt so that it can be woken earlier."""
        batch.count("PermitsBusy", job.task.name)
        unit, delivery = self.ports.entropy.unit(), job.delivery
        again = patience(times_of(delivery), AGAIN_S)
        if full is None or not may_be_woken(job):
            put_off(self.ports, job, f"all {wanted.limit} permits are held", again * (0.5 + unit), batch)
            return
        now, soonest = self._now(), full.soonest
        seconds = max((soonest.expires - now + GUARD_MS) / 1000, again) + unit
        receipt = (delivery.queue, delivery.receipt, delivery.message_id, str(now / 1000 + seconds))
        try:
            waits = self.ports.limits.wait(wanted.name, soonest, _SEPARATOR.join(receipt), now).done
        except SedanoError as away:
            self.ports.telemetry.log("warning", "permit not waited for", task_id=job.command.task_id, error=str(away))
            waits = False
        if waits:
            await_call(self.ports, job, f"permit held by {soonest.owner}", seconds, batch)
        else:
            put_off(self.ports, job, f"permit held by {soonest.owner}", again * (0.5 + unit), batch)

    def _wake(self, board: Board, permit: Permit) -> None:
        """Make the first waiting message visible again, and keep *permit* for it for a moment; skip a message that was delivered since."""
        for receipt in board.waiting:
            queue, handle, message_id, until = receipt.split(_SEPARATOR)
            now = self._now()
            if not self.ports.limits.call(board.name, permit, receipt, message_id, now + RESERVED_MS):
                return
            if float(until) > now / 1000:
                self.ports.queues.hold(Delivery(queue, message_id, handle, ""), 0.0)
                return

    def _remember(self, board: Board) -> None:
        self._known[board.name] = board
        self._known.move_to_end(board.name)
        if len(self._known) > MOST_BOARDS:
            self._known.popitem(last=False)

    def _now(self) -> int:
        return int(self.ports.clock.now() * 1000)
