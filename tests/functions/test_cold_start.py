"""A function's first moment: it needs its layer and its variables and nothing else, and says which variable is missing."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from sedano.errors import ConfigurationError
from tests.functions.conftest import APP, ROOT, environment, handler_of
from tests.infra.template import Templates, read

FUNCTIONS = ("worker", "router", "recorder")
REQUIRED = (
    "SEDANO_QUEUES", "SEDANO_EVENTS_QUEUE", "SEDANO_RECORDS_QUEUE", "SEDANO_PARKED_QUEUE", "SEDANO_LEDGER_TABLE", "SEDANO_CONTROL_TABLE",
    "SEDANO_BLOBS_BUCKET", "SEDANO_HISTORY_BUCKET",
)  # fmt: skip
EXTRAS = ("pyspark", "aws_cdk", "cdk_nag", "boto3", "moto", "celery", "click", "hypothesis", "pytest")
PROGRAM = """
import runpy, sys
sys.modules.update(dict.fromkeys(sys.argv[2].split(",")))
handler = runpy.run_path(sys.argv[1])["handler"]
print(callable(handler), "asyncio" in sys.modules)
"""


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", REQUIRED)
def test_a_missing_variable_is_named_with_where_it_comes_from(settings: Mapping[str, str], function: str, name: str) -> None:
    with environment({**settings, name: ""}), pytest.raises(ConfigurationError, match=f"{name} is not set; the deployed functions"):
        handler_of(function)


@pytest.mark.parametrize("wrong", ["{", "[]", '{"default": 5}', '{"default": ""}'])
def test_malformed_queues_are_named(settings: Mapping[str, str], wrong: str) -> None:
    with environment({**settings, "SEDANO_QUEUES": wrong}), pytest.raises(ConfigurationError, match="SEDANO_QUEUES"):
        handler_of("worker")


@pytest.mark.parametrize("wrong", ["", "nowhere:app", "tests.functions.corner:nothing", "tests.functions.corner:add"])
def test_an_app_that_cannot_be_loaded_is_named(settings: Mapping[str, str], wrong: str) -> None:
    with environment({**settings, "SEDANO_APP": wrong}), pytest.raises(ConfigurationError, match=f"SEDANO_APP='{wrong}'"):
        handler_of("worker")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_cold_start_needs_no_extras_and_no_event_loop(settings: Mapping[str, str], function: str) -> None:
    path = os.pathsep.join([str(ROOT / "layers/sedano/python"), str(ROOT)])
    variables = {**os.environ, **settings, "PYTHONPATH": path, "SEDANO_APP": APP}
    command = [sys.executable, "-c", PROGRAM, str(ROOT / "functions" / function / "handler.py"), ",".join(EXTRAS)]
    said = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, cwd=ROOT)
    assert said.stdout.split() == ["True", "False"], said.stderr


@pytest.fixture(scope="module")
def templates(assembly: Path) -> Templates:
    """The stacks that the functions are deployed by."""
    return read(assembly)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_stack_gives_each_function_every_variable_that_it_asks_for(templates: Templates, function: str) -> None:
    given = templates.functions()[function]["Environment"]["Variables"]
    assert {*REQUIRED, "SEDANO_APP"} <= set(given)
