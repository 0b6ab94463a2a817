"""Sections outside the worker: they work in a plain call, and mark an exception for whoever judges it."""

import asyncio
import inspect
import logging
import sys
from contextlib import ExitStack
from typing import Any

import pytest

from sedano import current, memory, optional, poisonous, retry
from sedano.engine.body_sections import MOST_SECTIONS, _place
from sedano.engine.drafts import CommandDraft
from sedano.engine.task_context import CURRENT, Replaced, TaskContext, must_not_hold_up, span_of
from sedano.engine.task_log import TELEMETRY, notice
from sedano.errors import ConfigurationError, OptionError, SedanoError, WaitInsideLoop, WaitInsideTask
from sedano.model.messages.message import Command
from sedano.model.retry import Mark, Retry, mark_of


def context() -> TaskContext:
    """A running task."""
    return TaskContext(Command("m-1", "0af76519-16cd-43dd-8448-eb211c80319c", "add", "shop@host", 0.0, 1, attempt=2), 7, 30.0, 1)


def failed_in(*sections: object) -> Exception:
    """An exception that left these sections, the innermost last."""
    error = RuntimeError("no")
    with pytest.raises(RuntimeError):
        _raise_in(error, list(sections))
    return error


def _raise_in(error: Exception, sections: list[object]) -> None:
    if not sections:
        raise error
    with sections[0]:  # type: ignore[attr-defined]
        _raise_in(error, sections[1:])


def test_an_exception_that_left_no_section_has_no_mark() -> None:
    assert mark_of(failed_in()) == Mark()


def test_a_retry_section_marks_its_number_and_its_policy() -> None:
    assert mark_of(failed_in(retry(max_retries=5, jitter=False))) == Mark(section=1, policy=Retry(max_retries=5, jitter=False))


def number(*, first: bool = False, name: str = "") -> int:
    """The number of a section of one run, *first* after another one that stands before it."""
    token = CURRENT.set(context())
    try:
        if first:
            with retry():
                pass
        with pytest.raises(RuntimeError) as raised, retry(name=name):
            raise RuntimeError("no")
        return mark_of(raised.value).section
    finally:
        CURRENT.reset(token)


def test_a_section_has_one_number_whatever_ran_before_it() -> None:
    assert number() == number(first=True) != 1


def test_a_named_section_is_recognised_by_its_name_wherever_it_stands() -> None:
    token = CURRENT.set(context())
    try:
        other = mark_of(failed_in(retry(name="card"))).section
    finally:
        CURRENT.reset(token)
    assert number(name="card") == number(first=True, name="card") == other != number(name="mail")


def test_the_turns_of_a_loop_are_sections_of_their_own() -> None:
    running, found = context(), []
    token = CURRENT.set(running)
    try:
        for _ in range(3):
            with pytest.raises(RuntimeError) as raised, retry():
                raise RuntimeError("no")
            found.append(mark_of(raised.value).section)
    finally:
        CURRENT.reset(token)
    assert len({*found}) == 3
    assert [*running.sections.values()] == [3], "counted up from 0"
    assert all(1 <= one <= MOST_SECTIONS for one in found)


def test_a_section_may_decorate_a_function_and_is_told_apart_by_who_calls_it() -> None:
    @retry(max_retries=2)
    def charge() -> None:
        raise RuntimeError("no")

    token = CURRENT.set(context())
    try:
        with pytest.raises(RuntimeError) as here:
            charge()
        with pytest.raises(RuntimeError) as there:
            charge()
    finally:
        CURRENT.reset(token)
    assert mark_of(here.value).section != mark_of(there.value).section
    assert mark_of(here.value).policy == Retry(max_retries=2)


def test_every_field_of_a_policy_is_a_field_of_a_section_with_the_same_default() -> None:
    policy, section = (inspect.signature(one).parameters for one in (Retry, retry))
    assert {name: one.default for name, one in section.items() if name != "name"} == {name: one.default for name, one in policy.items()}


@pytest.mark.parametrize("name", [1, None, b"card"])
def test_a_name_that_is_no_text_is_refused(name: Any) -> None:
    with pytest.raises(OptionError, match=r"^name: expected a text"):
        retry(name=name)


def test_a_poisonous_section_marks_poison() -> None:
    assert mark_of(failed_in(poisonous())) == Mark(poisonous=True)


def test_the_innermost_mark_stays() -> None:
    assert mark_of(failed_in(retry(), poisonous())) == Mark(poisonous=True)
    assert mark_of(failed_in(poisonous(), retry(max_retries=1))).policy == Retry(max_retries=1)


def test_an_optional_section_warns_through_standard_logging_where_no_worker_runs(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "sedano"), optional(KeyError):
        raise KeyError("stamp")
    assert "an optional section failed" in caplog.text
    assert "KeyError: 'stamp'" in caplog.text


def test_a_policy_out_of_range_is_refused_before_the_section_begins() -> None:
    entered = []
    with pytest.raises(OptionError, match="interval_max"), retry(interval_max=86_401):
        entered.append(True)
    assert entered == []


def test_no_task_is_current_outside_a_task() -> None:
    with pytest.raises(SedanoError, match="no task is running here"):
        current()


def test_the_current_task_tells_who_it_is() -> None:
    token = CURRENT.set(context())
    try:
        task = current()
        assert (task.task, task.attempt, task.fence, task.root_id, task.parent_id) == ("add", 2, 7, task.id, None)
        assert task.traceparent == f"00-0af7651916cd43dd8448eb211c80319c-{task.span.span_id}-01"
        assert task.span.parent_id == ""
    finally:
        CURRENT.reset(token)


