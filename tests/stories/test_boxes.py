"""Boxed tasks: programs that answer, print garbage, die, hang and leave processes behind, through the real engine."""

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sedano import Retry, Sedano, chain, chord, testing
from sedano.errors import RemoteError
from sedano.memory import MemoryTelemetry
from sedano.task import Task
from sedano.testing.deployment import World

HOST = Path(__file__).parent / "programs" / "boxed.py"
COMMAND: list[str | Path] = [sys.executable, "-S", "-E", HOST]
ONCE = Retry(max_retries=1, interval_start=1.0, jitter=False)
ENDED_S = 10.0
Declared = Callable[..., Task[..., Any]]


@pytest.fixture
def app() -> Sedano:
    """An app without retries, with an async task: a worker that is built before the box is declared gets a loop for it."""
    made = Sedano("boxes", retry=Retry(max_retries=0))

    @made.task
    async def ahead() -> None: ...

    return made


@pytest.fixture
def box(app: Sedano) -> Declared:
    """Declares the boxed task."""
    return lambda **options: app.boxed("box", COMMAND, **{"timeout": 20, **options})


@pytest.fixture
def world(app: Sedano) -> Iterator[World]:
    """A world of the app."""
    with testing.world(app) as built:
        yield built


def lines(telemetry: MemoryTelemetry, **fields: Any) -> list[str]:
    """The messages of the lines that have these fields."""
    return [line.message for line in telemetry.lines if fields.items() <= line.fields.items()]


