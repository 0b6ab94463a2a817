"""`sedano dev --once` works off what is due and ends; its exit status says whether a task failed. Real processes."""

import os
import signal
from typing import Any

import pytest

from sedano import Sedano, chain
from sedano.cli.exits import Exit
from sedano.dev import supervisor
from sedano.host import one_file
from tests.stories.dev_project import CODE, SECONDS, DevProject


def once(dev: DevProject) -> tuple[int, dict[str, Any]]:
    """Run it; return its exit status and its counts."""
    counts = dev.start("--once")
    assert dev.process is not None
    return dev.process.wait(SECONDS), counts


@pytest.fixture
def dev(dev: DevProject) -> DevProject:
    """A project whose database exists."""
    assert once(dev) == (0, {"ended": 0, "failed": 0, "parked": 0, "later": 0, "done": True})
    return dev


def shop(dev: DevProject) -> Sedano:
    """An app over the project's database while nothing runs."""
    app = Sedano("shop")
    app.task(name="version")(lambda: 0)
    app.task(name="noisy")(lambda text: text)
    app.attach(one_file.ports(dev.folder / ".sedano" / "dev.db"))
    return app


def test_what_is_due_and_what_follows_it_is_done_and_what_is_not_due_stays(dev: DevProject) -> None:
    app = shop(dev)
    version, noisy = (app.signature(name, given, immutable=True) for name, given in (("version", ()), ("noisy", ("tea",))))
    first, later = chain(version, noisy, noisy).delay(), app.send_task("version", countdown=3_600)
    assert once(dev) == (0, {"ended": 3, "failed": 0, "parked": 0, "later": 1, "done": True})
    assert first.get(timeout=0) == "tea"
    assert later.state == "PENDING"
    dev.said("nothing is due any more: 3 tasks ended, 0 of them failed, 1 message waits for a later moment$")
    assert not (dev.folder / ".sedano" / "dev.json").exists()


def test_the_exit_status_says_that_a_task_failed_and_not_how_many_times_it_was_tried(dev: DevProject) -> None:
    app = shop(dev)
    app.send_task("fails")
    assert once(dev) == (Exit.PROBLEMS, {"ended": 1, "failed": 1, "parked": 0, "later": 0, "done": True})
    app.send_task("version")
    assert once(dev)[0] == 0, "the first run reported the failure; the second run had none"
    app.send_task("tried")
    status, counts = once(dev)
    assert (status, counts["failed"]) in ((0, 0), (Exit.PROBLEMS, 1)), "its retry is due at the end, or later"
    assert counts["failed"] + counts["later"] == 1


def test_a_parked_message_is_a_failure(dev: DevProject) -> None:
    app = Sedano("shop")  # it does not know the task's arguments
    app.attach(shop(dev).outlet.ports)
    app.send_task("noisy", kwargs={"wrong": 1})
    status, counts = once(dev)
    assert (status, counts["parked"]) == (Exit.PROBLEMS, 1)


def test_an_app_that_does_not_load_ends_with_another_status_and_keeps_its_messages(dev: DevProject) -> None:
    result = shop(dev).send_task("version")
    dev.save(2, CODE + "\nbroken(\n")
    dev.begin("--once")
    assert dev.process is not None
    assert dev.process.wait(SECONDS) == Exit.FAILED == supervisor.FAILED
    assert supervisor.TASK_FAILED == Exit.PROBLEMS != Exit.FAILED
    assert dev.said("shop_tasks:app does not load; messages wait until it does: SyntaxError")
    dev.save(3)
    assert once(dev)[0] == 0
    assert result.get(timeout=0) == 3


def test_it_waits_for_the_tasks_of_a_worker_that_was_killed(dev: DevProject) -> None:
    go = dev.folder / "go"
    result = shop(dev).send_task("slow", (str(go),))
    dev.begin("--once")
    os.kill(dev.worker(), signal.SIGKILL)
    dev.said("the worker ended: signal 9; a new one starts")
    go.touch()
    assert dev.process is not None
    assert dev.report() == {"ended": 1, "failed": 0, "parked": 0, "later": 0, "done": True}
    assert dev.process.wait(SECONDS) == 0
    assert result.get(timeout=0) == 1


def test_a_stream_is_refused_in_words_that_say_what_to_do(dev: DevProject) -> None:
    dev.save(2, CODE + "\n\n@app.stream('orders')\n@app.task(name='ordered')\ndef ordered(change) -> None:\n    pass\n")
    assert once(dev)[0] == 0
    assert dev.said("stream orders: not read here, its table, shards or queue are on AWS; call its task")