@pytest.mark.parametrize(("name", "expected"), [("card", 173_080), ("mail", 38_897)])
def test_the_number_of_a_named_section_is_the_same_in_every_process(name: str, expected: int) -> None:
    assert number(name=name) == expected
    assert MOST_SECTIONS == 999_999, "as messages carry it"


def test_an_attempt_and_a_root_are_counted_from_the_task_that_was_replaced_and_from_its_canvas() -> None:
    command = context().command
    replaced = TaskContext(command._replace(lineage=command.lineage._replace(root_id="r-1", parent_id="p-1")), 7, 30.0, 1, before=2)
    assert (replaced.attempt, replaced.root_id, replaced.parent_id) == (0, "r-1", "p-1")
    assert (context().attempt, context().root_id) == (2, command.task_id)
    assert (replaced.published, replaced.over, replaced.revoked, replaced.recorded, replaced.tables) == (0, False, False, True, {})
    assert (replaced.token, replaced.permit, replaced.collected) == (0, 0, ())


def test_the_span_of_an_execution_names_its_claim_and_without_one_its_message_and_its_clock() -> None:
    command = context().command
    spans = [span_of(command, fence, clock).span_id for fence, clock in ((7, 1), (7, 2), (8, 1), (0, 1), (0, 2))]
    assert spans[0] == spans[1], "one claim is one execution"
    assert len({*spans}) == 4
    assert context().span.span_id == spans[0]


def test_a_line_about_the_running_task_names_it_and_goes_to_the_telemetry_of_its_worker() -> None:
    telemetry, running = memory.MemoryTelemetry(), context()
    first, second = CURRENT.set(running), TELEMETRY.set(telemetry)
    try:
        notice("info", "charged", amount=3)
    finally:
        TELEMETRY.reset(second)
        CURRENT.reset(first)
    (line,) = telemetry.lines
    assert (line.level, line.message) == ("info", "charged")
    assert line.fields == {
        "amount": 3, "task": "add", "task_id": running.id, "attempt": 2, "trace_id": "0af7651916cd43dd8448eb211c80319c",
    }  # fmt: skip


def test_a_line_outside_a_worker_has_its_level_and_its_fields_alone(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "sedano"):
        notice("error", "charged", amount=3)
    assert [(one.name, one.levelno, one.getMessage()) for one in caplog.records] == [("sedano", logging.ERROR, "charged {'amount': 3}")]


def test_a_task_asks_its_checkpoint_where_it_has_one_and_has_a_configuration_where_its_app_has_one() -> None:
    asked: list[str] = []
    context().check()
    TaskContext(context().command, 7, 30.0, 1, checkpoint=lambda: asked.append("asked")).check()
    assert asked == ["asked"]
    running = context()
    with pytest.raises(ConfigurationError, match="this app has no configuration"):
        _ = running.config
    running.snapshot = "the newest"
    assert running.config == "the newest"


def test_the_effects_of_a_task_are_one_collection_and_a_task_without_a_record_has_none() -> None:
    running = context()
    assert running.effects is running.effects
    assert running.collected == ()
    running.recorded = False
    assert running.effects is running.effects
    unrecorded = context()
    unrecorded.recorded = False
    with pytest.raises(SedanoError):
        _ = unrecorded.effects


def test_a_task_has_the_tenant_the_trace_state_and_the_trace_of_its_command() -> None:
    command = context().command
    running = TaskContext(command._replace(tenant="acme", tracestate="a=1"), 7, 30.0, 1)
    assert (running.tenant, running.tracestate, running.stamps) == ("acme", "a=1", {})
    assert running.span is running.span
    root = "1af76519-16cd-43dd-8448-eb211c80319c"
    child = command._replace(lineage=command.lineage._replace(root_id=root))
    assert span_of(child, 7, 1).trace_id == root.replace("-", "")


def test_the_effects_of_a_body_are_those_that_it_has_asked_for() -> None:
    running = context()
    running.tables = {"stock": ("id",)}
    running.effects.put("stock", {"id": "1"})
    assert [write.table for write in running.collected] == ["stock"]


def test_what_ends_a_replaced_body_carries_its_replacement() -> None:
    draft = CommandDraft("default", context().command)
    ended = Replaced(draft)
    assert (ended.draft, str(ended)) == (draft, "replaced by another canvas")


def test_a_coroutine_must_not_block_the_loop_it_runs_on() -> None:
    async def waits() -> None:
        with pytest.raises(WaitInsideLoop, match="this would block the running event loop; write `await result`"):
            must_not_hold_up()

    asyncio.run(waits())


def test_a_program_that_has_not_loaded_asyncio_runs_no_loop_and_may_wait() -> None:
    loaded = sys.modules.pop("asyncio")
    try:
        must_not_hold_up()
        assert "asyncio" not in sys.modules
    finally:
        sys.modules["asyncio"] = loaded


def test_the_place_of_a_section_that_a_stack_enters_is_that_of_the_body() -> None:
    running = context()
    token = CURRENT.set(running)
    try:
        with ExitStack() as stack:
            stack.enter_context(retry())
    finally:
        CURRENT.reset(token)
    own = "test_the_place_of_a_section_that_a_stack_enters_is_that_of_the_body"
    assert [*running.sections] == [f"{__name__}:{own}:5"]
    assert _place(None) == "", "code without a frame"


def test_a_running_task_must_not_wait_for_another_one() -> None:
    must_not_hold_up()
    token = CURRENT.set(context())
    try:
        with pytest.raises(WaitInsideTask):
            must_not_hold_up()
    finally:
        CURRENT.reset(token)
