"""`sedano dev --once` works off what is due and ends; its exit status says whether a task failed. Real processes."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sedano import Sedano, chain
from sedano.cli.exits import Exit
from sedano.dev import supervisor
from sedano.host import one_file
from tests.stories.dev_project import CODE, SECONDS, DevProject


@pytest.fixture
def project(tmp_path: Path) -> Iterator[DevProject]:
    """A project whose database exists, and on which nothing runs afterwards."""
    made = DevProject(tmp_path)
    assert once(made) == (0, {"ended": 0, "failed": 0, "parked": 0, "later": 0, "done": True})
    yield made
    made.close()


def once(project: DevProject) -> tuple[int, dict[str, Any]]:
    """Run it; return its exit status and its counts."""
    counts = project.start("--once")
    assert project.process is not None
    return project.process.wait(SECONDS), counts


def shop(project: DevProject) -> Sedano:
    """An app over the project's database while nothing runs."""
    app = Sedano("shop")
    app.task(name="version")(lambda: 0)
    app.task(name="noisy")(lambda text: text)
    app.attach(one_file.ports(project.folder / ".sedano" / "dev.db"))
    return app


def test_what_is_due_and_what_follows_it_is_done_and_what_is_not_due_stays(project: DevProject) -> None:
    app = shop(project)
    version, noisy = (app.signature(name, given, immutable=True) for name, given in (("version", ()), ("noisy", ("tea",))))
    first, later = chain(version, noisy, noisy).delay(), app.send_task("version", countdown=3_600)
    assert once(project) == (0, {"ended": 3, "failed": 0, "parked": 0, "later": 1, "done": True})
    assert first.get(timeout=0) == "tea"
    assert later.state == "PENDING"
    project.said("nothing is due any more: 3 tasks ended, 0 of them failed, 1 wait for a later moment$")
    assert not (project.folder / ".sedano" / "dev.json").exists()


def test_the_exit_status_says_that_a_task_failed_and_not_how_many_times_it_was_tried(project: DevProject) -> None:
    app = shop(project)
    app.send_task("fails")
    assert once(project) == (Exit.PROBLEMS, {"ended": 1, "failed": 1, "parked": 0, "later": 0, "done": True})
    app.send_task("version")
    assert once(project)[0] == 0, "the first run reported the failure; the second run had none"
    app.send_task("tried")
    status, counts = once(project)
    assert (status, counts["failed"]) in ((0, 0), (Exit.PROBLEMS, 1)), "its retry is due at the end, or later"
    assert counts["failed"] + counts["later"] == 1


def test_a_parked_message_is_a_failure(project: DevProject) -> None:
    app = Sedano("shop")  # it does not know the task's arguments
    app.attach(shop(project).outlet.ports)
    app.send_task("noisy", kwargs={"wrong": 1})
    status, counts = once(project)
    assert (status, counts["parked"]) == (Exit.PROBLEMS, 1)


def test_an_app_that_does_not_load_ends_with_another_status_and_keeps_its_messages(project: DevProject) -> None:
    result = shop(project).send_task("version")
    project.save(2, CODE + "\nbroken(\n")
    project.begin("--once")
    assert project.process is not None
    assert project.process.wait(SECONDS) == Exit.FAILED == supervisor.FAILED
    assert supervisor.TASK_FAILED == Exit.PROBLEMS != Exit.FAILED
    assert project.said("shop_tasks:app does not load; messages wait until it does: SyntaxError")
    project.save(3)
    assert once(project)[0] == 0
    assert result.get(timeout=0) == 3


def test_it_waits_for_the_tasks_of_a_worker_that_was_killed(project: DevProject) -> None:
    go = project.folder / "go"
    result = shop(project).send_task("slow", (str(go),))
    project.begin("--once")
    os.kill(project.worker(), signal.SIGKILL)
    project.said("the worker ended: signal 9; a new one starts")
    go.touch()
    assert project.process is not None
    assert project.report() == {"ended": 1, "failed": 0, "parked": 0, "later": 0, "done": True}
    assert project.process.wait(SECONDS) == 0
    assert result.get(timeout=0) == 1


def test_a_stream_is_refused_in_words_that_say_what_to_do(project: DevProject) -> None:
    project.save(2, CODE + "\n\n@app.stream('orders')\n@app.task(name='ordered')\ndef ordered(change) -> None:\n    pass\n")
    assert once(project)[0] == 0
    assert project.said("stream orders: not read here, its table or shards are on AWS; call its task with a record, or use `change`")
