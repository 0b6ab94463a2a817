"""Hooks alone: which are called for which end, with which facts, and which exceptions of theirs pass."""

import asyncio
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from sedano import memory
from sedano.engine.drafts import CommandDraft
from sedano.engine.hooks import (
    AFTER_RUN,
    BEFORE_RUN,
    ON_FAILURE,
    ON_PUBLISH,
    ON_RETRY,
    ON_WORKER_START,
    EndedRun,
    Publication,
    RunHooks,
    publish,
    start,
)
from sedano.engine.task_context import CURRENT, Replaced, TaskContext
from sedano.engine.task_log import TELEMETRY
from sedano.errors import SoftTimeLimitExceeded, TaskRevoked
from sedano.model import states
from sedano.model.ledger.records import ErrorRecord
from sedano.model.messages.lineage import Lineage
from sedano.model.messages.message import Event
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.task_spec import TaskSpec
from tests.unit.engine.following import command_of, ended
from tests.unit.engine.gated import job

ERROR = ErrorRecord("ValueError", "no", "the traceback")
Calls = list[tuple[str, tuple[Any, ...]]]


def noted(*names: str) -> tuple[Calls, dict[str, list[Callable[..., Any]]]]:
    """The calls of hooks with these names, and the hooks."""
    calls: Calls = []
    return calls, {name: [lambda *given, name=name: calls.append((name, given))] for name in names}


def end(state: Any, one: Any = None, error: ErrorRecord | None = ERROR, **run: Any) -> Calls:
    """The calls for the end of a run."""
    calls, hooks = noted(ON_RETRY, ON_FAILURE)
    judged = ended(one or job("a"), state, error, pause=7.0, **run)
    RunHooks(hooks).end(judged.ran, judged, memory.MemoryTelemetry())
    return calls


def test_a_run_that_is_tried_again_or_has_failed_is_reported_with_what_is_known() -> None:
    one = job("a", attempt=2)
    one = one._replace(command=one.command._replace(tenant="acme", lineage=Lineage("root")))
    facts = EndedRun("only", "a", "root", 2, "acme", "RETRY", "ValueError", "no", "the traceback", None, 7.0)
    assert end(states.RETRY, one) == [(ON_RETRY, (facts,))]
    assert end(states.FAILURE, one) == [(ON_FAILURE, (facts._replace(state="FAILURE", retry_in=None),))]
    ((_, (poison,)),) = end(states.POISON, error=None)
    assert poison == EndedRun("only", "a", "a", 0, None, "POISON", "", "", "", None, None)


@pytest.mark.parametrize("state", [states.SUCCESS, states.REVOKED, states.EXPIRED])
def test_an_end_that_is_no_failure_calls_no_hook(state: Any) -> None:
    assert end(state) == []


def test_a_replaced_run_an_own_task_and_an_outcome_that_was_not_recorded_call_no_hook() -> None:
    assert end(states.RETRY, replaced=True) == []
    assert end(states.FAILURE, job("a", "sedano.map")) == []
    calls, hooks = noted(ON_RETRY, ON_FAILURE)
    RunHooks(hooks).end(ended(job("a"), states.FAILURE, ERROR).ran, None, memory.MemoryTelemetry())
    assert calls == []


class Body:
    """A body that runs in its context, with hooks around it."""

    def __init__(self, *names: str, raises: BaseException | None = None) -> None:
        """Raise, or return 7."""
        self.calls, hooks = noted(*names)
        self.raises, self.hooks = raises, RunHooks(hooks)
        self.context: TaskContext | None = TaskContext(command_of("a"), 1, 9.0, 1)

    def run(self, *, is_async: bool = False) -> Any:
        """Run it."""

        def body(value: int) -> int:
            if self.raises is not None:
                raise self.raises
            return value

        async def coroutine(value: int) -> int:
            return body(value)

        function: Any = coroutine if is_async else body
        around = self.hooks.around(TaskSpec("only", function, Parameters(function), is_async=is_async))
        token = CURRENT.set(self.context)
        try:
            return asyncio.run(around(value=7)) if is_async else around(7)
        finally:
            CURRENT.reset(token)

    def exception(self) -> BaseException | None:
        """The exception that the hook of a failure gets."""
        judged = ended(job("a"), states.FAILURE, ERROR)
        self.hooks.end(judged.ran, judged, memory.MemoryTelemetry())
        name, (found,) = self.calls.pop()
        assert name == ON_FAILURE
        error: BaseException | None = found.exception
        return error


@pytest.mark.parametrize("is_async", [False, True])
def test_hooks_are_called_before_and_after_a_body_with_its_context(is_async: bool) -> None:
    body = Body(BEFORE_RUN, AFTER_RUN)
    assert body.run(is_async=is_async) == 7
    assert body.calls == [(BEFORE_RUN, (body.context,)), (AFTER_RUN, (body.context, None))]


