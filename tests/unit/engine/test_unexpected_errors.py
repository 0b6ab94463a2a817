"""The last resort: what an exception that no rule foresaw means for its message, and for the others of its batch."""

from collections.abc import Sequence
from typing import Any

import pytest

from sedano import memory
from sedano.engine import unexpected_errors as last_resort
from sedano.engine.batch import Batch, Job
from sedano.errors import MessageRefused, OptionError, SedanoError, Unavailable
from sedano.model import refusals
from sedano.ports import Delivery
from tests.unit.engine.gated import QUEUE, batch, job, names, world


def delivery(receives: int = 1) -> Delivery:
    """A message."""
    return Delivery(QUEUE, "a", "receipt", "{}", receives)


def raised(error: Exception) -> Exception:
    """The error with the traceback of a place that is not the library's."""
    try:
        raise error
    except Exception as found:  # noqa: BLE001 - any
        return found


def deep(number: int) -> Exception:
    """An error out of so many calls of a library."""
    space: dict[str, Any] = {"__name__": "sedano.engine.deep"}
    exec(compile("def fall(n):\n    if n == 1:\n        raise KeyError('secret')\n    fall(n - 1)\n", "deep.py", "exec"), space)  # noqa: S102
    try:
        space["fall"](number)
    except KeyError as error:
        return error
    raise AssertionError


def test_a_lack_of_memory_is_of_the_process_and_passes() -> None:
    with pytest.raises(MemoryError):
        last_resort.unexpected(memory.MemoryTelemetry(), MemoryError())


@pytest.mark.parametrize("error", [Unavailable("away"), MessageRefused("schema", "type", "no")])
def test_what_says_not_now_or_refuses_is_no_surprise(error: SedanoError) -> None:
    telemetry = memory.MemoryTelemetry()
    found = last_resort.unexpected(telemetry, error)
    assert type(found) is type(error)
    assert str(found) == str(error)
    assert telemetry.counted("UnexpectedErrors") == 0


def test_a_mistake_of_a_caller_in_the_middle_of_the_engine_is_one() -> None:
    telemetry = memory.MemoryTelemetry()
    found = last_resort.unexpected(telemetry, raised(OptionError("queue: is empty")))
    assert last_resort.is_unexpected(found)
    assert telemetry.counted("UnexpectedErrors") == 1


def test_a_surprise_is_named_by_its_type_and_the_places_of_the_library_the_innermost_first_and_no_value() -> None:
    found = last_resort.unexpected(memory.MemoryTelemetry(), deep(2))
    assert isinstance(found, MessageRefused)
    assert (found.code, found.field) == (refusals.UNEXPECTED, "engine/deep.py:3 fall")
    assert found.detail == "KeyError at engine/deep.py:3 fall < engine/deep.py:4 fall"
    many = last_resort.unexpected(memory.MemoryTelemetry(), deep(12))
    assert isinstance(many, MessageRefused)
    assert many.detail.count(" < ") == 7, "eight places"


def test_without_a_place_in_the_library_the_innermost_of_all_is_named() -> None:
    (place,) = last_resort.places_of(raised(KeyError("x")))
    assert place.startswith(f"{__name__.replace('.', '/')}.py:")
    assert place.endswith(" raised")
    assert last_resort.places_of(KeyError("never raised")) == ["?"]


def refused(field: str, code: str = refusals.UNEXPECTED) -> MessageRefused:
    """A refusal at this place."""
    return MessageRefused(code, field, "why")


