"""The calls of a box whose program is a function: their size, their turns, and how they fail."""

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from sedano.engine.boxes.calls import request_of
from sedano.engine.boxes.functions import FunctionCalls
from sedano.engine.task_context import CURRENT
from sedano.errors import BoxCrashed, BoxMissing, BoxReplyInvalid, BoxTimeout, TooLarge, Unavailable
from sedano.memory import MemoryFunctions
from sedano.model.boxes import BoxPlan, request_line
from sedano.ports.functions import Called
from tests.unit.engine.boxed import CONTEXT, SECONDS

LARGEST = 6_291_456
PLAN = BoxPlan("resize", (), timeout=7.0, function="resizer")


def replied(payload: bytes) -> Called:
    """Return the reply of a function that answers with the number of bytes of its request."""
    return Called(json.dumps({"id": json.loads(payload)["id"], "ok": len(payload)}).encode())


@dataclass
class Answering:
    """The functions of a deployment that all answer in one way; *asked* has the name and the seconds of each call."""

    answer: Callable[[bytes], Called] = replied
    asked: list[tuple[str, float]] = field(default_factory=list)

    def call(self, function: str, payload: bytes, seconds: float) -> Called:
        """Answer."""
        self.asked.append((function, seconds))
        return self.answer(payload)


def ran(test: Callable[[], Any]) -> Any:
    """Run *test* as the body of a task."""

    errors: list[Any] = []

    async def body() -> Any:
        CURRENT.set(CONTEXT)
        asyncio.get_running_loop().set_exception_handler(lambda loop, about: errors.append(about))
        async with asyncio.timeout(SECONDS):
            return await test()

    try:
        return asyncio.run(body())
    finally:
        assert errors == []


def test_a_function_is_called_by_its_name_with_the_timeout_of_the_box() -> None:
    functions = Answering()
    assert ran(lambda: FunctionCalls(PLAN, functions).call((), {})) > 0
    assert functions.asked == [("resizer", 7.0)]


def test_a_request_of_six_megabytes_is_sent_and_a_larger_one_is_refused() -> None:
    functions = Answering()
    calls = FunctionCalls(PLAN, functions)
    room = LARGEST - len(request_line(request_of(CONTEXT), ("",), {}))
    assert ran(lambda: calls.call(("x" * room,), {})) == LARGEST
    with pytest.raises(TooLarge, match=f"box resize: a call has {LARGEST + 1} bytes, more than {LARGEST}; pass the place of the data"):
        ran(lambda: calls.call(("x" * (room + 1),), {}))
    assert len(functions.asked) == 1
    assert calls._turns._busy == 0


@pytest.mark.parametrize("error", [Unavailable("lambda: away"), BoxMissing("no such function"), RuntimeError("a defect")])
def test_an_error_of_the_call_is_raised_where_it_is_awaited_and_its_turn_is_passed_on(error: Exception) -> None:
    def fails(payload: bytes) -> Called:
        raise error

    calls = FunctionCalls(PLAN, Answering(fails))
    for _ in range(2):
        with pytest.raises(type(error), match=str(error)):
            ran(lambda: calls.call((), {}))
    assert calls._turns._busy == 0


def test_a_call_that_is_cancelled_keeps_its_turn_until_its_function_has_ended() -> None:
    functions, begun, gate = Answering(), threading.Event(), threading.Event()

    def waits(payload: bytes) -> Called:
        begun.set()
        assert gate.wait(SECONDS)
        return replied(payload)

    functions.answer = waits
    calls = FunctionCalls(PLAN, functions)

    async def two() -> None:
        first = asyncio.create_task(calls.call((), {}))
        second = asyncio.create_task(calls.call((), {}))
        assert await asyncio.to_thread(begun.wait, SECONDS)
        first.cancel()
        await asyncio.wait([first])
        assert (len(functions.asked), first.cancelled(), calls._turns._busy) == (1, True, 1)
        gate.set()
        assert await second > 0
        assert len(functions.asked) == 2

    ran(two)


def test_an_answer_that_comes_after_the_end_of_its_loop_is_dropped_and_its_turn_is_passed_on() -> None:
    gate, failed = threading.Event(), list[Any]()

    def waits(payload: bytes) -> Called:
        assert gate.wait(SECONDS)
        return replied(payload)

    calls, before = FunctionCalls(PLAN, Answering(waits)), threading.excepthook

    async def abandoned() -> None:
        call = asyncio.create_task(calls.call((), {}))
        await asyncio.sleep(0)
        call.cancel()

    ran(abandoned)
    thread = next(one for one in threading.enumerate() if one.name == "box-resize")
    threading.excepthook = failed.append
    try:
        gate.set()
        thread.join(SECONDS)
    finally:
        threading.excepthook = before
    assert (failed, calls._turns._busy) == ([], 0)


@pytest.mark.parametrize(
    ("report", "kind"),
    [({"errorMessage": "Task timed out after 3.00 seconds"}, BoxTimeout), ({"errorType": "Runtime.ExitError"}, BoxCrashed)],
)
def test_a_function_that_was_ended_fails_the_call_as_a_program_does(report: dict[str, Any], kind: type[Exception]) -> None:
    calls = FunctionCalls(PLAN, Answering(lambda payload: Called(json.dumps(report).encode(), failed=True)))
    with pytest.raises(kind, match=r"^box resize: the function resizer: "):
        ran(lambda: calls.call((), {}))


def test_the_words_of_a_function_that_was_ended_are_cut_at_their_400th_character() -> None:
    report = {"errorType": "Runtime.ExitError", "errorMessage": "m" * 500}
    calls = FunctionCalls(PLAN, Answering(lambda payload: Called(json.dumps(report).encode(), failed=True)))
    with pytest.raises(BoxCrashed) as raised:
        ran(lambda: calls.call((), {}))
    assert len(str(raised.value)) == 400


def test_an_invalid_answer_is_refused_with_the_name_of_the_box() -> None:
    calls = FunctionCalls(PLAN, Answering(lambda payload: Called(b"[1]")))
    with pytest.raises(BoxReplyInvalid, match="box resize: the payload is a list, not an object"):
        ran(lambda: calls.call((), {}))


def test_a_function_in_memory_gets_and_returns_json_and_reports_its_errors_as_lambda_does() -> None:
    functions = MemoryFunctions()
    functions.handlers |= {"doubled": lambda given: given * 2, "refusing": lambda given: given["absent"]}
    assert functions.call("doubled", b"[1]", 1.0) == Called(b"[1, 1]")
    failed = functions.call("refusing", b"{}", 1.0)
    assert failed.failed is True
    assert json.loads(failed.payload) == {"errorMessage": "'absent'", "errorType": "KeyError", "stackTrace": []}
    with pytest.raises(BoxMissing, match=r"function 'unknown': this world does not have it; write world\.function\('unknown', handler\)"):
        functions.call("unknown", b"{}", 1.0)
