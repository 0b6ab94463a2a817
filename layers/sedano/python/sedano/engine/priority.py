"""The order in which the tasks of a batch begin (`sedano.model.priority`). Loaded only by an app with a preference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sedano.engine.batch import Arguments, Batch, Held, Job, Judged
from sedano.engine.gate import Gate
from sedano.model.priority import Candidate, Strategy, mean, order
from sedano.model.tasks.task_spec import TaskSpec
from sedano.ports import Ports


class Preferring(Gate):
    """Orders jobs by *strategy*, and measures jobs that ended. One per worker."""

    def __init__(self, ports: Ports, strategy: Strategy, lanes: int) -> None:
        """Start without measurements; *lanes*: `def` bodies that run at once."""
        self.ports, self.strategy, self.lanes = ports, strategy, lanes
        self._seconds: dict[str, float] = {}
        self._runs: Counter[str] = Counter()
        self._busy: float | None = None
        self._learned: float | None = None

    def admit(self, jobs: Sequence[Job], batch: Batch) -> Sequence[Job]:
        """Return *jobs* in the order in which to begin them; in the order of their arrival if the strategy fails."""
        if len(jobs) < 2:
            return jobs
        now = self.ports.clock.now()
        for job in jobs:
            self._runs[job.task.name] += 1
        try:
            places = order([self._candidate(job, now) for job in jobs], self.strategy)
        except Exception as error:  # noqa: BLE001 - the strategy is the user's function
            self.ports.telemetry.log("warning", "priority strategy failed", error=f"{type(error).__name__}: {error}")
            return jobs
        batch.ordered = True
        return [jobs[place] for place in places]

    def learn(self, ended: Sequence[Judged], ready: Sequence[tuple[Held, Arguments]], batch: Batch) -> None:
        """Remember how long runs took, and how full of `def` bodies this worker is."""
        now, spent = self.ports.clock.now(), 0.0
        for judged in ended:
            task, seconds = judged.ran.held.job.task, judged.ran.ended - judged.ran.started
            self._seconds[task.name] = mean(self._seconds.get(task.name), seconds)
            spent += 0.0 if task.is_async else seconds
        if self._learned is not None and now > self._learned:
            self._busy = mean(self._busy, min(1.0, spent / (self.lanes * (now - self._learned))))
        self._learned = now

    def _candidate(self, job: Job, now: float) -> Candidate:
        task: TaskSpec = job.task
        waited = max(0.0, now - job.command.time)
        return Candidate(
            task=task.name, is_async=task.is_async, seconds=self._seconds.get(task.name), runs=self._runs[task.name], waited=waited,
            tenant=job.command.tenant, busy=self._busy or 0.0,
        )  # fmt: skip
