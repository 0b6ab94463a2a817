"""The bodies of one batch alone: their order, what each of them sees, and which of them begin in the time that is left."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from sedano.engine.batch import Held, Later, Ran, Stillborn
from sedano.engine.hooks import RunHooks
from sedano.engine.registry import Registry
from sedano.engine.revocation.record import Checkpoint
from sedano.engine.task_context import NO_TABLES, TaskContext, current
from sedano.engine.worker.body_preparation import Ready
from sedano.engine.worker.event_loop import run_together
from sedano.engine.worker.execution import DRAINED, Execution, hooks_of
from sedano.model import refusals, states
from sedano.model.ledger.records import TaskRecord
from sedano.model.messages.message import TimeLimits
from tests.unit.engine.gated import advance, batch, job, names
from tests.unit.engine.test_body_loops import GUARD_S, ends, hangs, ready
from tests.unit.engine.test_worker_steps import Stage

BEFORE = "no time left in this invocation"
OVER = "a claim or a visibility was over before the body began; another worker runs it"


def plain(name: str, body: Any = lambda: 7, limits: TimeLimits | None = None, **changes: Any) -> Ready:
    """A job whose body is a `def`, with its arguments."""
    one = job(name, time_limits=limits)
    return Held(one._replace(task=one.task._replace(function=body), **changes), None), ((), {})


class Bodies:
    """What runs the bodies of one worker, and what became of them."""

    def __init__(self, **changes: Any) -> None:
        """Run them with *changes*."""
        self.stage = Stage()
        self.ports = self.stage.ports
        self.execution: Execution = self.stage.worker._execution._replace(guard=GUARD_S, run_loop=run_together, **changes)
        self.runs = list[Ran]()

    def run(self, *waiting: Ready, left: float = 5.0, ordered: bool = False) -> list[str]:
        """Run the bodies of *waiting* where *left* seconds remain until the guard; return which have ended, in this order."""
        self.batch, self.runs = batch(self.ports, GUARD_S + left), []
        self.batch.ordered = ordered
        self.execution.run(waiting, self.batch, self.runs.append)
        return [ran.held.job.command.id for ran in self.runs]

    def told(self) -> list[tuple[str, str]]:
        """The lines that were logged, with their levels."""
        return [(line.level, line.message) for line in self.stage.telemetry.lines if line.fields.get("task_id")]

    def left(self) -> tuple[list[str], list[str]]:
        """The messages that were given back, and the jobs that are unstarted."""
        return [one.message_id for one in self.batch.given_back], names([one.job for one in self.batch.unstarted])


@pytest.mark.parametrize(
    ("kinds", "ordered", "order"),
    [
        ("pap", True, "021"), ("app", True, "012"), ("pap", False, "102"), ("pa", True, "01"), ("ap", True, "01"), ("pa", False, "10"),
        ("a", True, "0"), ("p", True, "0"), ("pp", False, "01"), ("", True, ""),
    ],
)  # fmt: skip
def test_bodies_inline_run_before_the_loop_where_the_order_begins_with_one_and_after_it_otherwise(
    kinds: str, ordered: bool, order: str
) -> None:
    waiting = [plain(str(number)) if kind == "p" else ready(str(number)) for number, kind in enumerate(kinds)]
    assert "".join(Bodies().run(*waiting, ordered=ordered)) == order


def test_the_bodies_that_have_begun_are_those_of_this_batch() -> None:
    bodies = Bodies()
    bodies.run(plain("a"), ready("b"))
    assert sorted(context.id for context in bodies.execution.began) == ["a", "b"]
    bodies.run(plain("c"))
    assert [context.id for context in bodies.execution.began] == ["c"]


@pytest.mark.parametrize("make", [plain, ready])
@pytest.mark.parametrize(
    ("limits", "left", "begins"),
    [
        (None, 0.0, True), (None, -0.25, False), (TimeLimits(None, 3.0), 3.0, True), (TimeLimits(None, 3.0), 2.75, False),
        (TimeLimits(3.0, None), 3.0, True), (TimeLimits(3.0, None), 2.75, False),
    ],
)  # fmt: skip
def test_a_body_begins_until_the_guard_where_its_limits_end_before_it(make: Any, limits: Any, left: float, begins: bool) -> None:
    bodies = Bodies()
    body = ends if make is ready else lambda: 7
    assert bodies.run(make("a", body, limits), left=left) == (["a"] if begins else [])
    assert bodies.left() == (([], []) if begins else (["a"], ["a"]))
    assert bodies.told() == ([] if begins else [("warning", BEFORE)])
    assert bodies.batch.deferred == {}


@pytest.mark.parametrize("make", [plain, ready])
def test_a_worker_that_stops_begins_no_body_and_gives_the_messages_back(make: Any) -> None:
    bodies = Bodies()
    bodies.execution.draining.set()
    assert bodies.run(make("a")) == []
    assert (bodies.left(), bodies.told()) == ((["a"], ["a"]), [("info", DRAINED)])


@pytest.mark.parametrize("make", [plain, ready])
def test_a_body_whose_claim_is_over_is_left_to_the_worker_that_has_it(make: Any) -> None:
    bodies = Bodies(holds=lambda _: False)
    assert bodies.run(make("a")) == []
    assert (bodies.left(), bodies.told()) == ((["a"], ["a"]), [("warning", OVER)])
    assert [context.over for context in bodies.execution.began] == [True]


@pytest.mark.parametrize("drains", [True, False])
def test_a_body_that_was_cancelled_is_given_back_and_its_claim_is_released_where_the_worker_stops(drains: bool) -> None:
    bodies = Bodies()

    async def hanging() -> None:
        if drains:
            bodies.execution.draining.set()
        await hangs()

    assert bodies.run(ready("a", hanging), left=0.0) == []
    assert bodies.left() == (["a"], ["a"] if drains else [])
    assert bodies.told() == [("info", DRAINED) if drains else ("warning", BEFORE)]


def test_a_body_without_a_claim_for_which_no_time_is_left_is_sent_again_at_once() -> None:
    bodies = Bodies()
    assert bodies.run(plain("a", mode="at_least_once"), left=-1.0) == []
    assert [one.seconds for one in bodies.batch.deferred.values()] == [0.0]


@pytest.mark.parametrize("make", [plain, ready])
def test_a_body_that_a_gate_stops_ends_or_waits_and_does_not_run(make: Any) -> None:
    why: list[Any] = [Stillborn(states.EXPIRED, refusals.EXPIRED, "expires", "too late"), Later("paused", 5.0)]
    look: Any = SimpleNamespace(begin=lambda _: None, due=lambda _: False, at=lambda *_: why.pop(0))
    bodies = Bodies(look=look)
    assert bodies.run(make("a")) == ["a"]
    (ran,) = bodies.runs
    assert (ran.held.stillborn, ran.run.poisonous, ran.result) == (
        Stillborn(states.EXPIRED, refusals.EXPIRED, "expires", "too late"), True, None,
    )  # fmt: skip
    assert bodies.run(make("b")) == []
    assert bodies.left() == (["b"], ["b"])
    assert [(line["type"], line["reason"]) for line in bodies.batch.chronicle.lines] == [("task-held", "paused")]
    assert bodies.execution.began == []


@pytest.mark.parametrize("noting", [True, False])
def test_the_stores_are_read_and_ends_are_noted_by_the_thread_of_the_body(noting: bool) -> None:
    bodies, asked, noted = Bodies(), list[Any](), list[Ran]()
    admission: Any = SimpleNamespace(noting=[object()] * noting, note=noted.append)
    look: Any = bodies.execution.look
    look.ask = lambda now: asked.append((now, threading.current_thread()))
    bodies.execution = bodies.execution._replace(admission=admission)
    bodies.run(plain("a"), plain("b", lambda: advance(bodies.ports, 1.0)), plain("c"))
    assert asked == [(bodies.ports.clock.now(), threading.current_thread())]
    assert noted == (bodies.runs if noting else [])
    assert [ran.started for ran in bodies.runs] == [bodies.ports.clock.now() - seconds for seconds in (1.0, 1.0, 0.0)]


def test_bodies_on_threads_run_beside_the_loop_and_their_ends_come_in_the_order_of_the_jobs() -> None:
    first, second = threading.Event(), threading.Event()

    async def meets() -> bool:
        return await asyncio.to_thread(first.wait, 20)

    def lets_go() -> None:
        first.set()
        second.set()

    with ThreadPoolExecutor(2) as pool:
        bodies = Bodies(pool=pool)
        waiting = (plain("a", lambda: second.wait(20)), ready("b", meets), plain("c", lets_go))
        assert bodies.run(*waiting) == ["b", "a", "c"]
        assert [ran.run.value for ran in bodies.runs] == [True, True, None]
        assert bodies.run(plain("d"), left=-1.0) == []
    assert bodies.left() == (["d"], ["d"])


def seen(execution: Execution, held: Held) -> TaskContext:
    """The context of a body that ends in nine seconds."""
    return execution.context(held, 9.0)


def test_a_body_sees_its_command_its_claim_and_what_its_worker_has() -> None:
    attempts: Any = SimpleNamespace(attempts_before=lambda command: command.attempt - 1)
    configuration: Any = SimpleNamespace(newest="the newest")
    bodies = Bodies(preparation=attempts, vote=print, tables={"stock": ("id",)}, configuration=configuration)
    one = job("a", attempt=3)._replace(token=5, permit=2)
    clock = bodies.execution.lamport.forward()
    context = seen(bodies.execution, Held(one, TaskRecord("a", states.RUNNING, fence=7)))
    assert (context.command, context.deadline, context.fence, context.clock) == (one.command, 9.0, 7, clock + 1)
    assert (context.token, context.permit, context.before, context.attempt, context.vote) == (5, 2, 2, 1, print)
    assert (context.tables, context.recorded, context.snapshot) == ({"stock": ("id",)}, True, "the newest")
    asks = context.checkpoint
    assert isinstance(asks, Checkpoint)
    assert (asks.ports, asks.task_id, asks.fence) == (bodies.ports, "a", 7)
    assert bodies.execution.began == [context]


def test_a_body_without_a_claim_has_no_fence_and_no_checkpoint() -> None:
    attempts: Any = SimpleNamespace(attempts_before=lambda command: 9)
    bodies = Bodies(preparation=attempts, tables={}, configuration=None)
    context = seen(bodies.execution, Held(job("a"), None))
    assert (context.fence, context.checkpoint, context.before, context.tables, context.snapshot) == (0, None, 0, NO_TABLES, None)


@pytest.mark.parametrize(
    ("mode", "claimed", "tables", "recorded"),
    [
        ("at_least_once", False, ["stock"], False), ("at_least_once", True, ["stock"], True), ("record_once", False, ["stock"], True),
        ("claimed", True, ["stock"], True), ("at_least_once", False, [], True),
    ],
)  # fmt: skip
def test_effects_on_a_table_need_a_body_whose_success_is_recorded(mode: Any, claimed: bool, tables: list[str], recorded: bool) -> None:
    execution = Bodies(tables=dict.fromkeys(tables, ("id",))).execution
    held = Held(job("a")._replace(mode=mode), TaskRecord("a", states.RUNNING) if claimed else None)
    assert seen(execution, held).recorded is recorded


def test_the_hooks_of_an_app_are_around_its_bodies_and_an_app_without_any_has_none() -> None:
    registry = Registry()
    assert hooks_of(registry) is None
    registry.hooks["before_run"] = [print]
    hooks = hooks_of(registry)
    assert isinstance(hooks, RunHooks)
    assert hooks._hooks is registry.hooks
    around: Any = SimpleNamespace(around=lambda task: lambda: (task.name, task.function()))
    bodies = Bodies(hooks=around)
    bodies.run(plain("a"))
    assert [ran.run.value for ran in bodies.runs] == [("only", 7)]


def test_a_body_runs_in_a_context_of_its_own_with_its_arguments() -> None:
    def body(*args: Any, **named: Any) -> Any:
        return current().id, args, named

    bodies, (held, _) = Bodies(), plain("a", body)
    limited = held._replace(job=held.job._replace(task=held.job.task._replace(time_limits=TimeLimits(None, 3.0))))
    bodies.run((held, ((1,), {"b": 2})), (limited, ((3,), {"b": 4})))
    assert [ran.run.value for ran in bodies.runs] == [("a", (1,), {"b": 2}), ("a", (3,), {"b": 4})]
    with pytest.raises(Exception, match="no task is running here"):
        current()


@pytest.mark.parametrize("make", [plain, ready])
def test_a_body_that_ends_after_its_hard_limit_has_failed(make: Any) -> None:
    bodies = Bodies()

    async def late() -> None:
        advance(bodies.ports, 3.0)

    body = late if make is ready else lambda: advance(bodies.ports, 3.0)
    assert bodies.run(make("a", body, TimeLimits(None, 3.0))) == ["a"]
    assert [ran.run.error and ran.run.error.type_name for ran in bodies.runs] == ["TimeLimitExceeded"]


def test_a_body_that_does_not_end_at_its_hard_limit_is_logged_and_recorded_as_failed_meanwhile() -> None:
    recorded = list[Ran]()
    bodies = Bodies(record=recorded.append)
    held, _ = plain("a")
    context, limits = seen(bodies.execution, held), TimeLimits(None, 3.0)
    limited = bodies.execution.limited(held, limits, context, 5.0)
    assert (limited.limits, limited._context) == (limits, context)
    limited._overdue()
    (ran,) = recorded
    assert (ran.held, ran.started, ran.run.error and ran.run.error.type_name, context.over) == (held, 5.0, "TimeLimitExceeded", False)
    (line,) = bodies.stage.telemetry.lines
    assert (line.level, line.message) == ("error", "a body does not end at its hard time limit; its failure is recorded")
    assert line.fields == {"task": "only", "task_id": "a", "attempt": 0, "trace_id": context.span.trace_id}
