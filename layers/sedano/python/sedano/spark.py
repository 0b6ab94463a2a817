"""Spark jobs as tasks: a canvas node that runs a Glue job. A worker starts the run, and later attempts check it.

    tables = spark_task(app, "sedano-prod-history", lambda: GlueRuns(boto3.client("glue")), retries=1)
    chain(collect.s(), tables.si({"--day": "2026-11-20"}), notify.s()).delay()

No worker waits while Spark runs: each check is a short attempt of the task, and the pauses between checks grow to a quarter of an hour. A
run carries its task's id, so if an attempt dies after starting a run, the next attempt finds that run; the lease `spark/JOB` prevents two
attempts from starting runs at the same time. Glue does not check fencing tokens, so a worker that is frozen while it starts a run may cause
a second one. So make the job itself commit with a fence, as `glue_jobs/history.py` does.

If a task is revoked with *terminate* during an attempt, its run is stopped. If it is revoked between attempts, the run continues to its
end, unless the call has `spark_stop` as its error callback, which runs when the next check is due:

    stop = spark_stop(app, "sedano-prod-history", lambda: GlueRuns(boto3.client("glue")))
    tables.s({"--day": "2026-11-20"}).on_error(stop.s()).delay()

The result is `{"job", "run", "seconds"}`; a run that fails more often than *retries* fails the task with Spark's own message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from sedano.app import Sedano
from sedano.engine.body_sections import poisonous, retry
from sedano.engine.task_context import CURRENT, TaskContext
from sedano.errors import OptionError, SedanoError, TaskRevoked
from sedano.model.history.spark_run import SparkRun
from sedano.model.retry import MAX_EXECUTIONS

FIRST_LOOK_S, LONGEST_PAUSE_S, GROWTH = 30.0, 900.0, 1.5
"""The pauses (s) between two checks: 19 of them cover more than three hours."""
START_S = 30.0

Arguments = Mapping[str, str]


class Runs(Protocol):
    """A service that runs Spark jobs: Glue (`sedano.aws.glue.GlueRuns`), this machine (`sedano.local.spark_runs.LocalRuns`)."""

    def of(self, job: str, task_id: str) -> Sequence[SparkRun]:
        """Return the runs of *job* that were started for this task, in the order of their starts."""

    def start(self, job: str, arguments: Arguments, task_id: str) -> None:
        """Start a run of *job* for this task; raise `Unavailable` if it cannot start now."""

    def stop(self, job: str, run: str) -> None:
        """Stop a run; do nothing if it has ended."""


class SparkRunning(SedanoError):
    """The Spark run has not ended; the task checks again later."""


class SparkFailed(SedanoError):
    """The Spark run failed; the error has Spark's own message."""


def spark_task(
    app: Sedano, job: str, runs: Callable[[], Runs], *, name: str | None = None, queue: str = "default", retries: int = 0
) -> Any:
    """Declare a task that runs the Spark job *job*; its argument is the mapping of the run's arguments by name.

    Args:
        app: the app.
        job: the name of the job in the service that runs it.
        runs: returns the access to that service; a worker calls it when it first needs it.
        name: the task's name in messages; by default ``spark.JOB``.
        queue: the command queue it is sent to.
        retries: how often a run that failed is started again (0 to 5).

    Raises:
        OptionError: an option cannot be honoured.
    """
    if not 0 <= retries <= 5:
        raise OptionError(f"retries: {retries} is not a whole number from 0 to 5")

    @app.task(name=name or f"spark.{job}", queue=queue, retry=False)
    def follow(arguments: dict[str, str] | None = None) -> dict[str, Any]:
        context = CURRENT.get()
        if context is None:
            raise OptionError(f"spark task {job}: only a worker can run it; publish it instead of calling it")
        return _looked(app, job, runs(), dict(arguments or {}), context, retries)

    return follow


def spark_stop(app: Sedano, job: str, runs: Callable[[], Runs], *, name: str | None = None, queue: str = "default") -> Any:
    """Declare an error callback for calls of a `spark_task`: it stops the unfinished runs of a revoked task and returns their ids.

    Args:
        app: the app.
        job: the name of the job in the service that runs it.
        runs: returns the access to that service; a worker calls it when it first needs it.
        name: the task's name in messages; by default ``spark.JOB.stop``.
        queue: the command queue it is sent to.
    """

    @app.task(name=name or f"spark.{job}.stop", queue=queue)
    def stop(task_id: str) -> list[str]:
        there = runs()
        alive = [run.id for run in there.of(job, task_id) if run.state == "RUNNING"]
        for run in alive:
            there.stop(job, run)
        return alive

    return stop


def _looked(app: Sedano, job: str, runs: Runs, arguments: Arguments, context: TaskContext, retries: int) -> dict[str, Any]:
    """Check once: return the result, start a run, or ask to be called again later."""
    known = runs.of(job, context.id)
    done = next((run for run in known if run.state == "SUCCEEDED"), None)
    if done is not None:
        return {"job": job, "run": done.id, "seconds": done.seconds}
    alive = [run for run in known if run.state == "RUNNING"]
    if not alive and len(known) > retries:
        with poisonous():
            raise SparkFailed(f"{job}, run {known[-1].id}: {known[-1].detail}")
    _stop_if_revoked(job, runs, alive, context)
    with retry(MAX_EXECUTIONS - 1, FIRST_LOOK_S, interval_max=LONGEST_PAUSE_S, backoff=GROWTH, jitter=False):
        if not alive:
            _start(app, job, runs, arguments, context.id)
        raise SparkRunning(f"{job}: its run has not ended")


def _start(app: Sedano, job: str, runs: Runs, arguments: Arguments, task_id: str) -> None:
    """Start a run, unless another attempt at this task has done so meanwhile."""
    with app.lock(f"spark/{job}", duration=START_S, timeout=START_S):
        if not any(run.state == "RUNNING" for run in runs.of(job, task_id)):
            runs.start(job, arguments, task_id)


def _stop_if_revoked(job: str, runs: Runs, alive: Sequence[SparkRun], context: TaskContext) -> None:
    try:
        context.check()
    except TaskRevoked:
        for run in alive:
            runs.stop(job, run.id)
        raise
