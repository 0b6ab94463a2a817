"""Django's own tasks run on sedano: sync and async, with their context, deferred, with results, errors and signals."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from types import ModuleType
from typing import Any

import pytest

from sedano import Sedano
from sedano.django import configured_app
from sedano.django.backend import SedanoBackend
from sedano.django.interface import TaskResultDoesNotExist, TaskResultStatus, task_enqueued, task_finished, task_started
from sedano.django.runner import Runner, runner_of
from sedano.errors import RemoteError
from sedano.model.queues import command_queue
from sedano.testing import World


def test_a_task_is_enqueued_and_its_result_is_found_by_its_id(project: ModuleType, stage: World) -> None:
    result = project.add.enqueue(2, b=3)
    assert (result.status, result.args, result.kwargs, len(result.id) <= 64) == (TaskResultStatus.READY, [2], {"b": 3}, True)
    assert project.add.get_result(result.id).status == TaskResultStatus.READY
    stage.drain()
    result.refresh()
    assert (result.status, result.return_value, result.attempts) == (TaskResultStatus.SUCCESSFUL, 5, 1)
    assert result.enqueued_at is not None
    assert result.started_at <= result.finished_at
    found = project.add.get_result(result.id)
    assert (found.return_value, found.args, found.kwargs, found.backend) == (5, [2], {"b": 3}, "default")


def test_an_async_task_runs_on_its_queue_and_async_calls_work(project: ModuleType, stage: World) -> None:
    async def enqueued() -> Any:
        result = await project.upper.aenqueue("tea")
        return await project.upper.aget_result(result.id)

    result = asyncio.run(enqueued())
    assert result.status == TaskResultStatus.READY
    assert [len(stage.queues.peek(command_queue(name))) for name in ("default", "slow")] == [0, 1]
    stage.drain()
    result.refresh()
    assert result.return_value == "TEA"


def test_a_failed_attempt_is_ready_again_and_the_context_counts_attempts(project: ModuleType, stage: World) -> None:
    result = project.attempt.enqueue("anna")
    stage.step()
    result.refresh()
    assert result.status == TaskResultStatus.READY
    stage.drain()
    result.refresh()
    assert result.return_value == [2, result.id, "anna"]
    assert result.attempts == 2


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("own", "tests.frameworks.django_shop.tasks.Unpaid"), ("built in", "builtins.ValueError"),
        ("named", "builtins.LookupError"),  # the app raises this class again
    ],
)  # fmt: skip
def test_a_task_that_fails_has_its_error_with_the_class(project: ModuleType, stage: World, kind: str, path: str) -> None:
    project.failures.clear()
    result = project.fail.enqueue(kind)
    stage.drain()
    result.refresh()
    [error] = result.errors
    assert (result.status, result.is_finished, error.exception_class_path) == (TaskResultStatus.FAILED, True, path)
    assert issubclass(error.exception_class, Exception)
    assert "Traceback" in error.traceback
    assert kind in error.traceback
    assert project.failures == [kind]
    with pytest.raises(ValueError, match="Task failed"):
        _ = result.return_value


def test_a_task_that_returns_what_json_does_not_know_fails(project: ModuleType, stage: World) -> None:
    result = project.dated.enqueue()
    stage.drain()
    result.refresh()
    assert result.errors[0].exception_class is TypeError


def test_a_deferred_task_runs_when_its_moment_has_come(project: ModuleType, stage: World) -> None:
    moment = datetime.fromtimestamp(stage.clock.now(), UTC) + timedelta(minutes=10)
    result = project.add.using(run_after=moment).enqueue(1)
    stage.elapse(590)
    result.refresh()
    assert result.status == TaskResultStatus.READY
    stage.elapse(20)
    result.refresh()
    assert result.return_value == 2


@pytest.mark.parametrize("wrong", ["", "x", "0" * 12 + "-1-2", "é-0-0"])
def test_an_id_that_names_no_task_does_not_exist(project: ModuleType, stage: World, wrong: str) -> None:
    with pytest.raises(TaskResultDoesNotExist):
        project.add.get_result(wrong)


@pytest.mark.parametrize(
    ("declare", "words"),
    [
        (lambda project: project.add.using(priority=5), "does not support setting priority"),
        (lambda project: project.add.using(queue_name="mail"), "Queue 'mail' is not valid"),
        (lambda project: project.add.enqueue(object()), "Unsupported type"),
    ],
    ids=["priority", "queue", "argument"],
)
def test_what_cannot_be_honoured_is_refused_where_it_is_written(
    project: ModuleType, stage: World, declare: Callable[[Any], Any], words: str
) -> None:
    with pytest.raises(Exception, match=words):
        declare(project)


def test_threads_share_what_a_backend_knows_and_declare_it_once(project: ModuleType, stage: World) -> None:
    app, together = Sedano("threads"), Barrier(8)

    def made(_: int) -> Runner:
        together.wait(60)
        return runner_of(app, "default", None, SedanoBackend)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(made, range(8)))) == 1

    def found() -> Any:
        return project.add.get_result(project.add.enqueue(1).id).status

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(found).result() == TaskResultStatus.READY


def test_a_message_cannot_name_a_function_that_is_no_task(project: ModuleType, stage: World) -> None:
    result = configured_app().send_task("sedano.django.once.run", ("os.getcwd", [], {}))
    with pytest.raises(RemoteError, match=r"no task 'os\.getcwd' of django\.tasks here"):
        result.get()


def test_signals_are_sent_as_a_task_goes_on(project: ModuleType, stage: World) -> None:
    seen: list[tuple[str, str, str]] = []

    def receiver(word: str) -> Callable[..., None]:
        def receive(sender: type, task_result: Any, **_: Any) -> None:
            seen.append((word, task_result.task.func.__name__, str(task_result.status)))

        return receive

    receivers = {task_enqueued: receiver("in"), task_started: receiver("on"), task_finished: receiver("out")}
    for signal, receive in receivers.items():
        signal.connect(receive)
    project.attempt.enqueue("anna")
    project.fail.enqueue("own")
    stage.drain()
    for signal, receive in receivers.items():
        signal.disconnect(receive)
    of = {called: [(word, status) for word, name, status in seen if name == called] for called in ("fail", "attempt")}
    assert of["fail"] == [("in", "READY"), ("on", "RUNNING"), ("out", "FAILED")]
    assert of["attempt"] == [("in", "READY"), ("on", "RUNNING"), ("on", "RUNNING"), ("out", "SUCCESSFUL")]
