"""The state of a Spark job's run, for its caller."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

State = Literal["RUNNING", "SUCCEEDED", "FAILED"]

#: The states of a run in Glue, each with the state that a follower sees; any other state of Glue is a failure.
OF_GLUE: Final[dict[str, State]] = {
    **dict.fromkeys(("STARTING", "RUNNING", "STOPPING", "WAITING"), "RUNNING"), "SUCCEEDED": "SUCCEEDED",
}  # fmt: skip


class SparkRun(NamedTuple):
    """One run of a job: its id, its state, its duration in seconds, and the reason of its failure."""

    id: str
    state: State
    seconds: float = 0.0
    detail: str = ""
