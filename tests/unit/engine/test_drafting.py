"""A program's call as a draft: what the call says, what its task says, and what is inherited from the task that makes it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from sedano.engine.drafts import CommandDraft, Composer
from sedano.engine.publisher.drafting import Drafting, trace
from sedano.engine.registry import Registry
from sedano.engine.task_context import CURRENT, TaskContext
from sedano.errors import OptionError, PortMissing
from sedano.model.limits.task_limits import TaskLimits
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.lineage import dedup_id, derived_id
from sedano.model.messages.message import Command, TimeLimits
from sedano.model.queues import CLAIM_CHECK_BYTES
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.signature import Options, Signature
from sedano.model.tasks.task_spec import BUILT_IN, TaskSpec
from sedano.ports.absent import Absent
from tests.unit.engine.gated import world

FIFO = "mail.fifo"
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OURS = "00-11111111111111111111111111111111-2222222222222222-01"


class Program:
    """The drafts of a program with some tasks."""

    def __init__(self, *specs: TaskSpec) -> None:
        """Declare *specs*."""
        self.ports, self.registry = world(0.5, "blobs"), Registry()
        self.registry.tasks |= {spec.name: spec for spec in specs}
        composer = Composer("me", LamportClock(lambda: 1), self.ports)
        self.drafting = Drafting(self.registry, self.ports, composer, ["first", "second"])

    def call(self, task: str = "send", args: Any = (), **options: Any) -> CommandDraft:
        """The draft of a call."""
        signature = Signature(task, tuple(args), {}, Options(**options))
        return self.drafting.call(signature, self.drafting.task_id(signature))


def spec(name: str = "send", **declared: Any) -> TaskSpec:
    """A task."""
    return TaskSpec(name, print, Parameters(lambda *_, **__: None), **declared)


@contextmanager
def running(attempt: int = 0, **command: Any) -> Iterator[TaskContext]:
    """Be inside a task."""
    context = TaskContext(Command("m", "parent", "outer", "me", 1.0, 1, attempt=attempt, **command), 1, 30.0, 1)
    token = CURRENT.set(context)
    try:
        yield context
    finally:
        CURRENT.reset(token)


def test_a_keyed_call_needs_a_task_that_keeps_a_record() -> None:
    with pytest.raises(OptionError, match="dedup_key: the task send is delivered at_least_once and keeps no record"):
        Program(spec(delivery="at_least_once")).call(dedup_key="k")
    assert Program(spec(delivery="at_least_once")).call().command.task == "send"
    assert Program(spec(delivery="claimed")).call(dedup_key="k").command.task_id == dedup_id("send", "k")


@pytest.mark.parametrize(
    ("declared", "asked", "said"), [(True, None, True), (False, None, None), (True, False, False), (False, True, True)]
)
def test_whether_a_result_is_kept_is_said_only_where_it_differs_from_the_usual(declared: bool, asked: bool | None, said: Any) -> None:
    program = Program(spec(ignore_result=declared))
    assert program.call(ignore_result=asked).command.ignore_result is said
    assert program.drafting.keeps(Signature("send", options=Options(ignore_result=asked))) is not said or said is None
    assert program.drafting.keeps(Signature("send", options=Options(ignore_result=asked))) is (not said)


def test_a_task_that_this_program_does_not_know_is_called_with_what_is_usual() -> None:
    program = Program()
    draft = program.call("theirs", (1,), tenant="acme", expires=5.0)
    assert (draft.queue, draft.command.ignore_result, draft.command.tenant) == ("default", None, "acme")
    assert draft.command.expires == program.ports.clock.now() + 5.0
    assert program.drafting.keeps(Signature("theirs"))


def test_the_queue_of_a_call_is_its_own_or_that_of_its_task() -> None:
    program = Program(spec(queue="mail", expires=7.0))
    assert [program.call(queue=queue).queue for queue in (None, "other")] == ["mail", "other"]
    assert program.call().command.expires == program.ports.clock.now() + 7.0


def test_a_call_is_for_whom_it_says_then_for_whom_its_arguments_say_then_for_whom_the_running_task_is() -> None:
    program = Program(spec(tenant=lambda args, _: args[0]), spec("bare"))
    with running(tenant="parents"):
        assert program.call(args=("theirs",), tenant="own").command.tenant == "own"
        assert program.call(args=("theirs",)).command.tenant == "theirs"
        assert program.call("bare").command.tenant == "parents"
    assert program.call("bare").command.tenant is None


def test_the_trace_of_a_call_is_its_own_or_that_of_the_running_task() -> None:
    program = Program(spec())
    assert trace(None, TRACE, "a=1") == (TRACE, "a=1")
    assert trace(None, None, "a=1") == (None, "a=1")
    with running(traceparent=OURS, tracestate="b=2") as context:
        assert context.traceparent is not None
        assert trace(context, None, None) == (context.traceparent, "b=2")
        assert trace(context, None, "a=1") == (context.traceparent, "a=1")
        assert trace(context, TRACE, None) == (TRACE, None)
        found = program.call(traceparent=TRACE, tracestate="a=1").command
        assert (found.traceparent, found.tracestate) == (TRACE, "a=1")


def test_a_canvas_refuses_options_that_a_member_cannot_have_and_queues_that_keep_order() -> None:
    program = Program(spec(), spec("ordered", queue=FIFO, serial_key=lambda *_: "k"))
    assert program.drafting.draft(Signature("send"), "t").command.task_id == "t"
    with pytest.raises(OptionError):
        program.drafting.draft(Signature("send", options=Options(dedup_key="k")), "t")
    for who, make in (("a canvas publishes its tasks", program.drafting.draft), ("the worker that wins", program.drafting.prepare)):
        with pytest.raises(OptionError, match=f"queue: '{FIFO}' keeps order within a key, but {who}"):
            make(Signature("ordered"), "t")


def test_the_first_queue_is_that_of_the_first_task_of_the_programs_own_that_keeps_no_order() -> None:
    assert Program().drafting.first_queue == "first"
    built_in = next(iter(BUILT_IN))
    assert Program(spec(built_in, queue="theirs"), spec("a", queue=FIFO), spec("b", queue="mine")).drafting.first_queue == "mine"
    assert Program(spec(built_in, queue="theirs"), spec("a", queue=FIFO)).drafting.first_queue == "first"


def test_what_others_publish_later_lies_in_the_blob_store_when_it_is_long() -> None:
    program = Program(spec())
    short = program.drafting.prepare(Signature("send", ("x",)), "t")
    assert (short.command.args, short.command.data_ref, short.command.task_id) == (("x",), None, "t")
    long = program.drafting.prepare(Signature("send", ("x" * (CLAIM_CHECK_BYTES + 1),)), "t").command
    assert (tuple(long.args), dict(long.kwargs)) == ((), {})
    assert long.data_ref is not None
    assert b"xxx" in program.ports.blobs.get(long.data_ref)


def test_order_is_asked_for_by_the_call_by_its_task_or_by_its_queue() -> None:
    program = Program(spec(queue=FIFO, serial_key=lambda *_: "task"), spec("bare"), spec("lacks", queue=FIFO))
    assert program.call().serial_key == "task"
    assert program.call(serial_key="call").serial_key == "call"
    assert program.call("bare").serial_key is None
    assert program.call("theirs").serial_key is None
    plain = ("send", {"queue": "default"})
    for name, options in (("bare", {"serial_key": "k"}), ("theirs", {"serial_key": "k"}), ("lacks", {}), ("bare", {"queue": FIFO}), plain):
        with pytest.raises(OptionError):
            program.call(name, **options)


def test_an_id_inside_a_task_is_the_same_in_each_run_of_an_attempt_and_outside_it_is_fresh() -> None:
    program = Program(spec())
    outside = {program.drafting.fresh_id() for _ in range(3)}
    assert len(outside) == 3
    for attempt, salt in ((0, ""), (2, "2/")):
        with running(attempt):
            assert [program.drafting.fresh_id() for _ in range(2)] == [derived_id("parent", f"{salt}{n}") for n in (1, 2)]


def test_the_id_of_a_task_is_of_its_key_its_own_or_fresh() -> None:
    program = Program(spec())
    assert program.call(task_id="mine").command.task_id == "mine"
    assert program.call().command.task_id != program.call().command.task_id
    with pytest.raises(OptionError, match="on_duplicate: has no meaning without a dedup_key"):
        program.call(on_duplicate="drop")


def test_limits_of_time_are_those_of_the_call_and_only_where_a_run_is_one_call() -> None:
    usual, batch = TimeLimits(10.0, 20.0), (10, 1.0)
    program = Program(
        spec(time_limits=usual), spec("collects", limits=TaskLimits(batch=batch)), spec("runs", limits=TaskLimits(batch=batch, runs=True)),
        spec("paced", limits=TaskLimits()),
    )  # fmt: skip
    assert program.call().command.time_limits is None
    assert program.call(time_limit=15.0).command.time_limits == TimeLimits(None, 15.0)
    for name in ("runs", "paced", "theirs"):
        assert program.call(name, time_limit=15.0).command.time_limits == TimeLimits(None, 15.0)
    assert program.call("collects").command.time_limits is None
    with pytest.raises(OptionError, match="one run takes many calls of this task"):
        program.call("collects", time_limit=15.0)


def test_headers_and_a_band_are_refused_where_one_run_takes_many_calls() -> None:
    collecting, running_them = TaskLimits(batch=(10, 1.0)), TaskLimits(batch=(10, 1.0), runs=True)
    program = Program(
        spec(), spec("collects", limits=collecting), spec("runs", limits=running_them), spec("paced", limits=TaskLimits())
    )  # fmt: skip
    for name in ("send", "runs", "paced", "theirs"):
        assert program.call(name, headers={"a": 1}).command.headers == '{"a":1}'
    with pytest.raises(OptionError, match=r"headers: one run takes many calls .*; pass the values as arguments"):
        program.call("collects", headers={"a": 1})
    with pytest.raises(OptionError, match=r"priority: one run takes many calls .*; declare its priority on the task"):
        program.call("collects", priority="high")
    assert program.call("collects", headers={}).command.headers is None


def test_a_soft_limit_of_a_call_is_compared_with_the_hard_one_of_its_task() -> None:
    program = Program(spec(time_limits=TimeLimits(None, 20.0)))
    with pytest.raises(OptionError, match="soft_time_limit: 30 is not below time_limit: 20"):
        program.call(soft_time_limit=30.0)




def test_a_delay_that_a_queue_can_keep_needs_no_timer() -> None:
    program = Program(spec())
    program.drafting.ports = replace(program.ports, timers=Absent("timers"))
    most = program.ports.queues.bounds.max_delay
    assert program.call(countdown=most).delay == most
    with pytest.raises(PortMissing, match=f"a delay of {most + 1} s, which is more than the {most} s that a queue can delay"):
        program.call(countdown=most + 1)
