"""Sections outside the worker: they work in a plain call, and mark an exception for whoever judges it."""

import logging

import pytest

from sedano import current, optional, poisonous, retry
from sedano.engine.context import CURRENT, TaskContext
from sedano.engine.sections import Mark, mark_of
from sedano.errors import OptionError, SedanoError
from sedano.model.messages import Command
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


def test_sections_are_numbered_in_the_order_of_a_run() -> None:
    token = CURRENT.set(context())
    try:
        with retry():
            pass
        assert mark_of(failed_in(retry())).section == 2
    finally:
        CURRENT.reset(token)


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
