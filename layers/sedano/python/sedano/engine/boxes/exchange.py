"""One request to a process and its reply, on the event loop of the batch."""

from __future__ import annotations

import asyncio
import os
import signal

from sedano.engine.boxes.child import BoxProcess
from sedano.errors import BoxCrashed, BoxFailure, BoxReplyInvalid, BoxTimeout
from sedano.model.boxes import RS, BoxAnswer, BoxPlan, read_answer

ENDED_S = 0.25
"""How long to wait for the exit status of a process that closed its output."""
LOOK_S = 0.002
SLOW_S = 0.005
"""After this time stderr is watched as well; a shorter call reads it once, which costs a third less."""


async def exchange(plan: BoxPlan, child: BoxProcess, line: bytes, call_id: str) -> BoxAnswer:
    """Send *line* to *child* and return its answer.

    Raises:
        BoxTimeout, BoxCrashed, BoxReplyInvalid: it gave no valid answer; the process must then be killed, as it must if this is cancelled.
    """
    running = _Exchange(plan, child, line, call_id)
    child.calls += 1
    try:
        running.begin()
        answer = await running.answered
    finally:
        running.end()
    if answer is None:
        raise await _crash(plan, child)
    child.log_errors()
    return answer


class _Exchange:
    """The pipes of one call, watched."""

    def __init__(self, plan: BoxPlan, child: BoxProcess, line: bytes, call_id: str) -> None:
        self._plan, self._child, self._call_id = plan, child, call_id
        self._loop = asyncio.get_running_loop()
        self.answered: asyncio.Future[BoxAnswer | None] = self._loop.create_future()
        self._unsent = memoryview(line)

    def begin(self) -> None:
        """Watch, and send the request as far as the pipe takes it."""
        loop, child = self._loop, self._child
        self._timer = loop.call_later(min(SLOW_S, self._plan.timeout), self._slow)
        loop.add_reader(child.output, self._output)
        self._send()
        if self._unsent:
            loop.add_writer(child.requests, self._send)

    def end(self) -> None:
        """Watch no longer."""
        loop, child = self._loop, self._child
        self._timer.cancel()
        for forget, descriptor in (
            (loop.remove_reader, child.output), (loop.remove_reader, child.errors), (loop.remove_writer, child.requests),
        ):  # fmt: skip
            forget(descriptor)

    def _send(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._child.requests, self._unsent) :]
        except BlockingIOError:
            return
        except OSError:  # it reads no more; what it wrote and how it ended is read from its output
            self._unsent = memoryview(b"")
        if not self._unsent:
            self._loop.remove_writer(self._child.requests)

    def _output(self) -> None:
        replies = self._child.replies()
        if self.answered.done():
            return
        if replies is None:
            self.answered.set_result(None)
        elif replies:
            self._settle(replies)

    def _settle(self, replies: list[bytes]) -> None:
        try:
            reply, *others = replies
            if others:
                raise BoxReplyInvalid("is one of several replies to one request")
            self.answered.set_result(read_answer(reply, self._call_id))
        except BoxReplyInvalid as wrong:
            self.answered.set_exception(BoxReplyInvalid(f"box {self._plan.name}: a reply {wrong}"))

    def _errors(self) -> None:
        if not self._child.log_errors():
            self._loop.remove_reader(self._child.errors)

    def _slow(self) -> None:
        self._timer = self._loop.call_later(self._plan.timeout - SLOW_S, self._too_slow)
        self._loop.add_reader(self._child.errors, self._errors)

    def _too_slow(self) -> None:
        if not self.answered.done():
            words = f"box {self._plan.name}: no reply within timeout={self._plan.timeout:g} s; its process group was killed"
            self.answered.set_exception(BoxTimeout(words))


async def _crash(plan: BoxPlan, child: BoxProcess) -> BoxFailure:
    """Return the error of the process that closed its output before it replied."""
    loop = asyncio.get_running_loop()
    until = loop.time() + ENDED_S
    while (status := child.status()) is None and loop.time() < until:  # noqa: ASYNC110 - the system alone knows of its end
        await asyncio.sleep(LOOK_S)
    half = "in the middle of a reply" if child.lines.rest.startswith(RS) else "before it replied"
    child.log_rest()
    last = f"; its last line: {child.last_line[:200]}" if child.last_line else ""
    return BoxCrashed(f"box {plan.name}: the program {ending(status)} {half}{last}")


def ending(status: int | None) -> str:
    """Return in words how a process ended."""
    if status is None:
        return "closed its output"
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"was ended by signal {-status} ({signal.Signals(-status).name})"
    except ValueError:
        return f"was ended by signal {-status}"
