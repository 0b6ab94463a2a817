"""A timer of the deployed stage: a client sets it, Scheduler sends its envelope to the queue, the worker opens it and runs the task."""

import os
import subprocess
import sys

from sedano.local import LocalStage
from sedano.local.synthesis import ROOT
from tests.plugins.resources import CODE
from tests.strict_aws.child import Strict

CLIENT = """
import time
from tiny import add, app
result = add.apply_async((2, 3), countdown=2_000, task_id="timed")
print([(waiting.task_id, list(waiting.args)) for waiting in app.scheduled()])
print(app.outlet.ports.timers.edit("timed", time.time()))
print(result.get(timeout=90), list(app.scheduled()))
"""


def test_a_task_that_waits_for_longer_than_a_queue_holds_it_is_sent_by_scheduler(ministack: LocalStage, strict_child: Strict) -> None:
    path = os.pathsep.join([str(ROOT / "layers" / "sedano" / "python"), str(CODE)])
    environment = strict_child({**os.environ, **ministack.environment, "PYTHONPATH": path})
    done = subprocess.run([sys.executable, "-c", CLIENT], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "[('timed', [2, 3])]\nTrue\n5 []\n", f"{done.stderr}\n{ministack.endpoint.last_lines()}"
