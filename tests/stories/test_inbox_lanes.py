"""The inbox of a process with several lanes: each lane answers, and the process pauses, resumes and drains as a whole."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sedano import Sedano
from sedano.host import one_file
from sedano.host.engine_process import ProcessSettings
from sedano.host.worker_process import LaneSettings, WorkerProcess
from sedano.memory import MemoryTelemetry

SECONDS = 60.0
Asked = Callable[[str], set[str]]


@pytest.fixture
def app() -> Sedano:
    """An app without tasks."""
    return Sedano("lanes")


@pytest.fixture
def process(app: Sedano, tmp_path: Path) -> Iterator[threading.Thread]:
    """The thread of a process with two lanes; it begins when the test starts it, and has ended when the test has."""
    ports = one_file.ports(tmp_path / "own" / "sedano.db", ("default",), 6, MemoryTelemetry())
    made = WorkerProcess(app, ports, ProcessSettings(seconds=3_600.0, visibility=6), LaneSettings(2, 20.0, 0.1))
    thread = threading.Thread(target=made.run)
    yield thread
    made.stop()
    thread.join(SECONDS)
    assert not thread.is_alive()


@pytest.fixture
def asked(app: Sedano) -> Asked:
    """Send a verb, and return the different answers of both lanes."""

    def send(verb: str) -> set[str]:
        command, until = app.control.broadcast(verb), time.monotonic() + SECONDS
        while len(answers := app.control.answers(command)) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        return {*answers.values()}

    return send


def test_each_lane_answers_while_a_body_runs_and_the_process_pauses_and_drains_as_a_whole(
    app: Sedano, process: threading.Thread, asked: Asked
) -> None:
    go, began, ran = threading.Event(), threading.Event(), threading.Event()

    @app.task(name="slow")
    def slow() -> None:
        began.set()
        go.wait(SECONDS)

    app.task(name="pack")(ran.set)
    process.start()
    app.send_task("slow")
    assert began.wait(SECONDS)
    assert (asked("ping"), asked("pause")) == ({"pong"}, {"done"})
    app.send_task("pack")
    assert not ran.wait(1.0)
    assert asked("resume") == {"done"}
    assert ran.wait(SECONDS)
    assert asked("drain") == {"done"}
    go.set()
    process.join(SECONDS)
    assert not process.is_alive(), "the process ended on its own"
    assert {member.state for member in app.control.members()} == {"LEFT"}
