"""Periodic tasks of the deployed stage: by the minute the scheduler function begins what code declares, and ends what others began."""

import os
import subprocess
import sys

from sedano.local import LocalStage
from sedano.local.synthesis import ROOT
from tests.plugins.resources import CODE
from tests.strict_aws.child import Strict

CLIENT = """
import time, uuid
from tiny import app
from sedano import every
from sedano.model.schedules.agenda import Periodic, ScheduledCall, agenda_of, with_periodic
from sedano.model.schedules.schedule import Schedule, State, occurrence

store, now = app.outlet.ports.schedules, int(time.time())
died = Periodic(Schedule("died", every(days=1)), ScheduledCall("tiny.add", "default", '{"args":[2,3],"kwargs":{}}'), State(now, (now,)))
seen = store.read()[agenda_of("died")]
print(store.change(with_periodic(seen, "died", died)._replace(nonce=uuid.uuid4().hex), seen).done)
print(app.result(occurrence(died.schedule, now).task_id).get(timeout=150))
print([(one.name, one.task, one.declared) for one in app.schedules.list()])
"""


def test_a_moment_that_a_client_wrote_down_and_died_over_is_published_by_the_next_minute(
    ministack: LocalStage, strict_child: Strict
) -> None:
    path = os.pathsep.join([str(ROOT / "layers" / "sedano" / "python"), str(CODE)])
    environment = strict_child({**os.environ, **ministack.environment, "PYTHONPATH": path})
    done = subprocess.run([sys.executable, "-c", CLIENT], env=environment, capture_output=True, text=True, check=False)
    told = "True\n5\n[('daily', 'tiny.add', True), ('died', 'tiny.add', False)]\n"
    assert done.stdout == told, f"{done.stderr}\n{ministack.endpoint.last_lines()}"
