"""The loop on which async bodies run together, alone: which of them begin, which are late, and what is done around each of them."""

import asyncio
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from sedano.engine.batch import Held, Ran
from sedano.engine.task_context import current
from sedano.engine.task_log import notice
from sedano.engine.worker.body_coroutines import Turns
from sedano.engine.worker.body_preparation import Ready
from sedano.engine.worker.event_loop import _late, _within, all_of
from sedano.engine.worker.execution import Execution
from sedano.engine.worker.time_limits import HardLimit
from sedano.model.budgets import Budget, Level
from sedano.model.ledger.outcome import Run
from sedano.model.messages.message import TimeLimits
from tests.unit.engine.gated import advance, batch, job, names
from tests.unit.engine.test_worker_steps import Stage

GUARD_S = 2.0


async def ends() -> int:
    """A body that waits for nothing."""
    return 7


async def hangs() -> None:
    """A body that does not end."""
    await asyncio.Event().wait()


async def turns_thrice() -> None:
    """A body that ends when the loop has come round three times."""
    for _ in range(3):
        await asyncio.sleep(0)


def ready(name: str, body: Callable[..., Any] = ends, limits: TimeLimits | None = None) -> Ready:
    """A job on the loop, with its arguments."""
    one = job(name, time_limits=limits)
    return Held(one._replace(task=one.task._replace(function=body, is_async=True)), None), ((), {})


class Loop:
    """The bodies of one batch, on a loop of its own."""

    def __init__(self, left: float = 5.0, *, in_turns: bool = False) -> None:
        """Let *left* seconds remain until the guard."""
        self.stage = Stage()
        self.ports = self.stage.ports
        self.execution: Execution = self.stage.worker._execution._replace(guard=GUARD_S)
        self.execution.look.begin([])
        if in_turns:
            self.execution = self.execution._replace(turns=Turns(Budget(1, 1), lambda *_: Level(1), self.ports.clock))
        self.batch, self.runs = batch(self.ports, GUARD_S + left), list[Ran]()

    def run(self, *waiting: Ready) -> list[tuple[str, bool]]:
        """Return which jobs were late, and whether their bodies had begun."""
        late = asyncio.run(all_of(waiting, self.execution, self.batch, self.runs.append))
        return [(held.job.command.id, begun) for held, begun in late]

    @property
    def ended(self) -> list[str]:
        """The jobs whose bodies have ended."""
        return [ran.held.job.command.id for ran in self.runs]


@pytest.mark.parametrize(("left", "in_turns", "begins"), [(0.0, True, True), (-0.5, True, False), (-0.5, False, True)])
def test_a_body_that_waited_for_its_turn_begins_until_the_guard_and_one_that_did_not_wait_begins(
    left: float, in_turns: bool, begins: bool
) -> None:
    loop = Loop(left, in_turns=in_turns)
    assert (loop.run(ready("a")), loop.ended) == (([], ["a"]) if begins else ([("a", False)], []))


def test_an_error_of_what_takes_the_end_of_a_body_is_raised_when_all_bodies_have_ended() -> None:
    loop = Loop()

    def breaks(ran: Ran) -> None:
        loop.runs.append(ran)
        if len(loop.runs) == 1:
            raise RuntimeError("a defect")

    with pytest.raises(RuntimeError, match="a defect"):
        asyncio.run(all_of([ready("a"), ready("b")], loop.execution, loop.batch, breaks))
    assert loop.ended == ["a", "b"]


def test_a_body_that_does_not_end_before_the_guard_is_cancelled_and_late() -> None:
    found = list[str]()

    async def waits() -> None:
        try:
            await hangs()
        except asyncio.CancelledError:
            found.append("cancelled")
            raise

    loop = Loop(0.0)
    assert (loop.run(ready("a", waits), ready("b")), loop.ended, found) == ([("a", True)], ["b"], ["cancelled"])


def late_of(body: Callable[[], Any], seconds: float, *, cut: bool = False) -> tuple[bool, int]:
    """Return whether *body* was late after so many *seconds* on a loop that may be *cut*, and how many other tasks the loop has left."""

    async def waited() -> tuple[bool, int]:
        task, ends_all = asyncio.create_task(body()), asyncio.Event()
        if cut:
            asyncio.get_running_loop().call_soon(ends_all.set)
        late = await asyncio.wait_for(_late([task], seconds, ends_all), 20)
        await asyncio.sleep(0)
        others = asyncio.all_tasks() - {task, asyncio.current_task()}
        task.cancel()
        return late == {task}, len(others)

    return asyncio.run(waited())


