"""Concurrency limits: a task runs under one of a fixed number of permits. A task without a permit waits as a message and is woken.

A permit is taken before the claim and given back after all follow-ups. It is a lease until its invocation's deadline, so a dead holder
keeps it no longer than that. Bodies that run one after the other share one: a worker takes no more permits of a task than it runs at once.

A limit of at most ten has one board of permits, which is also where messages wait. A higher one has several: a worker takes a permit at
random of those that it believes free, reads all boards with one or two calls before a message waits, and its messages wait in a line of
their own (`sedano.engine.limits.waiting_line`). In both cases a message is made invisible, then waits, and then its worker looks whether
a permit was given back in between: so no wake-up is lost. It reads the boards too before its first permit, because a version before
boards may have left permits above the first ten on the first one: they count until they are given back or expire.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from sedano.engine.batch import Batch, Job
from sedano.engine.limits.waiting_line import WaitingLine
from sedano.engine.pauses import may_be_woken, put_off, tell_held
from sedano.engine.wake_ups import TakenOff, WaitingMessage, wake_first, written
from sedano.errors import SedanoError
from sedano.model.deferrals import patience, waited
from sedano.model.limits.concurrency import (
    BOARD_SIZE,
    GUARD_MS,
    MOST_WAITING,
    RESERVED_MS,
    Board,
    Full,
    Permit,
    boards_of,
    chosen,
    granted,
    is_latest,
    merged,
)
from sedano.model.limits.task_limits import Concurrency, Range
from sedano.ports import Delivery, Ports

TRIES = 6
AGAIN_S = 5.0
"""How long (s) a message that cannot be woken waits at first; twice as long each time that it was sent anew, at most 900 s."""
SUSPENDED_S = 300.0
"""How long (s) a message of a suspended task is held back before the next check."""
MOST_BOARDS = 1_000


class PermitRequest(NamedTuple):
    """Jobs of one task and one *key*: at most *limit* run at a time, here at most *lanes* of them.

    *most*: the highest limit that a range may return; where it has several boards, messages wait in a line, whatever the limit is now.
    """

    name: str
    jobs: Sequence[Job]
    limit: int
    lanes: int
    most: int = 0


class Permitting:
    """Gives permits and takes them back. One per worker."""

    def __init__(self, ports: Ports, owner: str, board_size: int = BOARD_SIZE) -> None:
        """Start without permits; *owner* is the worker's name, *board_size* the number of permits that the store keeps on a board."""
        self.ports, self.owner, self.board_size = ports, owner, board_size
        self._line = WaitingLine(ports)
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
            name, permit, has_line = batch.permits.pop()
            try:
                answer = self.ports.limits.give_back(name, permit)
            except SedanoError as error:
                self.ports.telemetry.log("warning", "permit not given back; it will expire", permit=name, error=str(error))
                continue
            self._remember(answer.board, has_line)
            if answer.done and not self._wake(answer.board, permit) and has_line:
                self._line.wake(name, permit)

    def _permit(self, wanted: PermitRequest, job: Job, batch: Batch) -> Permit | None:
        """Return a permit for *job*, or None if the job is held back."""
        try:
            found = self._attempt(wanted, job, batch)
        except SedanoError as away:
            self.ports.telemetry.log("warning", "permit not answered", task_id=job.command.task_id, error=str(away))
            batch.defer_job(job, away)
            return None
        if isinstance(found, Permit):
            batch.permits.append((wanted.name, found, self._has_line(wanted)))
            return found
        self._hold(job, found, wanted, batch)
        return None

    def _attempt(self, wanted: PermitRequest, job: Job, batch: Batch) -> Permit | Full | None:
        board, fresh = self._seen(wanted, job)
        until = round(batch.deadline * 1000) + GUARD_MS
        owner = f"{job.command.task} {job.command.task_id} on {self.owner}"
        for _ in range(TRIES):
            now, who = self._now(), job.delivery.message_id
            found = chosen(board, wanted.limit, now, who, self.ports.entropy.unit())
            if isinstance(found, Full):
                if fresh:
                    return found
                board, fresh = self._read(wanted), True
                continue
            permit = granted(board, found, now, until, self.ports.entropy.nonce(), owner)
            answer = self.ports.limits.take(wanted.name, permit, who, now)
            has_line = self._has_line(wanted)
            self._remember(answer.board, has_line)
            if answer.done:
                return permit
            board, fresh = self._read(wanted) if has_line else answer.board, True
        return None

    def _has_line(self, wanted: PermitRequest) -> bool:
        return max(wanted.limit, wanted.most) > self.board_size

    def _seen(self, wanted: PermitRequest, job: Job) -> tuple[Board, bool]:
        """Return the permits as they are known, and whether they were read just now: a message that was woken looks for the permit that is
        kept for it, which may be on any board.
        """
        known = self._known.get(wanted.name)
        if self._has_line(wanted):
            return (known, False) if known is not None and job.delivery.receives == 1 else (self._read(wanted), True)
        return known or Board(wanted.name), False

    def _read(self, wanted: PermitRequest) -> Board:
        """Return the permits of all boards as they are now."""
        limits, has_line = self.ports.limits, self._has_line(wanted)
        board = limits.boards(wanted.name, boards_of(wanted.limit, self.board_size)) if has_line else limits.board(wanted.name)
        self._know(board)
        return board

    def _hold(self, job: Job, full: Full | None, wanted: PermitRequest, batch: Batch) -> None:
        """Hold *job* back until the first permit expires, and leave its receipt so that it can be woken earlier.

        Its patience counts the waits that it was sent anew for: a receipt may follow a wake-up, after which it need not wait for longer.
        """
        batch.count("PermitsBusy", job.task.name)
        unit, again = self.ports.entropy.unit(), patience(waited(job.delivery.attributes).times, AGAIN_S)
        short = again * (0.5 + unit)
        if full is None or not may_be_woken(job):
            put_off(self.ports, job, f"all {wanted.limit} permits are held", short, batch)
            return
        reason, known = f"permit held by {full.soonest.owner}", self._known.get(wanted.name)
        seconds = max((full.soonest.expires - self._now() + GUARD_MS) / 1000, again) + unit
        crowded = known is not None and len(known.waiting) >= MOST_WAITING
        batch.leave(job.delivery)
        if crowded or not self._waits(job, full, wanted, seconds):
            put_off(self.ports, job, reason, short, batch)
            return
        tell_held(self.ports, job, reason, seconds, batch)
        batch.give_back(job.delivery)

    def _waits(self, job: Job, full: Full, wanted: PermitRequest, seconds: float) -> bool:
        """Make *job* invisible for *seconds* and then let it wait, so that a worker that wakes it makes it visible after this. Return
        whether it will be woken.
        """
        delivery, until = job.delivery, self.ports.clock.now() + seconds
        try:
            self.ports.queues.hold(delivery, seconds)
            if self._has_line(wanted):
                return self._line.join(wanted.name, delivery, until, lambda: self._is_free(wanted, job))
            return self._waits_at_board(delivery, full, wanted, until)
        except SedanoError as away:
            self.ports.telemetry.log("warning", "permit not waited for", task_id=job.command.task_id, error=str(away))
            return False

    def _waits_at_board(self, delivery: Delivery, full: Full, wanted: PermitRequest, until: float) -> bool:
        """Leave *delivery*, which is invisible until *until* (epoch s), at the board, and return whether it will be woken.

        The answer shows the board after that. If another permit than *full*'s was given back before, its holder did not see the message:
        then that permit wakes the first that waits. If *full*'s was given back, the message did not get a place, and is visible at once.
        """
        receipt = written(delivery, until)
        for _ in range(TRIES):
            answer = self.ports.limits.wait(wanted.name, full.soonest, receipt, self._now())
            self._know(answer.board)
            found = chosen(answer.board, wanted.limit, self._now(), delivery.message_id, 0.0)
            if not isinstance(found, Full):
                if answer.done:
                    self._wake(answer.board, answer.board.permits[found])
                else:
                    self.ports.queues.hold(delivery, 0.0)
                return True
            if answer.done or found == full or len(answer.board.waiting) >= MOST_WAITING:
                return answer.done
            full = found
        return False

    def _is_free(self, wanted: PermitRequest, job: Job) -> bool:
        found = chosen(self._read(wanted), wanted.limit, self._now(), job.delivery.message_id, 0.0)
        return not isinstance(found, Full)

    def _wake(self, board: Board, permit: Permit) -> bool:
        """Wake the first message that waits at *board* for *permit*; return whether that is done, or another has taken the permit."""
        return wake_first(self.ports, board.waiting, _AtBoard(self.ports, board.name, permit))

    def _remember(self, board: Board, has_line: bool) -> None:
        known = self._known.get(board.name)
        if has_line:
            if known is None:
                return  # one board does not say what is on the others
            board = merged(known, board)
        self._know(board)

    def _know(self, board: Board) -> None:
        """Keep *board* as the one that was used last; forget the one that was not used for longest if there are too many."""
        self._known[board.name] = board
        self._known.move_to_end(board.name)
        if len(self._known) > MOST_BOARDS:
            self._known.popitem(last=False)

    def _now(self) -> int:
        return int(self.ports.clock.now() * 1000)


class _AtBoard(NamedTuple):
    """The messages that wait at the board of *name* for the *permit* that was given back."""

    ports: Ports
    name: str
    permit: Permit

    def take_off(self, message: WaitingMessage) -> TakenOff:
        """Take *message* off the board if it is the first there, and keep the permit for it."""
        until = int(self.ports.clock.now() * 1000) + RESERVED_MS
        answer = self.ports.limits.call(self.name, self.permit, message.text, message.delivery.message_id, until)
        return TakenOff(answer.done, answer.done or is_latest(answer.board, self.permit), None if answer.done else answer.board.waiting)

    def keep(self, message: WaitingMessage) -> None:
        """Do nothing: the write that takes the message off keeps the permit."""
