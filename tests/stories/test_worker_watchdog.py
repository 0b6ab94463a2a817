"""A watchdog that each loop of a process feeds: any loop that is stuck is named, and from then on no sign of life is given."""

import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sedano import Retry, Sedano
from sedano.host import one_file
from sedano.host.pulses import Feed, Watchdog
from sedano.host.service_manager import ALIVE, ServiceManager
from sedano.memory import MemoryTelemetry
from sedano.model.beats import Allowances
from sedano.ports import EVENTS, Ports, command_queue
from tests.stories.lanes_in_threads import SECONDS, VISIBILITY_S, Process
from tests.stories.mutants import Delegating

PERIOD_S = 0.4
LOOK_S = 0.05
STUCK = "a loop of this process is stuck; no sign of life is sent"
QUICK = Allowances(call=1.0, lane=1.0, loop=1.0)


class Wedged(Delegating):
    """A port of which one *call* does not return while it is wedged, where its arguments are *meant*."""

    def __init__(self, inner: Any, call: str, meant: Callable[..., bool]) -> None:
        super().__init__(inner)
        self.call, self.meant = call, meant
        self.wedged, self.freed = threading.Event(), threading.Event()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if name != self.call:
            return found

        def call(*given: Any) -> Any:
            if self.wedged.is_set() and self.meant(*given):
                self.freed.wait(SECONDS)
            return found(*given)

        return call


class Together(Delegating):
    """Queues that answer the receivers of the two command queues together: one message begins then, and the other one waits for a lane."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self._both = threading.Barrier(2)

    def receive(self, queue: str, *given: Any) -> Any:
        """Receive, and wait for the other receiver."""
        found = self.inner.receive(queue, *given)
        if found and queue in (command_queue("default"), command_queue("mail")):
            self._both.wait(SECONDS)
        return found


class Guarded:
    """A process on threads of the test, its watchdog, and the socket of a service manager that waits for signs of life."""

    def __init__(self, app: Sedano, ports: Ports, listens: socket.socket, telemetry: MemoryTelemetry, **settings: Any) -> None:
        """Start it."""
        self.one, self._listens, self._telemetry = Process(app, ports, allowed=QUICK, **settings), listens, telemetry
        usec = {"NOTIFY_SOCKET": listens.getsockname(), "WATCHDOG_USEC": str(int(PERIOD_S * 1_000_000))}
        manager = ServiceManager(usec)
        assert manager.watchdog == PERIOD_S
        feed = Feed(manager.watchdog / 2, lambda: manager.say(ALIVE))
        self.watchdog = Watchdog(self.one.process.pulses, telemetry, time.monotonic, (feed,))

    def look_until(self, reached: Callable[[], bool]) -> None:
        """Look, as the command does, until *reached* holds."""
        end = time.monotonic() + SECONDS
        while not reached():
            assert time.monotonic() < end, self.watchdog.stuck
            self.watchdog.look()
            time.sleep(LOOK_S)

    def look_for(self, seconds: float) -> int:
        """Look for so many *seconds*; return how many signs of life arrived meanwhile."""
        self.signs()
        end = time.monotonic() + seconds
        self.look_until(lambda: time.monotonic() > end)
        return self.signs()

    def signs(self) -> int:
        """Return how many signs of life have arrived since this was asked last."""
        found = 0
        while True:
            try:
                found += self._listens.recv(64) == b"WATCHDOG=1"
            except BlockingIOError:
                return found

    def named(self) -> list[tuple[str, str]]:
        """The loops that the log names, each with its innermost calls."""
        lines = [line.fields for line in self._telemetry.lines if (line.level, line.message) == ("error", STUCK)]
        return [(str(fields["loop"]), str(fields["at"])) for fields in lines]


@pytest.fixture
def telemetry() -> MemoryTelemetry:
    return MemoryTelemetry()


@pytest.fixture
def ports(tmp_path: Path, telemetry: MemoryTelemetry) -> Ports:
    return one_file.ports(tmp_path / "own" / "sedano.db", ("default", "mail"), VISIBILITY_S, telemetry)


@pytest.fixture
def app() -> Sedano:
    return Sedano("watched", retry=Retry(max_retries=0), queues=("default", "mail"))


@pytest.fixture
def listens() -> Iterator[socket.socket]:
    """The socket of a service manager."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(f"{folder}/notify")
        listening.setblocking(False)
        yield listening


def always(*_: Any) -> bool:
    """Mean each call."""
    return True


def of_queue(name: str) -> Callable[..., bool]:
    """Mean the calls for the queue *name*."""

    def meant(queue: Any, *_: Any) -> bool:
        return name == (queue if isinstance(queue, str) else queue[0].queue)

    return meant


def on_thread(name: str) -> Callable[..., bool]:
    """Mean the calls on the thread *name*."""
    return lambda *_: threading.current_thread().name == name


