"""`sedano worker --processes`: processes that die or grow old are replaced, all end together, and none outlives a killed supervisor."""

import os
import random
import signal
import time
from pathlib import Path

from sedano.cli.exits import Exit
from sedano.model import states
from tests.stories.worked_project import SECONDS, WorkedProject, WorkerRun
from tests.waiting import until

RESTARTS, KILLS, TASKS, SEED = 3, 4, 600, 20_261_124
ALL_READY = "all worker processes are ready"


def started(run: WorkerRun, number: int) -> list[int]:
    """Wait until so many processes have been ready, and return their ids in the order of that."""

    def ready() -> list[int]:
        return [line["fields"]["pid"] for line in run.log if line.get("message") == "the worker is ready"]

    until(lambda: len(ready()) >= number)
    return ready()


def ended(pid: int) -> bool:
    """Whether a process that is not a child of ours has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_so_many_processes_work_and_all_drain_at_a_signal(worked: WorkedProject) -> None:
    run = worked.worker("--processes", "2", "-c", "1")
    run.said(ALL_READY)
    results = [worked.app.send_task("waits", (str(worked.notes), str(worked.go))) for _ in range(2)]
    until(lambda: len(worked.noted()) == 2)
    run.send()
    worked.go.touch()
    pids = {result.get(timeout=SECONDS) for result in results}
    assert pids == {*started(run, 2)}
    assert run.process.pid not in pids
    assert (run.ended(), run.other) == (0, [])
    assert all(map(ended, pids))


def test_a_second_signal_ends_all_processes_at_once(worked: WorkedProject) -> None:
    run = worked.worker("--processes", "2", "-c", "1")
    pids = started(run, 2)
    worked.app.send_task("waits", (str(worked.notes), "/nonexistent/file"))
    until(lambda: len(worked.noted()) == 1)
    run.send()
    run.said("the worker stops")
    began = time.monotonic()
    assert run.end() == 128 + signal.SIGTERM
    assert time.monotonic() - began < 10
    assert all(map(ended, pids))


def test_a_killed_process_is_replaced_and_loses_nothing(worked: WorkedProject) -> None:
    run = worked.worker("--processes", "2", "-c", "2")
    victim = started(run, 2)[0]
    results = [worked.app.send_task("note", (str(worked.notes), number, 0.1)) for number in range(30)]
    until(lambda: len(worked.noted()) > 2)
    os.kill(victim, signal.SIGKILL)
    assert [result.get(timeout=SECONDS) for result in results] == [*range(30)]
    line = run.said("a worker process ended; a new one starts")
    assert (line["level"], line["fields"]["ended"], line["fields"]["how"]) == ("ERROR", victim, "signal 9")
    assert len(started(run, 3)) == 3
    assert {*map(int, worked.noted())} == {*range(30)}
    assert run.end() == 0


def test_a_process_is_replaced_after_so_many_tasks_and_each_task_runs_once(worked: WorkedProject) -> None:
    run = worked.worker("--processes", "2", "-c", "1", "--max-tasks", "5")
    run.said(ALL_READY)
    results = [worked.app.send_task("note", (str(worked.notes), number)) for number in range(40)]
    assert [result.get(timeout=SECONDS) for result in results] == [*range(40)]
    assert len(started(run, 6)) >= 6
    run.said("the process has reached its limit of tasks")
    assert sorted(map(int, worked.noted())) == [*range(40)]
    assert not [line for line in run.log if line.get("level") == "ERROR"]
    assert run.end() == 0


def test_a_process_that_uses_too_much_memory_is_replaced(worked: WorkedProject) -> None:
    run = worked.worker("--processes", "2", "--max-memory", "10")
    assert run.said("the process has reached its limit of memory")["fields"]["mebibytes"] > 10
    started(run, 3)
    assert run.end() == 0


def test_a_setting_that_is_wrong_ends_all_with_its_error(worked: WorkedProject) -> None:
    run = worked.worker("--processes", "2", "-Q", "post")
    assert run.ended() == Exit.USAGE
    assert "--queues: the app has no queue 'post'" in "".join(run.other)


def test_processes_of_a_killed_supervisor_drain_and_end(worked: WorkedProject) -> None:
    run = worked.worker("--processes", "2")
    pids = started(run, 2)
    run.process.kill()
    until(lambda: all(map(ended, pids)))
    assert {member.state for member in worked.ports.members.read()} == {"LEFT"}


def test_kills_and_restarts_under_load_lose_no_task_and_record_each_once(worked: WorkedProject) -> None:
    chance = random.Random(SEED)
    results = [worked.app.send_task("note", (str(worked.notes), number, 0.05)) for number in range(TASKS)]
    for _ in range(RESTARTS):
        run = worked.worker("--processes", "2", "-c", "4")
        run.said(ALL_READY)
        for kill in range(KILLS):
            os.kill(chance.choice([pid for pid in started(run, 2 + kill) if not ended(pid)]), signal.SIGKILL)
            started(run, 3 + kill)
        assert run.end() == 0
    worked.worker("--processes", "2", "-c", "4")
    assert [result.get(timeout=SECONDS) for result in results] == [*range(TASKS)]
    records = worked.ports.ledger.read([result.id for result in results])
    assert {record.state for record in records.values()} == {states.SUCCESS}
    assert 0 <= len(worked.noted()) - TASKS <= RESTARTS * KILLS * 4, "only bodies that ran when a process was killed run again"
