"""Services on their thread: they begin, fail, begin again, and end with the process."""

import asyncio
import threading
from typing import Any

from sedano.engine.services import Services
from sedano.memory import MemoryTelemetry

SECONDS = 60.0


def test_a_service_that_fails_is_logged_and_started_again_after_a_pause_that_doubles() -> None:
    telemetry, runs, pauses, over = MemoryTelemetry(), list[int](), list[float](), threading.Event()

    async def prices() -> None:
        runs.append(1)
        if len(runs) < 4:
            raise OSError("away")
        over.set()

    async def rest(seconds: float) -> None:
        pauses.append(seconds)

    services = Services({"prices": prices}, telemetry, rest)
    services.begin()
    assert over.wait(SECONDS)
    services.end()
    assert pauses == [1.0, 2.0, 4.0]
    lines = [line.fields for line in telemetry.lines if line.message == "a service failed; it is started again"]
    assert [(line["service"], line["error"], line["seconds"]) for line in lines] == [("prices", "OSError: away", s) for s in pauses]
    assert telemetry.counted("ServicesFailed", service="prices") == 3


def test_a_service_that_fails_does_not_end_the_others() -> None:
    telemetry, resting, beside = MemoryTelemetry(), threading.Event(), list[str]()

    async def bad() -> None:
        raise OSError("away")

    async def good() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            beside.append("cancelled")

    async def rest(seconds: float) -> None:
        resting.set()
        await asyncio.Event().wait()

    services = Services({"bad": bad, "good": good}, telemetry, rest, grace=1.0)
    services.begin()
    assert resting.wait(SECONDS)
    assert beside == []
    services.end()
    assert beside == ["cancelled"]
    assert telemetry.messages("warning") == [], "both ended as soon as they were cancelled"


def test_a_service_that_blocks_its_thread_while_it_ends_is_waited_for_longer_than_the_grace_time() -> None:
    begun, never, ended = threading.Event(), threading.Event(), list[str]()

    async def slow() -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            never.wait(0.45)
            ended.append("slow")

    services = Services({"slow": slow}, MemoryTelemetry(), grace=0.4)
    services.begin()
    assert begun.wait(SECONDS)
    services.end()
    assert ended == ["slow"]


def test_a_service_that_goes_on_after_it_was_cancelled_is_logged() -> None:
    telemetry, begun, free = MemoryTelemetry(), threading.Event(), threading.Event()

    async def stubborn() -> None:
        begun.set()
        while not free.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue

    services = Services({"stubborn": stubborn}, telemetry, grace=0.05)
    services.begin()
    assert begun.wait(SECONDS)
    services.end()
    free.set()
    assert telemetry.messages("warning") == ["a service goes on after it was cancelled; the process does not wait for it"]


def test_the_end_of_services_that_were_not_begun_does_nothing() -> None:
    async def never() -> None:
        raise AssertionError("it ran")

    Services({"never": never}, MemoryTelemetry()).end()


class Unreadable(dict[str, Any]):
    """Services that the thread cannot begin once they may fail."""

    def __init__(self) -> None:
        """Wait until they may fail."""
        super().__init__()
        self.may_fail = threading.Event()

    def items(self) -> Any:
        """Fail, as a loop does that gets no file descriptor."""
        assert self.may_fail.wait(SECONDS)
        raise OSError("too many open files")


def test_services_that_cannot_begin_are_logged_and_not_waited_for() -> None:
    telemetry, unreadable = MemoryTelemetry(), Unreadable()
    services = Services(unreadable, telemetry)
    services.begin()
    ended = threading.Thread(target=services.end, daemon=True)
    ended.start()
    ended.join(0.02)
    assert ended.is_alive(), "it waits for the thread to begin"
    unreadable.may_fail.set()
    ended.join(SECONDS)
    assert not ended.is_alive()
    (line,) = telemetry.lines
    assert (line.level, line.message) == ("error", "the services cannot run; the process goes on without them")
    assert line.fields == {"error": "OSError: too many open files"}
