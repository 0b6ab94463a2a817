"""`sedano worker` as real processes over one SQLite file: its options, its log, its signals and its exit codes."""

import os
import signal
import time
from pathlib import Path

import pytest

from sedano import Sedano
from sedano.cli.exits import Exit
from sedano.errors import UsageError
from sedano.host.worker_command import WorkerOptions, worker_process
from sedano.memory.telemetry import MemoryTelemetry
from sedano.model.worker_advice import advice
from sedano.ports import command_queue
from tests.stories.worked_project import CODE, SECONDS, WorkedProject
from tests.waiting import until

FOREVER = "/nonexistent/file"


def test_it_runs_the_tasks_of_its_queues_and_leaves_with_0(worked: WorkedProject) -> None:
    run = worked.worker("-Q", "mail", "-c", "3", "--json").ready()
    line = run.said("the worker is ready")
    assert line["fields"] == {"queues": ["mail"], "concurrency": 3, "pid": run.process.pid}
    assert (line["level"], line["service"]) == ("INFO", "sedano-worker")
    other = worked.app.send_task("note", (str(worked.notes), 1))
    assert worked.app.send_task("mail", (str(worked.notes),), queue="mail").get(timeout=SECONDS) == run.process.pid
    assert run.end() == 0
    assert (worked.noted(), other.state, run.other) == (["mail"], "PENDING", [])
    assert {member.state for member in worked.ports.members.read()} == {"LEFT"}


def test_a_process_of_more_threads_than_a_core_has_use_for_or_with_the_rights_of_root_warns_at_its_start(worked: WorkedProject) -> None:
    run = worked.worker("-c", "11").ready()
    blocking = CODE.count("\ndef ") - 1  # noted() is none of the tasks
    assert [line["message"] for line in run.log if line.get("level") == "WARNING"] == [*advice(os.getuid(), 11, blocking)]
    few = worked.worker("-c", "10").ready()
    assert [line["message"] for line in few.log if line.get("level") == "WARNING"] == [*advice(os.getuid(), 10, blocking)]
    assert [run.end(), few.end()] == [0, 0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_lets_the_body_end_and_a_second_one_ends_the_process_at_once(worked: WorkedProject, number: int) -> None:
    run = worked.worker("-c", "1").ready()
    result = worked.app.send_task("waits", (str(worked.notes), FOREVER))
    until(lambda: len(worked.noted()) == 1)
    run.send(number)
    run.said("the worker stops")
    assert run.process.poll() is None
    began = time.monotonic()
    assert run.end(number) == 128 + number
    assert time.monotonic() - began < 5
    assert result.state == "RUNNING"


def test_the_end_is_within_the_drain_and_the_cut_body_runs_in_the_next_process_when_its_claim_is_over(worked: WorkedProject) -> None:
    first = worked.worker("-c", "2", "--drain", "3").ready()
    result = worked.app.send_task("waits", (str(worked.notes), str(worked.go)))
    until(lambda: len(worked.noted()) == 1)
    began = time.monotonic()
    assert first.end() == 0
    assert time.monotonic() - began < 3 + 5, "the drain, and the end of the process on a busy machine"
    first.said("bodies did not end within the drain; their messages go back")
    worked.go.touch()
    second = worked.worker().ready()
    assert result.get(timeout=SECONDS) == second.process.pid
    assert worked.noted() == [str(first.process.pid), str(second.process.pid)]


def test_a_cut_async_body_runs_in_the_next_process_at_once(worked: WorkedProject) -> None:
    first = worked.worker("--drain", "2", "--visibility", "60").ready()
    result = worked.app.send_task("rests", (str(worked.notes), str(worked.go)))
    until(lambda: len(worked.noted()) == 1)
    assert first.end() == 0
    worked.go.touch()
    second = worked.worker("--visibility", "60").ready()
    began = time.monotonic()
    assert result.get(timeout=SECONDS) == second.process.pid
    assert time.monotonic() - began < 30, "it does not wait for a claim of a minute"


def test_a_killed_process_loses_nothing(worked: WorkedProject) -> None:
    first = worked.worker("-c", "4").ready()
    results = [worked.app.send_task("note", (str(worked.notes), number, 0.2)) for number in range(24)]
    until(lambda: len(worked.noted()) > 4)
    first.process.kill()
    assert first.ended() == -signal.SIGKILL
    worked.worker("-c", "8")
    assert [result.get(timeout=SECONDS) for result in results] == [*range(24)]
    twice = len(worked.noted()) - 24
    assert 0 <= twice <= 4, "only bodies that ran when the process was killed run again"


def test_a_body_that_ends_its_thread_ends_the_process_with_1(worked: WorkedProject) -> None:
    run = worked.worker().ready()
    worked.app.send_task("leaves")
    assert run.ended() == Exit.FAILED
    assert run.said("a lane ended; the process stops, and the message is delivered again")["level"] == "ERROR"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("--file", "x.db", "-Q", "post"), "--queues: the app has no queue 'post'; it has default, mail"),
        ((), "which deployment? set the variables of a stage"),
        (("work_tasks:app", "--app", "work_tasks:app"), "the app is named twice; leave out --app"),
        (("-c", "0"), "0 is not in the range 1<=x<=1000"),
        (("--visibility", "3"), "3 is not in the range 6<=x<=43000"),
    ],
)
def test_what_cannot_run_is_refused(options: tuple[str, ...], error: str, worked: WorkedProject) -> None:
    run = worked.on_aws(*options)
    assert run.ended() == Exit.USAGE
    assert error in "".join(run.other)


