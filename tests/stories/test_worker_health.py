"""`sedano worker --health`: probes learn whether a process lives and whether it takes work; readiness goes off first when it drains."""

import http.client
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sedano.cli.exits import Exit
from sedano.errors import UsageError
from sedano.host.health_server import HealthServer, ServerAddress, address
from sedano.model.beats import ProbeAnswer
from tests.stories.test_worker_command import BOOTED
from tests.stories.worked_project import CODE, SECONDS, WorkedProject, WorkerRun
from tests.waiting import until

HOLDS_UP = BOOTED.replace("    yield\n", """    while not os.path.exists(os.environ["GO"]):
        time.sleep(0.01)
    yield
""")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[WorkedProject]:
    """A project on which nothing runs afterwards."""
    made = WorkedProject(tmp_path)
    yield made
    made.close()


def free_port() -> int:
    """A port of this machine on which nothing listens now."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
    return port


def probe(port: int, path: str, method: str = "GET", host: str = "127.0.0.1") -> tuple[int, str]:
    """Ask once."""
    connection = http.client.HTTPConnection(host, port, timeout=SECONDS)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode().strip()
    finally:
        connection.close()


def listening(run: WorkerRun, port: int) -> None:
    """Wait until the server of *run* is open."""

    def is_open() -> bool:
        assert run.process.poll() is None, (run.log, run.other)
        try:
            probe(port, "/live")
        except ConnectionError:
            return False
        return True

    until(is_open)


def test_a_process_is_ready_after_its_boot_steps_and_not_from_the_signal_on_while_it_lives(tmp_path: Path) -> None:
    project, port = WorkedProject(tmp_path, HOLDS_UP), free_port()
    booted = project.folder / "booted"
    try:
        run = project.worker("-c", "1", "--health", str(port), NOTES=str(project.notes), GO=str(booted))
        until(lambda: "database" in project.noted())
        listening(run, port)
        assert (probe(port, "/live"), probe(port, "/ready")) == ((200, "starting"), (503, "starting"))
        booted.touch()
        run.ready()
        until(lambda: probe(port, "/ready") == (200, "ok"))
        assert probe(port, "/live") == (200, "ok")
        result = project.app.send_task("waits", (str(project.notes), str(project.go)))
        until(lambda: str(run.process.pid) in project.noted())
        run.send()
        until(lambda: probe(port, "/ready") == (503, "draining"))
        assert probe(port, "/live") == (200, "draining")
        project.go.touch()
        assert result.get(timeout=SECONDS) == run.process.pid
        assert run.ended() == 0
    finally:
        project.close()


def test_the_door_of_several_processes_is_that_of_their_supervisor(project: WorkedProject) -> None:
    port = free_port()
    run = project.worker("--processes", "2", "-c", "1", SEDANO_HEALTH=str(port))
    listening(run, port)
    run.said("all worker processes are ready")
    assert probe(port, "/ready") == (200, "ok")
    project.app.send_task("waits", (str(project.notes), str(project.go)))
    until(lambda: len(project.noted()) == 1)
    run.send()
    until(lambda: probe(port, "/ready") == (503, "draining"))
    assert probe(port, "/live") == (200, "draining")
    project.go.touch()
    assert (run.ended(), run.other) == (0, [])


def test_a_process_that_is_stopped_is_replaced_and_its_tasks_run_elsewhere(project: WorkedProject) -> None:
    run = project.worker("--processes", "2", "-c", "1", "--watchdog", "3", "--drain", "2")
    run.said("all worker processes are ready")
    result = project.app.send_task("waits", (str(project.notes), str(project.go)))
    until(lambda: len(project.noted()) == 1)
    victim = int(project.noted()[0])
    os.kill(victim, signal.SIGSTOP)
    line = run.said("a worker process gives no sign of life and is killed")
    assert (line["level"], line["fields"]["killed"]) == ("ERROR", victim)
    project.go.touch()
    assert result.get(timeout=SECONDS) != victim
    assert run.said("a worker process ended; a new one starts")["fields"]["ended"] == victim
    until(lambda: sum(line.get("message") == "the worker is ready" for line in run.log) == 3)
    assert run.end() == 0


def test_a_busy_process_is_not_taken_for_one_that_hangs(project: WorkedProject) -> None:
    run = project.worker("--processes", "2", "-c", "1", "--watchdog", "3")
    run.said("all worker processes are ready")
    result = project.app.send_task("note", (str(project.notes), 1, 7.0))
    assert result.get(timeout=SECONDS) == 1
    assert project.noted() == ["1"]
    assert [line for line in run.log if line.get("level") == "ERROR"] == []
    assert run.end() == 0


def test_an_app_that_takes_long_to_load_is_not_taken_for_one_that_hangs(tmp_path: Path) -> None:
    project = WorkedProject(tmp_path, f"import time\ntime.sleep(5)\n{CODE}")
    try:
        run = project.worker("--processes", "2", "-c", "1", "--watchdog", "3")
        run.said("all worker processes are ready")
        assert [line for line in run.log if line.get("level") == "ERROR"] == []
        assert run.end() == 0
    finally:
        project.close()


def test_a_process_gives_its_service_manager_signs_of_life(project: WorkedProject, tmp_path: Path) -> None:
    for options in ((), ("--processes", "2")):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listens:
            path = f"{tmp_path}/notify{len(options)}"
            listens.bind(path)
            listens.settimeout(SECONDS)
            run = project.worker(*options, NOTIFY_SOCKET=path, WATCHDOG_USEC="1000000")
            heard, began = list[str](), 0.0
            while heard.count("WATCHDOG=1") < 6:
                heard += listens.recv(1024).decode().splitlines()
                began = began or time.monotonic()
            assert time.monotonic() - began < 5 * 1.0, "twice in the time that the manager allows"
            assert run.end() == 0


@pytest.mark.parametrize(
    ("text", "where"),
    [("8080", ("127.0.0.1", 8080)), ("10.0.0.7:80", ("10.0.0.7", 80)), ("[::1]:80", ("::1", 80)), (":0", ("127.0.0.1", 0))],
)
def test_an_address_is_of_this_machine_alone_unless_it_says_otherwise(text: str, where: tuple[str, int]) -> None:
    assert address(text) == where


@pytest.mark.parametrize("text", ["", "x", "10.0.0.7", "127.0.0.1:", "1:65536", "8080 ", "-1", "8_0"])
def test_an_address_without_a_port_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="write 8080, or"):
        address(text)


def test_a_port_that_is_taken_ends_the_command_with_its_error(project: WorkedProject) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for options in ((), ("--processes", "2")):
            run = project.worker(*options, "--health", str(taken.getsockname()[1]))
            assert run.ended() == Exit.USAGE
            assert "--health: cannot listen on 127.0.0.1:" in "".join(run.other)


def test_the_door_answers_two_paths_and_no_method_but_get_and_head() -> None:
    answers = [ProbeAnswer(True, False, "starting")]
    server = HealthServer(ServerAddress("127.0.0.1", 0), lambda: answers[0])
    try:
        assert probe(server.port, "/live") == (200, "starting")
        assert probe(server.port, "/live?verbose=1") == (200, "starting")
        assert probe(server.port, "/ready", "HEAD") == (503, "")
        assert probe(server.port, "/metrics") == (404, "ask /live or /ready")
        assert probe(server.port, "/ready", "POST")[0] == 501
        answers[0] = ProbeAnswer(False, False, "stuck: inbox")
        assert probe(server.port, "/live") == (503, "stuck: inbox")
    finally:
        server.close()
    with pytest.raises(ConnectionError):
        probe(server.port, "/live")


def test_a_caller_that_says_nothing_holds_up_no_other_one() -> None:
    server = HealthServer(ServerAddress("127.0.0.1", 0), lambda: ProbeAnswer(True, True, "ok"))
    try:
        with socket.create_connection(("127.0.0.1", server.port)):
            assert probe(server.port, "/ready") == (200, "ok")
    finally:
        server.close()
