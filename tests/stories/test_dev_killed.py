"""A killed supervisor of `sedano dev` loses nothing, and a file that it left is recognised; `--fresh` keeps the earlier state."""

import signal
from pathlib import Path

import pytest

from sedano.api import dev_server
from sedano.errors import ConfigurationError
from tests.ended import until_ended
from tests.stories.dev_project import SECONDS, DevProject
from tests.waiting import until


def test_the_next_one_runs_what_a_killed_supervisor_left(dev: DevProject) -> None:
    first = dev.start()
    app, go = dev.beside(), dev.folder / "go"
    running, waiting = app.send_task("slow", (str(go),)), [app.send_task("version") for _ in range(12)]
    worker = dev.worker()
    assert dev.end(signal.SIGKILL) == -signal.SIGKILL
    until(lambda: not dev_server.is_running(dev.folder / ".sedano"))
    with pytest.raises(ConfigurationError, match=f"dev.json is stale: the `sedano dev` of process {first['pid']} has ended; start"):
        dev.beside()
    dev.save(2)
    assert first["webhooks"].keys() == {"till"}
    assert dev.start()["webhooks"] == first["webhooks"], "the worker that is left does not hold the port"
    go.touch()
    assert running.get(timeout=SECONDS) in (1, 2)
    assert {result.get(timeout=SECONDS) for result in waiting} <= {1, 2}
    until(lambda: not Path(f"/proc/{worker}").exists() or Path(f"/proc/{worker}/stat").read_text().split()[2] == "Z")
    assert dev.end() == 0


def test_a_task_that_runs_ends_before_the_process_does_and_state_is_kept_until_fresh(dev: DevProject) -> None:
    dev.start()
    app, go = dev.beside(), dev.folder / "go"
    running = app.send_task("slow", (str(go),))
    dev.said("slow begins")
    assert dev.process is not None
    dev.process.send_signal(signal.SIGINT)
    dev.said("stopping: the running task ends first")
    go.touch()
    until_ended(dev.process.pid)
    assert dev.process.wait() == 128 + signal.SIGINT
    assert not (dev.folder / ".sedano" / "dev.json").exists()
    dev.start()
    assert dev.beside().result(running.id).get(timeout=SECONDS) == 1
    assert dev.end() == 0
    dev.start("--fresh")
    assert dev.said("the earlier state is kept as dev.db.1")
    assert dev.beside().result(running.id).state == "PENDING"
    assert dev.end() == 0
    assert (dev.folder / ".sedano" / "dev.db.1").exists()


def test_a_batch_beyond_the_timeout_is_ended_as_on_aws(dev: DevProject) -> None:
    dev.start("--timeout", "2")
    app, go = dev.beside(), dev.folder / "go"
    running = app.send_task("slow", (str(go),))
    dev.said(r"a batch of tasks ran longer than 2 s \(timeout\); its worker was ended, as on AWS")
    go.touch()
    assert running.get(timeout=SECONDS) == 1
    assert dev.end() == 0