def test_the_app_is_an_argument_and_the_file_a_variable(worked: WorkedProject) -> None:
    (worked.folder / "pyproject.toml").unlink()
    run = worked.worker("work_tasks:app", SEDANO_FILE=str(worked.folder / "own" / "sedano.db")).ready()
    assert worked.app.send_task("note", (str(worked.notes), 5)).get(timeout=SECONDS) == 5
    assert run.end() == 0
    assert worked.ports.consumers.load(command_queue("default")) == (0, 0)


BOOTED = CODE + """

@app.boot
def database():
    noted(os.environ["NOTES"], "database")
    if "BROKEN" in os.environ:
        raise OSError("the database is away")
    yield
    noted(os.environ["NOTES"], "-database")


@app.service
async def prices():
    try:
        await asyncio.Event().wait()
    finally:
        noted(os.environ["NOTES"], "-prices")
"""


def test_boot_steps_start_before_the_first_task_and_stop_after_a_signal(tmp_path: Path) -> None:
    worked = WorkedProject(tmp_path, BOOTED)
    try:
        result = worked.app.send_task("note", (str(worked.notes), 1))
        run = worked.worker(NOTES=str(worked.notes)).ready()
        assert result.get(timeout=SECONDS) == 1
        assert run.end() == 0
        assert worked.noted() == ["database", "1", "-prices", "-database"]
    finally:
        worked.close()


def test_a_mandatory_boot_step_that_fails_ends_the_process_with_1_and_no_message_is_received(tmp_path: Path) -> None:
    worked = WorkedProject(tmp_path, BOOTED)
    try:
        result = worked.app.send_task("note", (str(worked.notes), 1))
        run = worked.worker(NOTES=str(worked.notes), BROKEN="1")
        assert run.ended() == 1
        assert "boot step database: OSError: the database is away" in str(run.said("the worker does not start")["fields"])
        assert worked.noted() == ["database"]
        worked.worker(NOTES=str(worked.notes)).ready()
        assert result.get(timeout=SECONDS) == 1
    finally:
        worked.close()


@pytest.mark.parametrize(("limits", "longest"), [({"time_limit": 3_600}, 3_600), ({"soft_time_limit": 3_599.5}, 3_599.5)])
def test_a_time_limit_that_outlasts_the_timeout_is_refused_where_its_queue_is_served(
    limits: dict[str, float], longest: float, tmp_path: Path
) -> None:
    app = Sedano("slow", queues=("default", "gpu"))
    app.task(name="train", queue="gpu", **limits)(lambda: None)
    options = WorkerOptions(("gpu",), concurrency=1, drain=1, timeout=3_600, visibility=30, file=tmp_path / "slow.db")
    with pytest.raises(UsageError, match=rf"^--timeout: 3600 s are too short for train, .* limit of {longest:g} s; give --timeout=3601,"):
        worker_process(app, options)
    assert not worker_process(app, options._replace(timeout=3_601)).is_stopping
    assert not worker_process(app, options._replace(queues=("default",))).is_stopping


def test_declarations_that_only_lambda_honours_are_warned_about_at_the_start(tmp_path: Path) -> None:
    app, telemetry = Sedano("mixed"), MemoryTelemetry()
    app.coroutines(most=2)
    app.task(name="sync", rate="2/s", per="worker")(lambda: None)
    worker_process(app, WorkerOptions((), 3, 1, 60, 30, file=tmp_path / "mixed.db", telemetry=telemetry))
    said = "\n".join(telemetry.messages("warning"))
    assert "app.coroutines(…) holds on Lambda alone" in said
    assert "the rate of sync counts for each worker, and each of 3 lanes is one" in said
