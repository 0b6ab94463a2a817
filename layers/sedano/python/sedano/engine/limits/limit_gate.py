"""Limits of a task, declared or set at run time, checked before it may run: debounce and batch first, then the rate, then permits.

Most apps have no limits: only workers of apps that declare some load this module, or when the control record has some.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sedano.engine.batch import Arguments, Batch, Job, Stillborn
from sedano.engine.canvas.chord_results import HeaderFailed
from sedano.engine.collection import Collecting, CollectionRequest
from sedano.engine.gate import Gate
from sedano.engine.limits.concurrency import PermitRequest, Permitting
from sedano.engine.limits.rate import Pacing, RateRequest
from sedano.errors import ArgumentError, ConfigurationError, MessageRefused, SedanoError, Unavailable
from sedano.model import refusals, states
from sedano.model.limits.task_limits import NO_LIMITS, Concurrency, Key, LimitChange, TaskLimits, changed, highest, read
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import NOTHING, Command, TimeLimits
from sedano.ports import Ports


class Limiting(Gate):
    """Admits limited tasks. *lanes*: `def` bodies that this worker runs at once."""

    def __init__(self, ports: Ports, lamport: LamportClock, name: str, lanes: int, arguments: Callable[[Command], Arguments]) -> None:
        """Be ready for tasks with limits."""
        self.ports, self.arguments, self.lanes = ports, arguments, lanes
        self.pacing, self.permitting = Pacing(ports), Permitting(ports, name)
        self.collecting = Collecting(ports, lamport, name, arguments)
        self._texts: Mapping[str, str] = NOTHING
        self._known: dict[str, LimitChange] = {}

    def admit(self, jobs: Sequence[Job], batch: Batch) -> Sequence[Job]:
        """Return the jobs that may go on; the others are decided in *batch*, which holds the changes of the control record, by task."""
        if not batch.limits and all(job.task.limits is None for job in jobs):
            return jobs
        known = self._read(batch.limits)
        limited = [(job, _limits(job, known)) for job in _timed(jobs, known)]
        free = [job for job, limits in limited if limits is None]
        going = self._collected([(job, limits) for job, limits in limited if limits is not None], batch)
        going = self._paced(going, free, batch)
        return self._permitted(going, free, batch)

    def _read(self, changes: Mapping[str, str]) -> Mapping[str, LimitChange]:
        """Return *changes*, decoded. For a text that cannot be read, the last readable change of that task applies, if any."""
        if changes == self._texts:
            return self._known
        known: dict[str, LimitChange] = {}
        for task, text in changes.items():
            try:
                known[task] = read(text)
            except MessageRefused as refused:
                self.ports.telemetry.count("LimitsRefused")
                self.ports.telemetry.log("error", "limits not read; those known before hold", task=task, error=str(refused))
                if task in self._known:
                    known[task] = self._known[task]
        self._texts, self._known = dict(changes), known
        return known

    def release(self, batch: Batch) -> None:
        """Give back the permits of the runs that have ended."""
        self.permitting.release(batch)

    def _collected(self, limited: Sequence[tuple[Job, TaskLimits]], batch: Batch) -> list[tuple[Job, TaskLimits]]:
        """Debounce and collect; return what goes on."""
        going: list[tuple[Job, TaskLimits]] = []
        noisy: list[CollectionRequest] = []
        calls: list[CollectionRequest] = []
        for job, limits in limited:
            if limits.runs:
                opened = self._opened(job, batch)
                going += [(opened, limits)] if opened is not None else []
            elif (limits.debounce or limits.batch) and not job.command.attempt:
                key = self._key(job, limits.key, going, limits, batch)
                if key is not None:
                    (calls if limits.batch else noisy).append(CollectionRequest(job, limits, key))
            else:
                going.append((job, limits))
        going += [(job, NO_LIMITS) for job in self.collecting.collect(calls, batch)]  # each ends unrun where its arguments are fetched
        by_message = {one.job.delivery.message_id: one.limits for one in noisy}
        return going + [(job, by_message[job.delivery.message_id]) for job in self.collecting.quieten(noisy, batch)]

    def _opened(self, job: Job, batch: Batch) -> Job | None:
        try:
            return self.collecting.opened(job)
        except HeaderFailed:
            return job  # it goes on, and ends unrun where its arguments are fetched
        except SedanoError as away:
            self.ports.telemetry.log("warning", "basket not opened", task_id=job.command.task_id, error=str(away))
            batch.defer_job(job, away)
            return None

    def _paced(self, going: Sequence[tuple[Job, TaskLimits]], free: list[Job], batch: Batch) -> list[tuple[Job, TaskLimits]]:
        passed = [(job, limits) for job, limits in going if not limits.paces and job.stillborn is None]
        asked: list[RateRequest] = []
        for job, limits in going:
            if job.stillborn is not None:
                free.append(job)
            elif limits.paces:
                key = self._key(job, limits.key, passed, limits, batch)
                asked += [RateRequest(job, limits, key)] if key is not None else []
        by_message = {one.job.delivery.message_id: one.limits for one in asked}
        return passed + [(job, by_message[job.delivery.message_id]) for job in self.pacing.admit(asked, batch)]

    def _permitted(self, going: Sequence[tuple[Job, TaskLimits]], free: list[Job], batch: Batch) -> list[Job]:
        wanted: dict[tuple[str, str], list[Job]] = {}
        limit: dict[tuple[str, str], Concurrency] = {}
        for job, limits in going:
            if job.stillborn is not None or limits.concurrency is None:
                free.append(job)
                continue
            unfit: list[tuple[Job, TaskLimits]] = []
            key = self._key(job, limits.concurrency_key, unfit, limits, batch)
            free += [one for one, _ in unfit]
            if key is not None:
                wanted.setdefault((job.task.name, key), []).append(job)
                limit[job.task.name, key] = limits.concurrency
        for (task, key), jobs in wanted.items():
            lanes = len(jobs) if jobs[0].task.is_async else self.lanes
            number = self.permitting.limit_of(task, limit[task, key])
            free += self.permitting.admit(PermitRequest(f"{task}/{key}", jobs, number, lanes, highest(limit[task, key])), batch)
        return free

    def _key(self, job: Job, key: Key | None, unfit: list[tuple[Job, TaskLimits]], limits: TaskLimits, batch: Batch) -> str | None:
        """Return the key of *job*; None if it cannot be determined: then the job is given back, or added to *unfit*, to end unrun."""
        if key is None:
            return ""
        try:
            return key(*self.arguments(job.command))
        except (Unavailable, ConfigurationError) as away:
            self.ports.telemetry.log("warning", "arguments out of reach", task_id=job.command.task_id, error=str(away))
            batch.defer_job(job, away)
        except (ArgumentError, MessageRefused, HeaderFailed):
            unfit.append((job, limits._replace(paces=(), concurrency=None)))  # it is told why where its arguments are read again
        except Exception as error:  # noqa: BLE001 - the key may be the user's function
            why = f"the key of its limit: {type(error).__name__}: {error}"
            unfit.append((job._replace(stillborn=Stillborn(states.FAILURE, refusals.KEY, "key", why, park=False)), limits))
        return None


def _timed(jobs: Sequence[Job], changes: Mapping[str, LimitChange]) -> list[Job]:
    """Return *jobs* with the time limits that were changed."""
    times = {name: changes[name].time for name in {job.task.name for job in jobs} if name in changes}
    return [job if (time := times.get(job.task.name)) is None else _with_time(job, TimeLimits(*time)) for job in jobs]


def _with_time(job: Job, limits: TimeLimits) -> Job:
    return job._replace(task=job.task._replace(time_limits=limits if limits.longest else None))


def _limits(job: Job, changes: Mapping[str, LimitChange]) -> TaskLimits | None:
    """Return the limits of a job that has some; a task that must end unrun needs none."""
    if job.stillborn is not None:
        return None
    change = changes.get(job.task.name)
    limits = changed(job.task.limits, change) if change is not None else job.task.limits
    if limits is None or job.delivery.serial_key is None:
        return limits
    return limits._replace(paces=())  # what keeps its place in an order cannot step aside for a slot