WEDGES = {
    "receiver": ("queues", "receive", of_queue(command_queue("default")), "receiver of commands:default"),
    "followers": ("queues", "receive", of_queue(EVENTS), "followers"),
    "claim": ("ledger", "claim", always, "lane "),
    "record": ("ledger", "record", always, "lane "),
    "acknowledge": ("queues", "delete", of_queue(command_queue("default")), "lane "),
    "claims": ("ledger", "extend", always, "claims of "),
    "keeper": ("queues", "hold", on_thread("sedano-keep"), "keeper of waiting messages"),
    "inbox": ("control", "read", on_thread("sedano-inbox"), "inbox"),
}


@pytest.mark.parametrize("wedge", WEDGES)
def test_a_loop_that_is_stuck_is_named_and_the_watchdog_is_not_fed(
    wedge: str, app: Sedano, ports: Ports, listens: socket.socket, telemetry: MemoryTelemetry
) -> None:
    port, call, meant, name = WEDGES[wedge]
    wedged = Wedged(Together(ports.queues) if wedge == "keeper" else getattr(ports, port), call, meant)
    changed, go = dict[str, Any]({port: wedged}), threading.Event()
    if wedge not in ("claims", "keeper"):  # claims are extended, and messages wait for a lane, only while a body runs
        go.set()
    app.task(name="works")(lambda: go.wait(SECONDS))
    guarded = Guarded(app, replace(ports, **changed), listens, telemetry, concurrency=1)
    try:
        app.attach(ports)
        assert guarded.look_for(4 * PERIOD_S) >= 4, "it is fed while all is well"
        wedged.wedged.set()
        for queue in ("default", "mail"):
            app.send_task("works", queue=queue)
        guarded.look_until(lambda: bool(guarded.watchdog.stuck))
        assert [one for one in guarded.watchdog.stuck if not one.startswith(name)] == []
        assert guarded.look_for(3 * PERIOD_S) == 0
        ((loop, at),) = guarded.named()
        assert loop.startswith(name)
        assert "test_worker_watchdog.py" in at, "the log says where it is"
        wedged.freed.set()
        guarded.look_until(lambda: not guarded.watchdog.stuck)
        assert guarded.look_for(4 * PERIOD_S) >= 2, "it moves again"
    finally:
        wedged.freed.set()
        go.set()
        guarded.one.end()


def test_an_async_body_that_blocks_the_event_loop_is_named_by_it(
    app: Sedano, ports: Ports, listens: socket.socket, telemetry: MemoryTelemetry
) -> None:
    go = threading.Event()

    @app.task(name="blocks")
    async def blocks() -> None:
        go.wait(SECONDS)

    guarded = Guarded(app, ports, listens, telemetry)
    try:
        assert guarded.look_for(4 * PERIOD_S) >= 4
        app.send_task("blocks")
        guarded.look_until(lambda: any(" blocks" in at for _, at in guarded.named()))  # a busy machine names idle loops before
        assert guarded.watchdog.stuck == ["event loop"]
        assert guarded.look_for(3 * PERIOD_S) == 0
        assert guarded.named()[-1][0] == "event loop"
    finally:
        go.set()
        guarded.one.end()


def test_bodies_that_run_and_receivers_that_wait_are_not_stuck(
    app: Sedano, ports: Ports, listens: socket.socket, telemetry: MemoryTelemetry
) -> None:
    began, go = threading.Barrier(3), threading.Event()

    @app.task(name="long")
    def long() -> str:
        began.wait(SECONDS)
        assert go.wait(SECONDS)
        return "done"

    guarded = Guarded(app, ports, listens, telemetry, concurrency=2)
    try:
        results = [app.send_task("long") for _ in range(2)]
        guarded.look_until(lambda: began.n_waiting == 2)
        began.wait(SECONDS)
        assert guarded.look_for(5 * QUICK.lane) >= 10, "longer than each allowance"
        assert guarded.named() == []
        go.set()
        assert [result.get(timeout=SECONDS) for result in results] == ["done"] * 2
        assert guarded.look_for(4 * PERIOD_S) >= 4
    finally:
        go.set()
        guarded.one.end()
    assert guarded.watchdog.stuck == []


def test_no_loop_counts_that_has_ended_in_a_drain(app: Sedano, ports: Ports, listens: socket.socket, telemetry: MemoryTelemetry) -> None:
    began, go = threading.Event(), threading.Event()

    @app.task(name="long")
    def long() -> str:
        began.set()
        assert go.wait(SECONDS)
        return "done"

    guarded = Guarded(app, ports, listens, telemetry, concurrency=3)
    result = app.send_task("long")
    guarded.look_until(began.is_set)
    ends = threading.Thread(target=guarded.one.end)
    ends.start()
    assert guarded.look_for(3 * QUICK.lane) >= 5, "it is fed while it drains"
    go.set()
    ends.join(SECONDS)
    assert result.get(timeout=SECONDS) == "done"
    guarded.watchdog.look()
    assert (guarded.named(), guarded.watchdog.stuck) == ([], [])