@pytest.mark.parametrize(
    ("answer", "receives", "is_parked"),
    [
        (refused("engine/x.py:1 f"), 1, True), (refused("aws/x.py:1 f"), 3, False), (refused("aws/x.py:1 f"), 4, True),
        (refused("sqlite/x.py:1 f"), 3, False), (refused("aws/x", refusals.SCHEMA), 1, True), (Unavailable("away"), 9, False),
    ],
)  # fmt: skip
def test_a_refused_message_is_set_aside_unless_the_service_may_be_the_cause(answer: SedanoError, receives: int, is_parked: bool) -> None:
    ports = world()
    found, one = batch(ports), delivery(receives)
    last_resort.settle(ports.telemetry, answer, one, found)
    refusal: Any = answer
    assert [tuple(parking) for parking in found.parkings] == ([(one, refusal.code, refusal.field, "why")] if is_parked else [])
    assert found.given_back == ([] if is_parked else [one])
    telemetry: Any = ports.telemetry
    assert [line.fields for line in telemetry.lines] == ([] if is_parked else [{"message_id": "a", "error": str(answer)}])


def test_a_message_that_raised_is_set_aside_with_the_place() -> None:
    ports = world()
    found = batch(ports)
    last_resort.contain(ports.telemetry, deep(1), delivery(), found)
    assert [(parking.code, parking.field) for parking in found.parkings] == [(refusals.UNEXPECTED, "engine/deep.py:3 fall")]


def test_a_step_that_is_about_no_message_is_passed_over_logged_and_counted() -> None:
    telemetry = memory.MemoryTelemetry()
    assert last_resort.passing(telemetry, "beat", lambda: 7, 0) == 7

    def breaks() -> int:
        raise KeyError("secret")

    assert last_resort.passing(telemetry, "beat", breaks, 5) == 5
    (line,) = telemetry.lines
    assert (line.level, line.message, line.fields["step"]) == ("error", "unexpected error in a step of the batch", "beat")
    assert "secret" not in str(line.fields)
    assert telemetry.counted("UnexpectedErrors") == 1


def test_a_call_that_breaks_at_one_item_is_made_for_each_alone() -> None:
    calls: list[list[int]] = []

    def call(items: Sequence[int]) -> list[int]:
        calls.append([*items])
        if 2 in items:
            raise KeyError("secret")
        return [item * 10 for item in items]

    first, second, third = last_resort.answers_of(memory.MemoryTelemetry(), call, [1, 2, 3])
    assert (first, third) == (10, 30)
    assert isinstance(second, MessageRefused)
    assert calls == [[1, 2, 3], [1], [2], [3]]


def test_a_call_that_got_no_answer_is_not_repeated() -> None:
    calls: list[int] = []

    def call(items: Sequence[int]) -> list[int]:
        calls.append(len(items))
        raise Unavailable("away")

    assert [str(one) for one in last_resort.answers_of(memory.MemoryTelemetry(), call, [1, 2])] == ["away", "away"]
    assert calls == [2]


def test_a_step_that_breaks_is_undone_and_repeated_for_each_job_that_has_no_end_yet() -> None:
    ports = world()
    found: Batch = batch(ports)
    steps: list[list[str]] = []
    undone: list[int] = []

    def step(some: Sequence[Job]) -> list[str]:
        steps.append(names(some))
        if len(some) > 1:
            found.give_back(job("c").delivery)
        if "b" in names(some):
            raise KeyError("secret")
        return names(some)

    jobs = [job("a"), job("b"), job("c")]
    assert last_resort.apart(ports.telemetry, step, jobs, found, lambda: undone.append(len(steps))) == ["a"]
    assert steps == [["a", "b", "c"], ["a"], ["b"]]
    assert undone == [1, 3]
    assert [parking.delivery for parking in found.parkings] == [job("b").delivery]
    assert found.given_back == [job("c").delivery]


def test_a_lone_job_that_was_decided_before_its_step_broke_is_not_settled_again() -> None:
    ports = world()
    found: Batch = batch(ports)

    def step(some: Sequence[Job]) -> list[str]:
        found.give_back(some[0].delivery)
        raise KeyError("secret")

    assert last_resort.apart(ports.telemetry, step, [job("a")], found, lambda: None) == []
    assert (found.parkings, found.given_back) == ([], [job("a").delivery])
