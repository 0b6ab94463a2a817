"""`sedano worker` under a service manager: it reports on the manager's socket when it is ready and when it drains, as systemd expects."""

import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sedano.host.service_manager import READY, ServiceManager
from tests.stories.worked_project import SECONDS, WorkedProject

CODE = """
import os
from sedano import Sedano

app = Sedano("worked", queues=("default", "mail"))


@app.task(name="sees")
def sees() -> str | None:
    return os.environ.get("NOTIFY_SOCKET")
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[WorkedProject]:
    """A project on which nothing runs afterwards."""
    made = WorkedProject(tmp_path, CODE)
    yield made
    made.close()


@pytest.fixture
def manager() -> Iterator[socket.socket]:
    """The socket of a service manager."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listens:
        listens.bind(f"{folder}/notify")
        listens.settimeout(SECONDS)
        yield listens


@pytest.mark.parametrize(("options", "status"), [((), "10 bodies at once"), (("--processes", "2"), "2 processes")])
def test_it_reports_that_it_is_ready_and_that_it_drains(
    options: tuple[str, ...], status: str, project: WorkedProject, manager: socket.socket
) -> None:
    run = project.worker(*options, NOTIFY_SOCKET=manager.getsockname())
    assert manager.recv(1024).decode().splitlines() == ["READY=1", f"STATUS={status}"]
    assert project.app.send_task("sees").get(timeout=SECONDS) is None, "a process that a body starts cannot report in our place"
    run.send()
    first, longer, draining = manager.recv(1024).decode().splitlines()
    assert (first, draining) == ("STOPPING=1", "STATUS=draining")
    assert int(longer.removeprefix("EXTEND_TIMEOUT_USEC=")) > 25_000_000
    assert run.ended() == 0


def test_an_abstract_socket_is_reached_and_a_manager_that_is_gone_does_no_harm() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listens:
        listens.bind("\0sedano-test-notify")
        listens.settimeout(SECONDS)
        environment = {"NOTIFY_SOCKET": "@sedano-test-notify"}
        one = ServiceManager(environment)
        one.say(READY)
        assert listens.recv(64) == b"READY=1"
        assert environment == {}
    one.say(READY)
    ServiceManager({}).say(READY)