@pytest.mark.parametrize("is_async", [False, True])
def test_the_exception_of_a_body_passes_and_its_traceback_begins_in_the_body(is_async: bool) -> None:
    error = ValueError("no")
    body = Body(AFTER_RUN, ON_FAILURE, raises=error)
    with pytest.raises(ValueError, match="no"):
        body.run(is_async=is_async)
    assert body.calls == [(AFTER_RUN, (body.context, error))]
    assert body.exception() is error
    assert body.exception() is None, "it belongs to one run"
    seen: list[str] = []
    hooks = RunHooks({AFTER_RUN: [lambda _, raised: seen.extend(one.name for one in traceback.extract_tb(raised.__traceback__))]})
    other = Body(raises=ValueError("no"))
    other.hooks = hooks
    with pytest.raises(ValueError, match="no"):
        other.run(is_async=is_async)
    assert seen == (["coroutine", "body"] if is_async else ["body"])


def test_an_exception_is_kept_only_for_hooks_that_get_it() -> None:
    for names, is_kept in (((ON_RETRY,), True), ((ON_FAILURE,), True), ((AFTER_RUN, ON_PUBLISH), False)):
        body = Body(*names, raises=ValueError("no"))
        with pytest.raises(ValueError, match="no"):
            body.run()
        assert bool(body.hooks._raised) is is_kept
    outside = Body(ON_FAILURE, raises=ValueError("no"))
    outside.context = None
    with pytest.raises(ValueError, match="no"):
        outside.run()
    ended_from_outside = Body(ON_FAILURE, raises=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        ended_from_outside.run()
    assert (outside.exception(), ended_from_outside.exception()) == (None, None)


def test_a_body_that_is_replaced_has_raised_nothing() -> None:
    body = Body(AFTER_RUN, ON_FAILURE, raises=Replaced(CommandDraft("default", command_of("b"))))
    with pytest.raises(Replaced):
        body.run()
    assert body.calls == [(AFTER_RUN, (body.context, None))]
    assert body.exception() is None


def test_the_body_of_an_own_task_is_called_as_it_is() -> None:
    _, hooks = noted(BEFORE_RUN)
    assert RunHooks(hooks).around(TaskSpec("sedano.map", print, Parameters(print))) is print


def test_each_task_that_is_sent_is_reported_and_events_and_own_tasks_are_not() -> None:
    calls, hooks = noted(ON_PUBLISH)
    asked = command_of("a")._replace(args=(1,), kwargs={"b": 2}, tenant="acme")
    drafts = [
        CommandDraft("mail", asked, delay=5), Event("e", "shop/sold", "host", 1.0, 1, {}),
        CommandDraft("mail", asked._replace(task="sedano.map")), CommandDraft("default", asked._replace(task_id="c")),
    ]  # fmt: skip
    publish(hooks, drafts, memory.MemoryTelemetry())
    first = Publication("only", "a", "mail", (1,), {"b": 2}, 5, "acme")
    assert calls == [(ON_PUBLISH, (first,)), (ON_PUBLISH, (first._replace(task_id="c", queue="default", delay=0),))]
    publish({}, drafts, memory.MemoryTelemetry())


def failing(*_: Any) -> None:
    """Break."""
    raise ValueError("no")


def test_a_hook_that_fails_is_counted_and_logged_and_the_next_one_is_called() -> None:
    calls, hooks = noted(ON_WORKER_START)
    telemetry = memory.MemoryTelemetry()
    start({ON_WORKER_START: [failing, *hooks[ON_WORKER_START]]}, telemetry)
    assert (calls, telemetry.counted("HooksFailed", hook=ON_WORKER_START)) == ([(ON_WORKER_START, ())], 1)
    (line,) = telemetry.lines
    assert (line.level, line.fields["hook"], line.fields["function"], line.fields["error"]) == (
        "error", ON_WORKER_START, "failing", "ValueError: no",
    )  # fmt: skip
    assert "in failing" in str(line.fields["traceback"])


class Broken(memory.MemoryTelemetry):
    """Telemetry that does not work."""

    def count(self, *_: Any, **__: Any) -> None:
        """Break."""
        raise OSError("no")


def test_telemetry_that_does_not_work_or_is_missing_costs_no_task() -> None:
    start({ON_WORKER_START: [failing]}, Broken())
    body = Body(AFTER_RUN)
    body.hooks = RunHooks({BEFORE_RUN: [failing]})
    assert body.run() == 7
    telemetry = memory.MemoryTelemetry()
    token = TELEMETRY.set(telemetry)
    try:
        assert body.run() == 7
    finally:
        TELEMETRY.reset(token)
    assert telemetry.counted("HooksFailed", hook=BEFORE_RUN) == 1


@pytest.mark.parametrize("error", [SoftTimeLimitExceeded, TaskRevoked])
def test_an_exception_that_ends_a_body_from_outside_passes_through_its_hooks(error: type[Exception]) -> None:
    def ends(*_: Any) -> None:
        raise error("over")

    body = Body(AFTER_RUN)
    body.hooks = RunHooks({BEFORE_RUN: [ends]})
    with pytest.raises(error):
        body.run()


@pytest.mark.parametrize("error", [SoftTimeLimitExceeded, TaskRevoked])
def test_such_an_exception_of_another_hook_is_logged_as_any_other(error: type[Exception]) -> None:
    def ends(*_: Any) -> None:
        raise error("over")

    telemetry = memory.MemoryTelemetry()
    start({ON_WORKER_START: [ends]}, telemetry)
    assert telemetry.counted("HooksFailed", hook=ON_WORKER_START) == 1
