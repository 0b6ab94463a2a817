"""The page about histories runs as it stands."""

import json
import os
import re
import shlex
import threading
from pathlib import Path
from typing import Any

import pytest
from celery import Celery

from glue_jobs import history as job
from glue_jobs.pipeline.history import SCHEMAS
from sedano import Sedano, testing
from tests.pipeline.streams import delivered, lives, written
from tests.unit.test_spark_task import Cluster

PAGE = (Path(__file__).parents[2] / "docs" / "history.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^python -m sedano history (.*)$", PAGE, re.MULTILINE)
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def here(tmp_path):
    """The page's folder: a few lives of tasks in `events`."""
    written(tmp_path / "events", delivered(1, lives(1, 60)), files=2)
    before = Path.cwd()
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(before)


def test_the_commands_and_the_commit_of_the_page_run(here, capsys):
    for command in COMMANDS:
        assert job.main(shlex.split(command)) == 0, command
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert sum(row["tasks"] for row in rows if "state" in row) == 60
    assert "<!doctype html>" in (here / "report.html").read_text(encoding="utf-8")
    exec(compile(BLOCKS[1], "docs/history.md", "exec"), {})  # noqa: S102 - the page is ours


def test_the_recorder_for_celery_writes_what_the_job_reads(tmp_path):
    names: dict[str, Any] = {"json": json}
    exec(compile(BLOCKS[0], "docs/history.md", "exec"), names)  # noqa: S102 - the page is ours
    app = Celery("page", broker="memory://")
    path = tmp_path / "events.jsonl"
    recorder = threading.Thread(target=names["record"], args=(app, path, 1), daemon=True)
    recorder.start()
    with app.connection_for_write() as connection, app.events.Dispatcher(connection) as dispatcher:
        while recorder.is_alive():  # an event that is sent before anybody listens is nobody's
            dispatcher.send("task-sent", uuid="u", name="add")
            recorder.join(0.05)
    line = json.loads(path.read_text().splitlines()[0])
    assert {"type", "timestamp", "hostname", "pid", "clock", "uuid"} <= line.keys()


def test_a_spark_job_stands_in_a_canvas_as_the_page_shows():
    app = Sedano("page")
    names: dict[str, Any] = {"app": app, "runs": Cluster("SUCCEEDED"), "tell": app.task(name="tell")(lambda told: told["run"])}
    with testing.world(app) as world:
        exec(compile(BLOCKS[2], "docs/history.md", "exec"), names)  # noqa: S102 - the page is ours
        world.drain()
        assert names["done"].get() == "run-0"


def test_the_page_lists_every_table():
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == list(SCHEMAS)
