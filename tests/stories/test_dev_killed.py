"""A killed supervisor of `sedano dev` loses nothing, and a file that it left is recognised; `--fresh` keeps the earlier state."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sedano.api import dev_server
from sedano.errors import ConfigurationError
from tests.ended import until_ended
from tests.stories.dev_project import SECONDS, DevProject, until


@pytest.fixture
def project(tmp_path: Path) -> Iterator[DevProject]:
    """A project on which nothing runs yet, and nothing afterwards."""
    made = DevProject(tmp_path)
    yield made
    made.close()


def test_the_next_one_runs_what_a_killed_supervisor_left(project: DevProject) -> None:
    first = project.start()
    app, go = project.beside(), project.folder / "go"
    running, waiting = app.send_task("slow", (str(go),)), [app.send_task("version") for _ in range(12)]
    worker = project.worker()
    assert project.end(signal.SIGKILL) == -signal.SIGKILL
    until(lambda: not dev_server.is_running(project.folder / ".sedano"))
    with pytest.raises(ConfigurationError, match=f"dev.json is stale: the `sedano dev` of process {first['pid']} has ended; start"):
        project.beside()
    project.save(2)
    assert first["webhooks"].keys() == {"till"}
    assert project.start()["webhooks"] == first["webhooks"], "the worker that is left does not hold the port"
    go.touch()
    assert running.get(timeout=SECONDS) in (1, 2)
    assert {result.get(timeout=SECONDS) for result in waiting} <= {1, 2}
    until(lambda: not Path(f"/proc/{worker}").exists() or Path(f"/proc/{worker}/stat").read_text().split()[2] == "Z")
    assert project.end() == 0


def test_a_task_that_runs_ends_before_the_process_does_and_state_is_kept_until_fresh(project: DevProject) -> None:
    project.start()
    app, go = project.beside(), project.folder / "go"
    running = app.send_task("slow", (str(go),))
    project.said("slow begins")
    assert project.process is not None
    project.process.send_signal(signal.SIGINT)
    project.said("stopping: the running task ends first")
    go.touch()
    until_ended(project.process.pid)
    assert project.process.wait() == 128 + signal.SIGINT
    assert not (project.folder / ".sedano" / "dev.json").exists()
    project.start()
    assert project.beside().result(running.id).get(timeout=SECONDS) == 1
    assert project.end() == 0
    project.start("--fresh")
    assert project.said("the earlier state is kept as dev.db.1")
    assert project.beside().result(running.id).state == "PENDING"
    assert project.end() == 0
    assert (project.folder / ".sedano" / "dev.db.1").exists()


def test_a_batch_beyond_the_timeout_is_ended_as_on_aws(project: DevProject) -> None:
    project.start("--timeout", "2")
    app, go = project.beside(), project.folder / "go"
    running = app.send_task("slow", (str(go),))
    project.said(r"a batch of tasks ran longer than 2 s \(timeout\); its worker was ended, as on AWS")
    go.touch()
    assert running.get(timeout=SECONDS) == 1
    assert project.end() == 0
