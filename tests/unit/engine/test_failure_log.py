"""The log line of a failed body alone: whether there is one, its level, and which frames of a traceback are the application's."""

import os

import pytest

from sedano import memory
from sedano.engine.batch import Held, Judged, Ran
from sedano.engine.task_context import span_of
from sedano.engine.worker.failure_log import FAILED, IGNORED, MOST_FRAMES, TRIED_AGAIN, UNDECIDED, frames, tell_failure
from sedano.memory.telemetry import LoggedLine
from sedano.model import states
from sedano.model.ledger.outcome import Run, Verdict
from sedano.model.ledger.records import ErrorRecord, TaskRecord
from tests.unit.engine.gated import job

ERROR = ErrorRecord("ValueError", "out of stock")
FINAL = Verdict(states.FAILURE, 9.0)


def ran(error: ErrorRecord | None = ERROR, fence: int | None = 3) -> Ran:
    """A run that ended with *error*, under a claim with this *fence*, if any."""
    record = TaskRecord("a", states.RUNNING, fence=fence) if fence is not None else None
    return Ran(Held(job("a", attempt=1), record), Run(error=error), None, (), 1.0, 8, 2.0)


def lines(one: Ran, verdict: Verdict | None = FINAL) -> list[LoggedLine]:
    """What is logged of it."""
    telemetry = memory.MemoryTelemetry()
    tell_failure(one, Judged(one, verdict, None, ()) if verdict is not None else None, telemetry)
    return telemetry.lines


@pytest.mark.parametrize(
    ("error", "verdict", "level", "message"),
    [
        (ERROR, FINAL, "error", FAILED),
        (ERROR, Verdict(states.RETRY, 1.23456), "warning", TRIED_AGAIN),
        (ERROR, None, "warning", UNDECIDED),
        (ErrorRecord("Ignore", "paid already"), FINAL, "info", IGNORED),
        (ErrorRecord("Ignore", "paid already"), Verdict(states.RETRY, 1.23456), "warning", TRIED_AGAIN),
    ],
)
def test_the_level_is_what_the_failure_deserves(error: ErrorRecord, verdict: Verdict | None, level: str, message: str) -> None:
    (line,) = lines(ran(error), verdict)
    assert (line.level, line.message) == (level, message)
    assert line.fields.get("retry_in") == (1.235 if message == TRIED_AGAIN else None)


def test_a_success_the_failure_of_another_task_and_a_task_that_never_ran_leave_no_line() -> None:
    assert lines(ran(None)) == []
    assert lines(ran(ErrorRecord("ValueError", "of another", cause="b"))) == []
    stillborn = ran()
    assert lines(stillborn._replace(held=stillborn.held._replace(stillborn="expired"))) == []  # type: ignore[arg-type]


@pytest.mark.parametrize("fence", [3, None])
def test_the_line_names_the_span_of_the_execution(fence: int | None) -> None:
    one = ran(fence=fence)
    (line,) = lines(one)
    span = span_of(one.held.job.command, fence or 0, 8)
    assert [line.fields[name] for name in ("trace_id", "span_id", "parent_span_id")] == [span.trace_id, span.span_id, span.parent_id]
    assert [line.fields[name] for name in ("task", "task_id", "attempt", "error_type", "error")] == [
        "only", "a", 1, "ValueError", "out of stock",
    ]  # fmt: skip


def test_the_frames_are_the_last_eight_of_the_application() -> None:
    own = [f'  File "/var/task/shop.py", line {number}, in step{number}\n    x()\n' for number in range(1, MOST_FRAMES + 3)]
    foreign = [
        f'  File "{path}", line 1, in foreign\n'
        for path in (os.__file__, "/opt/python/x.py", "<string>", "/v/site-packages/x.py", "/usr/lib/python3/dist-packages/x.py")
    ]
    found = frames("Traceback (most recent call last):\n" + "".join([*foreign, *own, *foreign]))
    assert found == [f"/var/task/shop.py:{number} in step{number}" for number in range(3, 11)]
    assert frames("ValueError") == []
