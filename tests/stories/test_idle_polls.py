"""An idle worker asks each queue once a poll, which is longer than the read timeout of other calls; a late answer goes back."""

import json
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from benchmarks.publishing import deployed, endpoint
from sedano.aws.client.session import READ_TIMEOUT_S
from sedano.model.prefetch import GIVE_BACK_S
from tests.stories.worked_project import WorkedProject

DRAIN_S = READ_TIMEOUT_S + GIVE_BACK_S + 1.0
QUEUE = "{url}/000000000000/bench"


def asked(url: str, path: str, body: Any = None) -> dict[str, Any]:
    """What the endpoint answers to a request of this test."""
    connection = HTTPConnection(url.removeprefix("http://"), timeout=60)
    connection.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body))
    found: dict[str, Any] = json.load(connection.getresponse())
    connection.close()
    return found


def test_an_idle_worker_asks_once_and_gives_back_what_comes_after_the_signal(tmp_path: Path) -> None:
    project = WorkedProject(tmp_path)
    with endpoint("--keep") as url:
        stage = {name: value for name, value in deployed(url).items() if name.startswith(("AWS_", "SEDANO_"))}
        run = project.on_aws("work_tasks:app", "-Q", "default", "-c", "4", "--drain", str(DRAIN_S), **stage).ready()
        began = time.monotonic()
        asked(url, "/until/ReceiveMessage/1")
        run.send()
        run.said("the worker stops")
        assert run.process.poll() is None, "SQS hides what it hands to a request whose caller has gone"
        while time.monotonic() < began + READ_TIMEOUT_S + 0.3:  # another call would have given up by now
            time.sleep(0.1)
        asked(url, "/fill", {"url": QUEUE.format(url=url), "bodies": ["late"]})
        filled = time.monotonic()
        counts = asked(url, "/until/given%20back/1")
        assert time.monotonic() - filled < 2.0
        assert run.ended() == 0
        assert counts["ReceiveMessage"] == 1, "one request in all that time"
        assert not [line for line in run.log if line.get("level") in ("ERROR", "WARNING") and "queue" in str(line.get("message"))]
    project.close()
