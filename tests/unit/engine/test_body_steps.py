"""The steps of an async body alone: how long the longest was, from which length it is logged, and what passes into the body."""

from collections.abc import Awaitable, Callable, Generator
from typing import Any

import pytest

from sedano import memory
from sedano.engine.task_context import TaskContext
from sedano.engine.worker.blocked_loop_warning import BLOCKS, Stepped
from sedano.memory.telemetry import LoggedLine
from sedano.model.ledger.outcome import Run
from tests.unit.engine.gated import job


class Pause:
    """An object that a body awaits; it passes on the object itself."""

    def __await__(self) -> Generator[Any, Any, Any]:
        """Pass it on, once."""
        return (yield self)


class Body:
    """A body that blocks for each of *seconds*, with a pause after each."""

    def __init__(self, *seconds: float) -> None:
        self.clock, self.seconds = memory.VirtualClock(memory.START), seconds
        self.caught: list[str] = []

    async def run(self) -> int:
        """Block and pause in turns; go on if an exception is thrown into a pause."""
        for seconds in self.seconds:
            self.clock.advance(seconds)
            try:
                await Pause()
            except (ValueError, KeyboardInterrupt) as error:
                self.caught.append(str(error))
        return len(self.caught)


def logged(stepped: Stepped) -> list[LoggedLine]:
    """What is logged of its longest step."""
    telemetry = memory.MemoryTelemetry()
    stepped.tell(TaskContext(job("a", attempt=2).command, 7, 30.0, 1), telemetry)
    return telemetry.lines


def ended(stepped: Stepped, clock: memory.VirtualClock, *thrown: BaseException) -> Run:
    """Its run, if ten seconds pass in each pause, and each of *thrown* is thrown into one pause, in order."""
    steps, left = stepped.__await__(), [*thrown]
    try:
        waits_for = next(steps)
        while True:
            assert isinstance(waits_for, Pause)
            clock.advance(10.0)
            waits_for = steps.throw(left.pop(0)) if left else next(steps)
    except StopIteration as end:
        found: Run = end.value
        return found


@pytest.mark.parametrize(
    ("seconds", "longest", "lines"),
    [((), 0.0, []), ((0.25, 0.5, 0.125), 0.5, []), ((1.0,), 1.0, []), ((0.5, 1.0625, 0.75), 1.0625, [1.1]), ((2.5, 1.25), 2.5, [2.5])],
)
def test_the_longest_step_is_logged_where_it_took_more_than_a_second(seconds: Any, longest: float, lines: list[float]) -> None:
    body = Body(*seconds)
    stepped = Stepped(body.run, body.clock)
    assert (stepped.longest, ended(stepped, body.clock).value, stepped.longest) == (0.0, 0, longest)
    assert [line.fields["seconds"] for line in logged(stepped)] == lines


def test_the_line_of_a_long_step_names_the_task() -> None:
    body = Body(1.5)
    stepped = Stepped(body.run, body.clock)
    ended(stepped, body.clock)
    (line,) = logged(stepped)
    span = TaskContext(job("a", attempt=2).command, 7, 30.0, 1).span
    assert (line.level, line.message) == ("warning", BLOCKS)
    assert line.fields == {"task": "only", "task_id": "a", "attempt": 2, "trace_id": span.trace_id, "seconds": 1.5}


def test_what_is_thrown_into_a_pause_reaches_the_body_once_and_the_body_may_go_on() -> None:
    body = Body(0.0, 0.0, 0.0)
    assert ended(Stepped(body.run, body.clock), body.clock, ValueError("first"), KeyboardInterrupt("second")).value == 2
    assert body.caught == ["first", "second"]


@pytest.mark.parametrize("where", ["call", "step"])
def test_a_body_that_fails_leaves_its_error_and_the_length_of_its_last_step(where: str) -> None:
    clock = memory.VirtualClock(memory.START)

    def fail() -> None:
        clock.advance(3.0)
        raise ValueError(where)

    async def step() -> None:
        await Pause()
        fail()

    def call() -> Awaitable[Any]:
        fail()
        return step()

    bodies: dict[str, Callable[[], Awaitable[Any]]] = {"call": call, "step": step}
    stepped = Stepped(bodies[where], clock)
    error = ended(stepped, clock).error
    assert error is not None
    assert (error.type_name, error.message, stepped.longest) == ("ValueError", where, 3.0)
