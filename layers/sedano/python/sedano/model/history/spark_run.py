"""A run of a Spark job, as seen by its caller."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

State = Literal["RUNNING", "SUCCEEDED", "FAILED"]

#: What Glue calls the state of a run, and what it is to a follower; any other one has failed.
OF_GLUE: Final[dict[str, State]] = {
    **dict.fromkeys(("STARTING", "RUNNING", "STOPPING", "WAITING"), "RUNNING"), "SUCCEEDED": "SUCCEEDED",
}  # fmt: skip


class SparkRun(NamedTuple):
    """One run of a job: its id, its state, how long it took in seconds, and why it failed."""

    id: str
    state: State
    seconds: float = 0.0
    detail: str = ""
