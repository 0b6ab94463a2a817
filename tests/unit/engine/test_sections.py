"""Sections outside the worker: they work in a plain call, and mark an exception for whoever judges it."""

import inspect
import logging
from typing import Any

import pytest

from sedano import current, optional, poisonous, retry
from sedano.engine.body_sections import MOST_SECTIONS, Mark, mark_of
from sedano.engine.task_context import CURRENT, TaskContext
from sedano.errors import OptionError, SedanoError
from sedano.model.messages.message import Command
from sedano.model.retry import Retry


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
    token, found = CURRENT.set(context()), []
    try:
        for _ in range(3):
            with pytest.raises(RuntimeError) as raised, retry():
                raise RuntimeError("no")
            found.append(mark_of(raised.value).section)
    finally:
        CURRENT.reset(token)
    assert len({*found}) == 3
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
