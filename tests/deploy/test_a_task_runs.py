"""A command that a client sends comes back as a result, through the deployed queue, function and table."""

import os
import subprocess
import sys

from sedano.local import LocalStage
from sedano.local.synthesis import ROOT
from tests.plugins.resources import CODE
from tests.strict_aws.child import Strict

CLIENT = """
from tiny import add
results = [add.delay(number, 3) for number in range(2, 6)]
print([result.get(timeout=60) for result in results])
"""


def test_a_task_that_a_client_sends_runs_in_a_function_and_its_result_comes_back(ministack: LocalStage, strict_child: Strict) -> None:
    path = os.pathsep.join([str(ROOT / "layers" / "sedano" / "python"), str(CODE)])
    environment = strict_child({**os.environ, **ministack.environment, "PYTHONPATH": path})
    done = subprocess.run([sys.executable, "-c", CLIENT], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "[5, 6, 7, 8]\n", f"{done.stderr}\n{ministack.endpoint.last_lines()}"
