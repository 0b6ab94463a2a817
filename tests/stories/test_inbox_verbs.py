"""Verbs of the inbox with arguments: those that no version takes, the log level for a time, and claims that expired."""

import json
import logging

import pytest

from sedano.model.cluster.inbox import InboxCommand
from tests.stories.test_inbox import Floor


@pytest.fixture
def floor() -> Floor:
    """A floor of its own."""
    return Floor()


def test_an_argument_that_only_a_newer_version_takes_is_not_obeyed(floor: Floor) -> None:
    called, times = list[str](), floor.asking()[3:]
    floor.processes.worker.commands.host["concurrency"] = called.append
    floor.put(*(floor.sealed(InboxCommand(one, "concurrency", one, *times)) for one in ("0", "1001", "many", "7")))
    floor.look()
    assert [floor.control.answers(one).get("worker.2") for one in ("0", "1001", "many", "7")] == ["unsupported"] * 3 + ["done"]
    assert called == ["7"]


def test_the_log_level_is_changed_for_a_time_and_set_back(floor: Floor) -> None:
    root, own, silent = logging.getLogger(), logging.getLogger("sedano-story"), logging.getLogger("sedano-story.below")
    before, _ = root.level, own.setLevel(logging.WARNING)
    try:
        floor.control.broadcast("log", "error 30")
        more = floor.control.broadcast("log", "debug 60")
        floor.look()
        assert floor.control.answers(more) == {"worker.2": "debug for 60 s"}
        assert (root.level, own.level, silent.level) == (logging.DEBUG, logging.DEBUG, logging.NOTSET), "the last command counts"
        floor.stage.pass_time(59.0)
        floor.look()
        assert root.level == logging.DEBUG
        floor.stage.pass_time(1.0)
        floor.look()
        assert (root.level, own.level) == (before, logging.WARNING), "as it was before the first of them"
        assert floor.stage.telemetry.messages().count("inbox: the log level is as before") == 1
    finally:
        root.setLevel(before)
        own.setLevel(logging.NOTSET)


def test_a_worker_names_the_tasks_that_run_although_their_claims_expired(floor: Floor) -> None:
    asked = floor.control.broadcast("expired")
    floor.look()
    assert json.loads(floor.control.answers(asked)["worker.2"]) == {"running": 0, "expired": []}
    seen = list[list[str]]()

    def slow() -> None:
        seen.append([*floor.processes.worker.commands.expired()])
        floor.stage.pass_time(7_200.0)
        seen.append([*floor.processes.worker.commands.expired()])

    floor.shop.task("slow", slow)
    late = floor.shop.app.send_task("slow")
    floor.processes.drain()
    assert seen == [[], [late.id]]
