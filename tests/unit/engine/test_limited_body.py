"""What a body within its time limits comes to: by a clock that the test moves, with a watch that meets nothing."""

from typing import Any

import pytest

from sedano import memory
from sedano.engine.task_context import TaskContext
from sedano.engine.worker.time_limits import HardLimit, Limited
from sedano.errors import SoftTimeLimitExceeded
from sedano.model.ledger.outcome import Run
from sedano.model.messages.message import Command, TimeLimits

HARD = TimeLimits(60.0, 120.0)
FAILED = "TimeLimitExceeded"


class Body:
    """One body, its limits, and what was recorded from beside it."""

    def __init__(self, limits: TimeLimits = HARD) -> None:
        """Begin."""
        self.clock, self.late, self.asked = memory.VirtualClock(100.0), list[Run](), list[int]()
        self.context = TaskContext(Command("m", "t", "body", "test@host", 0.0, 1), 1, 30.0, 1, checkpoint=lambda: self.asked.append(1))
        self.limited = Limited(limits, self.clock, self.context, self.late.append)

    def run(self, body: Any) -> Run:
        """Return the run of *body*."""
        return self.limited.run(body)


def type_of(run: Run) -> str:
    """Return the type of the error of *run*."""
    return run.error.type_name if run.error is not None else ""


def test_a_body_that_ends_before_its_hard_limit_counts_as_it_ended() -> None:
    body = Body()
    assert body.run(lambda: body.clock.advance(119.999) or Run("done")) == Run("done")
    soft = Body(TimeLimits(60.0, None))
    assert soft.run(lambda: soft.clock.advance(500.0) or Run("done")) == Run("done"), "it had cleaned up and gone on"


def test_a_body_that_ends_at_its_hard_limit_has_failed_for_good_and_publishes_nothing() -> None:
    body = Body()
    draft: Any = object()
    body.context.outbox.append(draft)
    body.context.added.append(draft)
    run = body.run(lambda: body.clock.advance(120.0) or Run("done"))
    assert (type_of(run), run.poisonous, run.value) == (FAILED, True, None)
    assert run.error is not None
    assert run.error.message == "the task ran longer than its hard time limit of 120 s"
    assert (body.context.outbox, body.context.added) == ([], [])


def test_a_body_that_was_met_at_its_hard_limit_has_failed_whatever_the_clock_says() -> None:
    body = Body()

    def met() -> Run:
        body.limited._watch.hard_met = True
        return Run("done")

    assert type_of(body.run(met)) == FAILED


@pytest.mark.parametrize(("what", "kind"), [(SoftTimeLimitExceeded, "SoftTimeLimitExceeded"), (HardLimit, "SoftTimeLimitExceeded")])
def test_what_meets_the_last_steps_around_a_body_is_its_end(what: type[BaseException], kind: str) -> None:
    body = Body()

    def met() -> Run:
        raise what

    run = body.run(met)
    assert (type_of(run), run.poisonous) == (kind, False)
    assert run.error is not None
    assert run.error.message == str(SoftTimeLimitExceeded())
    assert body.limited._watch._over


def test_another_failure_around_a_body_passes_and_the_watch_is_closed() -> None:
    body = Body()

    def broken() -> Run:
        raise KeyError("mine")

    with pytest.raises(KeyError):
        body.run(broken)
    assert body.limited._watch._over


def test_closing_goes_on_when_it_is_met_on_the_way_into_it() -> None:
    body, closed = Body(), list[str]()

    class Met:
        hard_met = False

        def begin(self) -> None:
            """Begin."""

        def close(self) -> None:
            """Be met twice."""
            closed.append("close")
            if len(closed) <= 3:
                raise (SoftTimeLimitExceeded if len(closed) == 2 else HardLimit)

    body.limited._watch = Met()  # type: ignore[assignment]
    assert body.run(lambda: Run("done")) == Run("done")
    assert len(closed) == 4


def test_checkpoints_of_the_body_know_its_limits_and_then_ask_what_they_asked() -> None:
    body = Body()
    body.clock.advance(59.0)
    body.context.check()
    assert body.asked == [1]
    body.clock.advance(1.0)
    with pytest.raises(SoftTimeLimitExceeded):
        body.context.check()
    assert body.asked == [1]
    bare = TaskContext(Command("m", "t", "body", "test@host", 0.0, 1), 1, 30.0, 1)
    Limited(HARD, body.clock, bare, body.late.append)
    bare.check()


def test_each_call_of_a_map_has_the_limits_anew_and_one_that_was_over_its_hard_one_ends_it() -> None:
    body = Body()
    first = body.limited._watch

    def calls() -> Run:
        assert body.context.limits is body.limited
        for _ in range(3):
            body.clock.advance(119.0)
            body.context.limits.again()
        assert body.limited._watch is not first
        assert first._over
        assert not body.limited._watch._over
        body.clock.advance(59.0)
        body.context.check()
        body.clock.advance(61.0)
        with pytest.raises(HardLimit):
            body.context.limits.again()
        return Run("done")

    assert type_of(body.run(calls)) == FAILED
    assert body.limited._watch._over


def test_a_call_of_a_map_runs_under_a_watch_that_has_begun() -> None:
    body = Body()

    def calls() -> Run:
        body.limited.again()
        assert body.limited._watch._begun.is_set()
        return Run("done")

    assert body.run(calls) == Run("done")


def test_a_body_that_is_overdue_is_recorded_from_beside_it() -> None:
    body = Body()
    body.limited._watch._overdue()
    beside = body.limited.beside()
    assert not beside._meets
    beside._overdue()
    assert [(type_of(run), run.poisonous) for run in body.late] == [(FAILED, True)] * 2
    assert beside._limits == HARD