def runs(pid: int) -> bool:
    """Return whether the process is there and is not a corpse."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def until_gone(*pids: int) -> None:
    """Wait until none of the processes runs, for a while."""
    until = time.monotonic() + ENDED_S
    while running := [pid for pid in pids if runs(pid)]:
        assert time.monotonic() < until, f"{running} still run"
        time.sleep(0.002)


def test_a_box_answers_with_any_json(world: World, box: Declared) -> None:
    value = {"a": [1, None, True, 2.5, "\u00e9\u4e2d\x1e\n\0"], "b": {}}
    assert box().delay("echo", value, more=value).get() == [[value], {"more": value}]


def test_arguments_and_results_larger_than_a_pipe_pass(world: World, box: Declared) -> None:
    text = "\u00e9" * 30_000  # 180 kB as ASCII JSON
    assert box().delay("echo", text).get() == [[text], {}]


def test_a_box_is_a_step_of_a_canvas_and_the_body_of_a_chord(world: World, app: Sedano, box: Declared) -> None:
    task = box(pool=2)

    @app.task
    def total(answers: list[Any]) -> int:
        return sum(answers[0]) if isinstance(answers[0], list) else sum(answers)

    assert chain(task.si("echo", 2, 3), total.s())().get() == 5
    assert chord([task.si("noisy", n) for n in range(12)])(total.s()).get() == sum(range(12))


def test_a_request_names_its_task_attempt_fence_and_trace(world: World, box: Declared) -> None:
    result = box().delay("about")
    request = result.get()["request"]
    assert (request["v"], request["task"], request["task_id"], request["attempt"]) == (1, "box", result.id, 0)
    assert request["fence"] > 0
    assert request["deadline"] > world.clock.now()
    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-\d\d", request["traceparent"])


def test_a_process_stays_warm_between_batches_and_a_pool_has_no_more_than_it_may(world: World, box: Declared) -> None:
    task = box(pool=2)
    first = [task.delay("about") for _ in range(10)]
    pids = {result.get()["pid"] for result in first}
    assert len(pids) <= 2
    again = task.delay("about").get()
    assert again["pid"] in pids
    assert again["calls"] > 1


def test_a_process_is_replaced_after_as_many_calls_as_the_declaration_says(world: World, box: Declared) -> None:
    task = box(calls_per_child=3)
    told = [task.delay("about").get() for _ in range(7)]
    assert [one["calls"] for one in told] == [1, 2, 3, 1, 2, 3, 1]
    assert len({one["pid"] for one in told}) == 3
    until_gone(told[0]["pid"], told[3]["pid"])


def test_a_noisy_program_mixes_up_no_reply(world: World, box: Declared) -> None:
    task = box(pool=3)
    results = [task.delay("noisy", n, 1) for n in range(500)]
    assert [result.get() for result in results] == [n + 1 for n in range(500)]
    assert lines(world.telemetry, stream="stdout")


@pytest.mark.parametrize(
    ("does", "message"),
    [
        ("exit", "BoxCrashed: box box: the program exited with status 3 before it replied"),
        ("silence", "BoxCrashed: box box: the program exited with status 0 before it replied"),
        ("signal", r"BoxCrashed: box box: the program was ended by signal 11 \(SIGSEGV\) before it replied"),
        ("half", "BoxCrashed: box box: the program exited with status 0 in the middle of a reply"),
        ("closed", "BoxCrashed: box box: the program closed its output before it replied"),
        ("malformed", "BoxReplyInvalid: box box: a reply is not one line of JSON"),
        ("other", "BoxReplyInvalid: box box: a reply has the id 'another'"),
        ("twice", "BoxReplyInvalid: box box: a reply is one of several replies"),
        ("oversized", "BoxReplyInvalid: box box: a reply is longer than 1048576 bytes"),
        ("members", "BoxReplyInvalid: box box: a reply has the members"),
    ],
)
def test_a_call_without_a_valid_reply_fails_alone_and_the_next_gets_a_new_process(
    world: World, box: Declared, does: str, message: str
) -> None:
    task = box()
    before = task.delay("about").get()["pid"]
    with pytest.raises(RemoteError, match=message):
        task.delay(does).get()
    until_gone(before)
    after = task.delay("about").get()
    assert after["pid"] != before
    assert after["calls"] == 1


def test_a_program_that_died_is_tried_again_by_the_retry_policy_of_the_task(world: World, box: Declared) -> None:
    assert box(retry=ONCE).delay("flaky").get() == 1


def test_a_program_that_hangs_is_killed_at_its_timeout_with_all_that_it_has_begun(world: World, box: Declared) -> None:
    task = box(timeout=0.6)
    began = time.monotonic()
    with pytest.raises(RemoteError, match=r"BoxTimeout: box box: no reply within timeout=0.6 s; its process group was killed"):
        task.delay("hang").get()
    assert 0.6 <= time.monotonic() - began < 5.0
    (hung,) = [line for line in lines(world.telemetry, box="box") if line.startswith("hangs")]
    until_gone(*map(int, hung.split()[1:]))
    assert task.delay("echo").get() == [[], {}]


def test_a_program_whose_task_is_over_its_time_limit_is_killed(world: World, box: Declared) -> None:
    with pytest.raises(RemoteError, match="TimeLimitExceeded"):
        box(time_limit=0.5).delay("hang").get()
    (hung,) = [line for line in lines(world.telemetry, box="box") if line.startswith("hangs")]
    until_gone(*map(int, hung.split()[1:]))


def test_calls_that_wait_for_a_process_are_not_measured_by_the_timeout(world: World, box: Declared) -> None:
    task = box(timeout=0.5)
    failed = [task.delay("hang") for _ in range(3)]
    answered = task.delay("echo", 1)
    for result in failed:
        with pytest.raises(RemoteError, match="BoxTimeout"):
            result.get()
    assert answered.get() == [[1], {}]


def test_an_error_of_the_program_arrives_as_data_and_may_forbid_another_attempt(world: World, box: Declared) -> None:
    task = box(retry=ONCE)
    for answer, attempts in (({}, 2), ({"retry": False}, 1)):
        result = task.delay("error", answer)
        with pytest.raises(RemoteError) as caught:
            result.get()
        error = caught.value
        assert (error.type_name, error.message, error.traceback) == ("Unfit", "does not fit", "at line 7")
        assert len([line for line in world.telemetry.lines if line.fields.get("task_id") == result.id]) == attempts


def test_stderr_becomes_log_lines_of_the_task_and_a_flood_is_cut(world: World, box: Declared) -> None:
    task = box()
    result = task.delay("log", "first", "second")
    result.get()
    assert lines(world.telemetry, task_id=result.id, stream="stderr", box="box") == ["first", "second"]
    flood = task.delay("flood", 5_000)
    assert flood.get() is None
    logged = lines(world.telemetry, task_id=flood.id, box="box")
    assert len(logged) == 1_000
    assert "further lines are not logged" in logged[-1]


def test_a_program_sees_no_credential_of_its_worker_and_has_a_session_of_its_own(world: World, box: Declared) -> None:
    secret, kept = "AWS_SECRET_ACCESS_KEY", os.environ.get("AWS_SECRET_ACCESS_KEY")
    os.environ[secret] = "canary"
    try:
        told = box(env={"COLOUR": "green"}).delay("about").get()
    finally:
        os.environ.pop(secret) if kept is None else os.environ.update({secret: kept})
    environ = told["environ"]
    assert "canary" not in environ.values()
    assert environ["COLOUR"] == "green"
    assert not [name for name in environ if name.startswith(("AWS_", "SEDANO_")) or name == "HOME"]
    assert told["sid"] == told["pid"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a process from outside")
def test_a_program_cannot_allocate_more_than_its_memory(world: World, box: Declared) -> None:
    task = box(memory="128M")
    for _ in range(2):  # the first process is measured by its first call, the next ones are limited from their start
        assert task.delay("allocate", 20_000_000).get() == 20_000_000
        with pytest.raises(RemoteError, match=r"BoxCrashed: .* exited with status 1 .*MemoryError"):
            task.delay("allocate", 300_000_000).get()
    with pytest.raises(RemoteError, match="MemoryError"):
        task.delay("allocate", 300_000_000).get()


def test_a_missing_program_and_a_missing_folder_fail_the_call_with_the_remedy(world: World, app: Sedano, tmp_path: Path) -> None:
    missing = app.boxed("missing", ["no-such-program"])
    with pytest.raises(RemoteError, match=r"BoxMissing: .*'no-such-program' cannot be started here: .*; install it in the worker's image"):
        missing.delay().get()
    nowhere = app.boxed("nowhere", COMMAND, cwd=tmp_path / "absent")
    with pytest.raises(RemoteError, match=r"BoxMissing: .*is not a folder of this worker; deploy it with the app"):
        nowhere.delay().get()


def test_the_end_of_a_world_ends_the_processes_of_its_boxes(app: Sedano, box: Declared) -> None:
    task = box(pool=2)
    with testing.world(app):
        pids = {result.get()["pid"] for result in [task.delay("about") for _ in range(4)]}
    until_gone(*pids)
    with testing.world(app):
        assert task.delay("echo", 1).get() == [[1], {}]
