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
IDLE = {
    "worker": ("engine.router", "engine.history.recorder"),
    "router": ("engine.worker.pipeline", "engine.history.recorder"),
    "recorder": ("engine.worker.pipeline", "engine.router", "app", "engine.publisher.publisher", "task"),
}
"""What a function of a plain app never loads, besides `RARE`."""
RARE = (
    "errors.celery_names", "api.boxes", "engine.boxes", "model.boxes",
    "engine.publisher.process_exit", "engine.publisher.backlog", "engine.publisher.spool", "aws.client.call_deadlines",
    "model.connection_breaker",
    "api.control", "api.elections", "api.leases", "api.partitions", "canvas", "engine.canvas.page_entries",
    "result", "testing", "memory", "sqlite", "views", "local",
    "engine.cluster.control", "engine.elections", "engine.leases", "engine.partitions", "engine.singletons", "engine.history.commits",
    "engine.worker.event_loop",
    "engine.worker.time_limits", "engine.worker.body_coroutines",
    "model.canvas.tree",
    "api.health", "api.task_options", "engine.circuits", "engine.health", "engine.pauses", "model.circuits", "model.budgets",
    "model.health",
    "model.memos", "model.pauses", "model.number_ranges", "aws.memos", "aws.expressions.memos",
    "ports.consumers", "api.inspection", "engine.cluster.explanation", "engine.parked.redrive", "engine.cluster.controller",
    "engine.worker.body_threads", "api.budgets",
    "checks", "api.worker_options", "api.connector",
    "model.cluster.controller", "aws.consumers",
    "model.elections", "model.leases", "model.history.live_state", "model.history.event_order", "model.partitions",
    "model.history.registers", "model.history.manifests",
    "model.store_clock", "model.workflow", "aws.client.store_time", "aws.elections", "aws.fencing.items", "aws.flow_runs",
    "aws.leases",
    "ports.limits", "model.limits.rate", "model.limits.concurrency", "model.collection", "aws.limits", "aws.expressions.limits",
    "api.order", "engine.order", "model.order",
    "api.limits", "api.run_time_limits", "model.limits.task_limits", "engine.limits.limit_gate", "engine.limits.rate",
    "engine.limits.concurrency", "engine.collection",
    "engine.publisher.requeue", "engine.priority", "model.priority",
    "aws.expressions.elections", "aws.expressions.leases",
    "api.schedules", "api.schedule_declaration", "engine.schedules.scheduler", "engine.revocation.timed_tasks", "model.schedules.agenda",
    "model.schedules.cron", "model.schedules.schedule", "model.schedules.schedule_states", "model.schedules.timetable",
    "aws.schedules", "aws.expressions.schedules",
    "ports.seals", "model.seals.seal", "model.seals.key_set", "aws.key_store",
    "webhooks", "ports.webhook_secrets", "engine.sources.webhooks", "model.sources.signature_schemes", "model.sources.webhooks",
    "aws.function_url", "aws.webhook_secrets",
    "streams", "engine.sources.streams", "model.sources.streams",
)  # fmt: skip
"""What only an app that uses it loads: locks, singletons, elections, partitions, the control panel, canvas, results, workflows."""
PROGRAM = """
import runpy, sys
sys.modules.update(dict.fromkeys(sys.argv[2].split(",")))
handler = runpy.run_path(sys.argv[1])["handler"]
print(callable(handler), "asyncio" in sys.modules, *(name for name in sys.modules if name.startswith("sedano.")))
"""
PLAIN = "from sedano import Sedano\n\napp = Sedano('plain')\n\n\n@app.task\ndef add(a: int, b: int) -> int:\n    return a + b\n"
LOCKING = "from plain import app\n\n\n@app.task(singleton=True)\ndef tidy() -> None:\n    return None\n"


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", REQUIRED)
def test_a_missing_variable_is_named_with_where_it_comes_from(settings: Mapping[str, str], function: str, name: str) -> None:
    told = f"{name} is not set; without AWS, start `sedano dev`.* deployed functions have it from their stack"
    with environment({**settings, name: ""}), pytest.raises(ConfigurationError, match=told):
        handler_of(function)


@pytest.mark.parametrize("wrong", ["{", "[]", '{"default": 5}', '{"default": ""}'])
def test_malformed_queues_are_named(settings: Mapping[str, str], wrong: str) -> None:
    with environment({**settings, "SEDANO_QUEUES": wrong}), pytest.raises(ConfigurationError, match="SEDANO_QUEUES"):
        handler_of("worker")


@pytest.mark.parametrize("wrong", ["", "nowhere:app", "tests.functions.corner:nothing", "tests.functions.corner:add"])
def test_an_app_that_cannot_be_loaded_is_named(settings: Mapping[str, str], wrong: str) -> None:
    with environment({**settings, "SEDANO_APP": wrong}), pytest.raises(ConfigurationError, match=f"app '{wrong}' .SEDANO_APP."):
        handler_of("worker")


def start(function: str, settings: Mapping[str, str], app: str, *places: Path) -> list[str]:
    """Return what a fresh process says after loading the handler of *function* for *app*, which may lie in *places*."""
    path = os.pathsep.join(map(str, [ROOT / "layers/sedano/python", ROOT, *places]))
    variables = {**os.environ, **settings, "PYTHONPATH": path, "SEDANO_APP": app}
    command = [sys.executable, "-c", PROGRAM, str(ROOT / "functions" / function / "handler.py"), ",".join(EXTRAS)]
    said = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, cwd=ROOT)
    assert said.returncode == 0, said.stderr
    return said.stdout.split()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_cold_start_needs_no_extras_and_no_event_loop(settings: Mapping[str, str], function: str) -> None:
    assert start(function, settings, APP)[:2] == ["True", "False"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_cold_start_loads_nothing_that_the_app_does_not_use(settings: Mapping[str, str], function: str, tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text(PLAIN)
    loaded = start(function, settings, "plain:app", tmp_path)
    idle = tuple(f"sedano.{name}" for name in (*RARE, *IDLE[function]))
    assert [name for name in loaded if name in idle or name.startswith(tuple(f"{one}." for one in idle))] == []


def test_what_the_app_declares_is_loaded_while_the_worker_starts(settings: Mapping[str, str], tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text(PLAIN)
    (tmp_path / "locking.py").write_text(LOCKING)
    loaded = start("worker", settings, "locking:app", tmp_path)
    assert {"sedano.engine.singletons", "sedano.engine.leases", "sedano.model.leases"} <= set(loaded)


def test_every_module_that_is_named_as_rarely_used_exists() -> None:
    library = ROOT / "layers/sedano/python/sedano"
    named = {*RARE, *(name for names in IDLE.values() for name in names)}
    places = {name: library.joinpath(*name.split(".")) for name in named}
    assert [name for name, place in places.items() if not (place.is_dir() or place.with_suffix(".py").is_file())] == []


@pytest.fixture(scope="module")
def templates(assembly: Path) -> Templates:
    """The stacks that the functions are deployed by."""
    return read(assembly)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_stack_gives_each_function_every_variable_that_it_asks_for(templates: Templates, function: str) -> None:
    given = templates.functions()[function]["Environment"]["Variables"]
    assert {*REQUIRED, "SEDANO_APP"} <= set(given)
