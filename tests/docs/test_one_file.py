"""The page about one SQLite file runs as it stands, and a worker finds what it published."""

import os
from pathlib import Path
from typing import Any

import pytest

from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.errors import ConfigurationError
from sedano.host import one_file
from sedano.model.history.run_rows import Host
from sedano.ports import RECORDS, command_queue
from tests.docs.pages import page

PAGE = page("one_file.md")
COMMANDS = command_queue("default")


def test_the_page_runs_and_its_task_is_in_the_file(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    os.environ[one_file.FILE] = str(tmp_path / "own" / "dev.db")
    try:
        for block in PAGE.blocks:
            PAGE.run(block, names)
    finally:
        del os.environ[one_file.FILE]
    app, ports = names["app"], one_file.ports(tmp_path / "own" / "dev.db")
    worker = Worker(app.registry, ports, Host("worker", 1), WorkerSettings(lanes=0), app.run_loop())
    deliveries = ports.queues.receive(COMMANDS)
    assert worker.work(deliveries, ports.clock.now() + 30) == []
    assert names["result"].get(timeout=5) == 5
    assert ports.queues.receive(RECORDS), "the worker told what it did"
    app.close()


def test_without_a_file_the_error_names_the_setting() -> None:
    assert one_file.FILE not in os.environ
    with pytest.raises(ConfigurationError, match="SEDANO_FILE is not set; name the SQLite file"):
        one_file.connect()


def test_queues_are_named_with_commas(tmp_path: Path) -> None:
    os.environ |= {one_file.FILE: str(tmp_path / "own" / "dev.db"), one_file.QUEUES: "default, bulk"}
    try:
        ports = one_file.connect()
    finally:
        del os.environ[one_file.FILE], os.environ[one_file.QUEUES]
    assert ports.queues.receive(command_queue("bulk")) == []
