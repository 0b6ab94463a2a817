"""One request to a process of a box and its reply: what is watched, for how long, and how a call without a reply ends."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from sedano.engine.boxes.child import BoxProcess
from sedano.engine.boxes.exchange import _Exchange, exchange
from sedano.errors import BoxCrashed, BoxReplyInvalid, BoxTimeout
from sedano.model.boxes import BoxAnswer, BoxPlan
from tests.unit.engine.boxed import QUICKLY, SECONDS, Processes, arrived, shell

REPLY = r"""printf '\036{"id":"1","ok":7}\n'"""
pytestmark = QUICKLY
PLAN = shell("", timeout=5.0)


class Noting(asyncio.SelectorEventLoop):
    """A loop that notes for how long it is asked to wait."""

    def __init__(self) -> None:
        """Begin without a note."""
        super().__init__()
        self.delays: list[float] = []

    def call_later(self, delay: float, *args: Any, **options: Any) -> asyncio.TimerHandle:
        """Note *delay*."""
        self.delays.append(round(delay, 6))
        return super().call_later(delay, *args, **options)


def watched(child: BoxProcess) -> list[str]:
    """Return which pipes of *child* the running loop watches, and let it watch none."""
    loop = asyncio.get_running_loop()
    found = [loop.remove_reader(child.output), loop.remove_reader(child.errors), loop.remove_writer(child.requests)]
    return [name for name, is_watched in zip(("output", "errors", "requests"), found, strict=True) if is_watched]


async def until(holds: Callable[[], bool]) -> None:
    """Let the loop run until this *holds*."""
    async with asyncio.timeout(SECONDS):
        while not holds():  # noqa: ASYNC110 - it is the loop that must go on
            await asyncio.sleep(0)


def asked(child: BoxProcess, plan: BoxPlan = PLAN, line: bytes = b"{}\n") -> BoxAnswer:
    """Return the answer of *child* to *line*, after which nothing of it is watched any more."""

    async def call() -> BoxAnswer:
        try:
            return await exchange(plan, child, line, "1")
        finally:
            assert watched(child) == []

    return without_errors(call())


def without_errors(call: Coroutine[Any, Any, Any]) -> Any:
    """Return what *call* returns, after which no callback of its loop has failed."""
    errors: list[Any] = []

    async def within() -> Any:
        asyncio.get_running_loop().set_exception_handler(lambda loop, about: errors.append(about))
        return await call

    try:
        return asyncio.run(within())
    finally:
        assert errors == []


def begun(child: BoxProcess, then: Callable[[_Exchange], Awaitable[None]], line: bytes = b"{}\n") -> None:
    """Begin a call of *child*, and do something beside it."""

    async def call() -> None:
        running = _Exchange(PLAN, child, line, "1")
        running.begin()
        try:
            await then(running)
        finally:
            running.end()
            assert running._timer.cancelled()

    without_errors(call())


def test_an_answer_is_returned_with_its_call_counted_and_stderr_logged(processes: Processes) -> None:
    child = processes.start(f"read line; echo warning >&2; {REPLY}; read more")
    assert asked(child) == BoxAnswer(7)
    assert child.calls == 1
    assert processes.lines == [("stderr", "warning")]


def test_stderr_of_a_call_that_takes_long_is_logged_before_its_reply(processes: Processes) -> None:
    child = processes.start("read line; echo warning >&2; read more")

    async def then(running: _Exchange) -> None:
        await until(lambda: processes.lines != [])

    begun(child, then)
    assert processes.lines == [("stderr", "warning")]


def test_stderr_is_watched_no_longer_than_it_is_open(processes: Processes) -> None:
    child = processes.start("read line; echo warning >&2; exec 2>&-; echo closed; read more")

    async def then(running: _Exchange) -> None:
        running._slow()
        await until(lambda: len(processes.lines) == 2)
        for _ in range(5):
            await asyncio.sleep(0)
        assert watched(child) == ["output"]

    begun(child, then)


def test_a_request_larger_than_a_pipe_is_sent_to_its_end_and_then_nothing_waits_for_room(processes: Processes) -> None:
    child = processes.start("head -c 300001; echo; read more")

    async def then(running: _Exchange) -> None:
        await until(lambda: sum(len(text) for _, text in processes.lines) == 300_001)
        assert "requests" not in watched(child)

    begun(child, then, b"x" * 300_001)


def test_a_request_that_the_pipe_takes_is_sent_at_once(processes: Processes) -> None:
    child = processes.start("read line; echo $line; read more")

    async def then(running: _Exchange) -> None:
        assert watched(child) == ["output"]
        arrived(child.output)
        assert child.replies() == []

    begun(child, then, b"request\n")
    assert processes.lines == [("stdout", "request")]


def test_nothing_waits_for_room_in_the_pipe_of_a_process_that_has_closed_its_input(processes: Processes) -> None:
    child = processes.start("exec <&-; echo closed; sleep 60")
    arrived(child.output)

    async def then(running: _Exchange) -> None:
        assert watched(child) == ["output"]

    begun(child, then)


def test_a_request_that_a_process_does_not_read_fails_when_it_ends(processes: Processes) -> None:
    child = processes.start("exec <&-; exit 3")
    with pytest.raises(BoxCrashed, match="the program exited with status 3 before it replied"):
        asked(child, line=b"x" * 300_000)


def test_a_short_call_is_measured_by_its_timeout_and_a_longer_one_too(processes: Processes) -> None:
    loop = Noting()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:

        async def waits(seconds: float) -> list[float]:
            loop.delays.clear()
            running = _Exchange(shell("", timeout=seconds), child, b"", "1")
            running.begin()
            running._slow()
            running.end()
            return [*loop.delays]

        child = processes.start("read more")
        assert runner.run(waits(20.0)) == [0.005, 19.995]
        assert runner.run(waits(0.003))[0] == 0.003


@pytest.mark.parametrize("size", [3, 300_000])
def test_a_call_beyond_its_timeout_fails(processes: Processes, size: int) -> None:
    child = processes.start("sleep 60")
    with pytest.raises(BoxTimeout, match=r"box box: no reply within timeout=0\.02 s; its process group was killed"):
        asked(child, shell("", timeout=0.02), b"x" * size)


def test_an_answer_that_comes_with_the_end_of_its_time_or_after_its_call_was_cancelled_changes_nothing(processes: Processes) -> None:
    child = processes.start(f"{REPLY}; read more")

    async def then(running: _Exchange) -> None:
        running.answered.cancel()
        arrived(child.output)
        running._output()
        running._too_slow()
        assert running.answered.cancelled()

    begun(child, then)


def test_output_without_a_reply_is_logged_and_waited_beyond(processes: Processes) -> None:
    child = processes.start(f"echo first; read line; {REPLY}; read more")
    arrived(child.output)
    assert asked(child) == BoxAnswer(7)
    assert processes.lines == [("stdout", "first")]


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (rf"{REPLY}'\036{{}}\n'", "box box: a reply is one of several replies to one request"),
        (r"printf '\036{}\n'", "box box: a reply has the id None"),
    ],
)
def test_a_reply_that_is_none_fails_the_call(processes: Processes, script: str, why: str) -> None:
    with pytest.raises(BoxReplyInvalid, match=why):
        asked(processes.start(f"read line; {script}; read more"))


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("exec >&-; sleep 0.03; exit 3", "exited with status 3 before it replied"),
        (r"printf '\036{'; exit 3", "exited with status 3 in the middle of a reply"),
        ("kill -s KILL $$", r"was ended by signal 9 \(SIGKILL\) before it replied"),
        ("printf 'the reason' >&2; exit 3", "exited with status 3 before it replied; its last line: the reason"),
    ],
)
def test_the_end_of_a_process_before_its_reply_is_told_with_its_last_line(processes: Processes, script: str, words: str) -> None:
    with pytest.raises(BoxCrashed, match=f"^box box: the program {words}$"):
        asked(processes.start(f"read line; {script}"))


def test_a_process_that_closes_its_output_and_goes_on_has_crashed_too(processes: Processes) -> None:
    others = list[str]()

    async def call() -> None:
        child = processes.start("read line; exec >&-; read more")
        asyncio.get_running_loop().call_later(0.05, others.append, "went on")
        with pytest.raises(BoxCrashed, match=r"the program closed its output before it replied$"):
            await exchange(PLAN, child, b"{}\n", "1")
        assert others == ["went on"]

    without_errors(call())


def test_the_last_line_of_a_process_is_told_up_to_its_200th_character(processes: Processes) -> None:
    with pytest.raises(BoxCrashed, match=f"; its last line: {'x' * 200}$"):
        asked(processes.start(f"read line; echo {'x' * 300} >&2"))


def test_a_process_that_ended_before_its_call_has_crashed(processes: Processes) -> None:
    child = processes.start("exit 3")
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(BoxCrashed, match="exited with status 3"):
        asked(child)