@pytest.mark.parametrize(
    ("body", "seconds", "cut", "late"),
    [
        (turns_thrice, 1.0, False, False), (turns_thrice, 0.0, False, True), (turns_thrice, -1.0, False, True),
        (hangs, 0.0, False, True), (hangs, 60.0, True, True),
    ],
)  # fmt: skip
def test_a_body_on_a_loop_that_goes_on_is_late_after_its_time_or_at_the_cut_and_nothing_waits_on(
    body: Callable[[], Any], seconds: float, cut: bool, late: bool
) -> None:
    assert late_of(body, seconds, cut=cut) == (late, 0)


def test_the_stores_are_read_beside_the_loop_where_the_last_look_is_a_second_old() -> None:
    loop, asked = Loop(), list[tuple[float, bool]]()
    look: Any = loop.execution.look
    look.ask = lambda now: asked.append((now, threading.current_thread() is threading.main_thread()))
    assert (loop.run(ready("a")), asked) == ([], [])
    advance(loop.ports, 1.0)
    assert loop.run(ready("b")) == []
    assert (loop.ended, asked) == (["a", "b"], [(loop.ports.clock.now(), False)])


def test_a_body_whose_claim_is_over_does_not_begin_and_its_message_is_given_back() -> None:
    loop, began = Loop(), list[str]()

    async def begins() -> None:
        began.append("a")

    loop.execution = loop.execution._replace(holds=lambda _: False)
    assert (loop.run(ready("a", begins)), loop.ended, began) == ([], [], [])
    assert ([one.message_id for one in loop.batch.given_back], names([one.job for one in loop.batch.unstarted])) == (["a"], ["a"])
    assert loop.execution.began[-1].over


@pytest.mark.parametrize("limits", [None, TimeLimits(30.0, 60.0)])
def test_a_body_that_is_cancelled_through_its_context_was_revoked_or_has_failed_and_is_not_lost(limits: TimeLimits | None) -> None:
    async def cancels(revoked: bool) -> None:
        context = current()
        context.revoked = revoked
        assert context.cancel is not None
        context.cancel()
        await asyncio.sleep(0)

    loop = Loop()
    late = loop.run(ready("a", lambda: cancels(True), limits), ready("b", lambda: cancels(False), limits), ready("c", ends, limits))
    ends_of = {ran.held.job.command.id: (ran.run.revoked, ran.run.error and ran.run.error.type_name, ran.run.value) for ran in loop.runs}
    assert ends_of == {"a": (True, None, None), "b": (False, "CancelledError", None), "c": (False, None, 7)}
    assert (late, loop.batch.given_back) == ([], [])
    assert [(context.id, context.over) for context in loop.execution.began] == [("a", True), ("b", True), ("c", True)]
    assert [ran.started_clock for ran in loop.runs if ran.held.job.command.id == "b"] == [loop.execution.began[1].clock]


def test_the_traceback_of_a_body_that_raised_a_cancellation_begins_in_the_body() -> None:
    async def gives_up() -> None:
        raise asyncio.CancelledError("of its own accord")

    loop = Loop()
    assert loop.run(ready("a", gives_up)) == []
    ((error, poisonous),) = ((ran.run.error, ran.run.poisonous) for ran in loop.runs)
    assert error is not None
    assert (error.type_name, error.message, poisonous) == ("CancelledError", "of its own accord", False)
    assert (error.traceback.count("File "), "in gives_up" in error.traceback) == (1, True)


def test_a_body_within_limits_is_watched_from_its_begin_to_its_end() -> None:
    steps = list[str]()

    async def body() -> Run:
        steps.append("body")
        return Run(7)

    watch = SimpleNamespace(begin=lambda: steps.append("begin"), close=lambda: steps.append("close"))
    limited: Any = SimpleNamespace(
        limits=TimeLimits(30.0, 60.0), hard_limit=HardLimit, beside=lambda: watch, settled=lambda run: run._replace(value=run.value + 1)
    )
    assert asyncio.run(_within(limited, body())) == Run(8)
    assert steps == ["begin", "body", "close"]


def test_a_line_of_a_body_goes_to_the_telemetry_of_its_worker_and_names_its_task() -> None:
    async def says() -> None:
        notice("info", "half done")

    loop = Loop()
    loop.run(ready("a", says), ready("b", says))
    lines = [line for line in loop.stage.telemetry.lines if line.message == "half done"]
    assert [line.fields["task_id"] for line in lines] == ["a", "b"]


@pytest.mark.parametrize("noting", [True, False])
def test_the_end_of_a_body_is_noted_at_once_by_the_gates_that_note_ends(noting: bool) -> None:
    loop, noted = Loop(), list[Ran]()
    admission: Any = SimpleNamespace(noting=[object()] * noting, note=noted.append)
    loop.execution = loop.execution._replace(admission=admission)
    loop.run(ready("a"))
    assert (loop.ended, noted) == (["a"], loop.runs if noting else [])
