"""Boot steps and services in the worker's function: before its first batch, once an environment, and not at all where none is declared."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping

import pytest

from sedano.errors import BootFailed
from tests.functions import harbour
from tests.functions.conftest import ROOT, Remaining, environment, handler_of

SECONDS = 60.0
APP = {"SEDANO_APP": "tests.functions.harbour:app"}


@pytest.fixture
def deployed(settings: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    """The environment of the functions of the app with boot steps."""
    harbour.lines.clear()
    harbour.broken.clear()
    harbour.running.clear()
    with environment({**settings, **APP}):
        yield settings
    harbour.app.attach(None)


def test_the_worker_boots_once_when_it_starts(deployed: Mapping[str, str]) -> None:
    handle = handler_of("worker")
    assert harbour.lines == ["database", "cache"]
    assert harbour.running.wait(SECONDS)
    for _ in range(2):
        assert handle({"Records": []}, Remaining()) == {"batchItemFailures": []}
    assert harbour.lines == ["database", "cache"]


def test_a_worker_whose_mandatory_step_fails_does_not_start(deployed: Mapping[str, str]) -> None:
    harbour.broken.add("database")
    with pytest.raises(BootFailed, match="boot step database: OSError: the database is away"):
        handler_of("worker")
    harbour.broken.clear()
    handler_of("worker")
    assert harbour.lines == ["database", "cache"]


def test_an_invocation_tries_an_optional_step_again(deployed: Mapping[str, str]) -> None:
    harbour.broken.add("cache")
    handle = handler_of("worker")
    harbour.broken.clear()
    while harbour.lines != ["database", "cache"]:  # the first invocation after the pause of a second
        handle({"Records": []}, Remaining())


@pytest.mark.parametrize("function", ["router", "scheduler", "controller"])
def test_no_other_function_boots(deployed: Mapping[str, str], function: str) -> None:
    handler_of(function)
    assert harbour.lines == []


def test_a_worker_of_an_app_without_steps_loads_nothing_of_them(settings: Mapping[str, str]) -> None:
    code = "import runpy, sys; runpy.run_path(sys.argv[1]); print(*(m for m in sys.modules if 'boot' in m or 'services' in m))"
    command = [sys.executable, "-c", code, str(ROOT / "functions/worker/handler.py")]
    paths = os.pathsep.join(filter(None, sys.path))
    with environment({**settings, "PYTHONPATH": paths}):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert [name for name in done.stdout.split() if name.startswith("sedano")] == ["sedano.api.boot"]
