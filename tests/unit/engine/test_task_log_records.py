"""Log records that name their task: in a body and outside, with a caller's own fields, and over another record factory."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from sedano.engine.task_context import CURRENT, TaskContext
from sedano.engine.task_log_records import TaskLogRecord, _kind, install
from sedano.model.messages.message import Command

NAMES = ("task", "task_id", "attempt", "trace_id")


class Own(logging.LogRecord):
    """The record class of another library."""


@pytest.fixture(autouse=True)
def factory() -> Iterator[None]:
    """Standard logging as it begins, with records that name tasks; what was there before is put back."""
    before = logging.getLogRecordFactory()
    logging.setLogRecordFactory(logging.LogRecord)
    install()
    yield
    logging.setLogRecordFactory(before)


def record(name: str = "shop", extra: dict[str, Any] | None = None, *, inside: bool = True) -> logging.LogRecord:
    """The record of a line, made in the body of a task or outside."""
    running = TaskContext(Command("m", "0af76519-16cd-43dd-8448-eb211c80319c", "add", "shop@host", 0.0, 1, attempt=2), 7, 30.0, 1)
    token = CURRENT.set(running if inside else None)
    try:
        return logging.getLogger(name).makeRecord(name, logging.INFO, "shop.py", 3, "paid %s", (5,), None, extra=extra)
    finally:
        CURRENT.reset(token)


def named(one: Any) -> tuple[Any, ...]:
    """What a record says of its task."""
    return tuple(getattr(one, name) for name in NAMES)


INSIDE = ("add", "0af76519-16cd-43dd-8448-eb211c80319c", 2, "0af7651916cd43dd8448eb211c80319c")


@pytest.mark.parametrize(("inside", "names"), [(True, INSIDE), (False, ("", "", "", ""))])
def test_a_record_names_the_task_in_which_it_was_made_and_no_task_outside(inside: bool, names: tuple[Any, ...]) -> None:
    made = record(inside=inside)
    assert (named(made), {*NAMES} & {*vars(made)}) == (names, set())
    assert (made.getMessage(), made.name, made.levelno, made.pathname, made.lineno) == ("paid 5", "shop", logging.INFO, "shop.py", 3)
    assert {name: vars(made)[name] for name in NAMES} == dict(zip(NAMES, names, strict=True))


def test_the_fields_of_a_caller_have_precedence() -> None:
    made = record(extra={"task_id": "mine", "amount": 5})
    for _ in range(2):
        assert named(made) == (INSIDE[0], "mine", *INSIDE[2:])
        made.getMessage()
    assert vars(made)["amount"] == 5


def test_a_record_has_no_other_fields() -> None:
    made = record()
    assert isinstance(made, TaskLogRecord)
    with pytest.raises(AttributeError, match=r"^'TaskLogRecord' object has no attribute 'nothing'$"):
        _ = made.nothing


@pytest.mark.parametrize(("name", "own"), [("sedano-worker", True), ("sedano-", True), ("sedano", False), ("my.sedano-worker", False)])
def test_the_lines_of_the_library_have_their_own_fields_alone(name: str, own: bool) -> None:
    assert (type(record(name)) is logging.LogRecord, isinstance(record(name), TaskLogRecord)) == (own, not own)


def test_a_record_that_is_made_of_a_dictionary_names_its_task_too() -> None:
    assert named(logging.makeLogRecord({"msg": "paid"})) == ("", "", "", "")


def test_a_second_installation_changes_nothing_and_one_over_another_factory_keeps_its_class() -> None:
    first = logging.getLogRecordFactory()
    install()
    assert logging.getLogRecordFactory() is first
    logging.setLogRecordFactory(Own)
    install()
    made = record()
    assert (type(made).__name__, isinstance(made, Own), isinstance(made, TaskLogRecord), named(made)) == ("Own", True, True, INSIDE)
    assert type(record()) is type(made)
    assert _kind(logging.LogRecord) is TaskLogRecord
