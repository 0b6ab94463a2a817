"""What a cold start loads, and what it does not: counts, because times are the machine's."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.cold import APP, ROOT
from benchmarks.publishing import deployed

LOOK = "import gc, json, sys, handler; print(json.dumps([gc.isenabled(), gc.get_freeze_count(), sorted(sys.modules)]))"
NEVER = ("asyncio", "boto3", "s3transfer", "multiprocessing", "aws_xray_sdk", "sedano.memory", "sedano.testing")


@pytest.fixture(scope="module", params=["worker", "router", "recorder"])
def loaded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[bool, int, list[str]]:
    """What a fresh process holds after a function's handler was loaded, with an app of one plain task."""
    code = tmp_path_factory.mktemp("code")
    (code / "coldapp.py").write_text(APP)
    path = os.pathsep.join(map(str, (code, Path(ROOT, "functions", request.param), ROOT)))
    environment = {**deployed("http://127.0.0.1:9"), "PYTHONPATH": path, "SEDANO_APP": "coldapp:app"}
    done = subprocess.run([sys.executable, "-c", LOOK], env=environment, capture_output=True, text=True, check=True)
    enabled, frozen, modules = json.loads(done.stdout.splitlines()[-1])
    return enabled, frozen, modules


def test_a_function_loads_nothing_that_it_does_not_need(loaded: tuple[bool, int, list[str]]) -> None:
    assert [name for name in NEVER if name in loaded[2]] == []


def test_the_collector_works_and_leaves_alone_what_was_loaded(loaded: tuple[bool, int, list[str]]) -> None:
    enabled, frozen, _ = loaded
    assert enabled
    assert frozen > 10_000
