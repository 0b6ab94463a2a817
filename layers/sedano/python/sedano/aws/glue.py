"""Runs of Glue jobs (`sedano.spark.Runs`): a run carries the id of the task that it was started for as an argument of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sedano.aws.client.faults import AWS_ERRORS, code_of, fault
from sedano.errors import Unavailable
from sedano.model.history.spark_run import OF_GLUE, SparkRun

TASK = "--sedano-task"
LOOKED_AT = 200
"""How many of a job's latest runs are searched for the run of a task."""
_BUSY = frozenset({"ConcurrentRunsExceededException", "ResourceNumberLimitExceededException"})


class GlueRuns:
    """Glue, through a client of botocore."""

    def __init__(self, client: Any) -> None:
        """Use *client*; no call is made yet."""
        self._client = client

    def of(self, job: str, task_id: str) -> Sequence[SparkRun]:
        """Return the job's runs for this task, the oldest first."""
        try:
            answer = self._client.get_job_runs(JobName=job, MaxResults=LOOKED_AT)
        except AWS_ERRORS as error:
            raise fault(error, "glue.GetJobRuns") from error
        return [_run(found) for found in reversed(answer["JobRuns"]) if found.get("Arguments", {}).get(TASK) == task_id]

    def start(self, job: str, arguments: Mapping[str, str], task_id: str) -> None:
        """Start a run; a job that has reached its limit of runs is busy, which is not a failure."""
        try:
            self._client.start_job_run(JobName=job, Arguments={**arguments, TASK: task_id})
        except AWS_ERRORS as error:
            if code_of(error) in _BUSY:
                raise Unavailable(f"glue.StartJobRun: {job} has as many runs as it may have") from error
            raise fault(error, "glue.StartJobRun") from error

    def stop(self, job: str, run: str) -> None:
        """Stop a run; one that has ended is not an error."""
        try:
            self._client.batch_stop_job_run(JobName=job, JobRunIds=[run])
        except AWS_ERRORS as error:
            raise fault(error, "glue.BatchStopJobRun") from error


def _run(found: Mapping[str, Any]) -> SparkRun:
    state = found["JobRunState"]
    return SparkRun(found["Id"], OF_GLUE.get(state, "FAILED"), float(found.get("ExecutionTime", 0)), found.get("ErrorMessage") or state)
