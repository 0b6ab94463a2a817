"""The choice of adapters by name: built-in ones, those of installed packages, and the refusals of all others."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sedano import Sedano
from sedano.aws.deployment import ports_of
from sedano.aws.program_log import ProgramLog
from sedano.aws.settings import from_environment
from sedano.aws.telemetry_choice import TelemetryCounts, TelemetryLines, program_telemetry
from sedano.errors import ConfigurationError
from sedano.host.worker_command import WorkerOptions, deployment
from sedano.host.worker_telemetry import worker_telemetry
from sedano.memory import MemoryTelemetry
from sedano.model.telemetry.adapter_names import TelemetryNames
from sedano.model.telemetry.log_entries import LogEntry
from sedano.telemetry.adapters import OwnAdapters, outputs
from sedano.telemetry.composed import ComposedTelemetry, Outputs
from sedano.telemetry.journal import JournalLogs
from sedano.telemetry.otlp import OtlpTraces
from sedano.telemetry.python_logging import LoggingLogs
from sedano.telemetry.statsd import StatsdMetrics
from sedano.telemetry.streams import NoLogs, NoMetrics, StreamLogs, StreamTraces
from tests.functions.conftest import environment

NONE = OwnAdapters({}, {})
STAGE = {
    "SEDANO_EVENTS_QUEUE": "https://sqs/1/events", "SEDANO_RECORDS_QUEUE": "https://sqs/1/records", "SEDANO_PARKED_QUEUE": "https://sqs/1/p",
    "SEDANO_QUEUES": '{"s-": ["default"]}', "SEDANO_LEDGER_TABLE": "l", "SEDANO_CONTROL_TABLE": "c", "SEDANO_BLOBS_BUCKET": "b",
    "SEDANO_HISTORY_BUCKET": "h",
}  # fmt: skip
PACKAGE = """
lines = []

class Loki:
    def __init__(self, request):
        self.request = request
    def write(self, entry):
        lines.append((self.request.service, self.request.name.address, entry.message))

class Half:
    def __init__(self, request):
        pass
    def add(self, metric, value, dimensions):
        pass
"""
ENTRIES = """
[sedano.logs]
loki = loki_for_sedano:Loki
lost = loki_for_sedano:Lost
needs = loki_for_sedano.missing:Loki

[sedano.metrics]
half = loki_for_sedano:Half
"""


@pytest.fixture
def keys() -> Iterator[None]:
    """Credentials that no call uses."""
    with environment({"AWS_DEFAULT_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key"}):
        yield


def named(logs: str = "none", metrics: str = "none") -> Outputs:
    """The outputs of these names."""
    return outputs(TelemetryNames(logs, metrics, "none"), "sedano-worker", {}, NONE)


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[None]:
    """A package with adapters."""
    (tmp_path / "loki_for_sedano.py").write_text(PACKAGE)
    about = tmp_path / "loki_for_sedano-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: loki-for-sedano\nVersion: 1\n")
    (about / "entry_points.txt").write_text(ENTRIES)
    sys.path.insert(0, str(tmp_path))
    importlib.invalidate_caches()
    yield
    sys.path.remove(str(tmp_path))
    sys.modules.pop("loki_for_sedano", None)


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("json", StreamLogs), ("console", StreamLogs), ("journald", JournalLogs), ("journald:///run/other", JournalLogs),
        ("logging", LoggingLogs), ("none", NoLogs),
    ],
)  # fmt: skip
def test_the_built_in_logs(word: str, kind: type) -> None:
    assert type(named(logs=word).logs) is kind


@pytest.mark.parametrize(("word", "kind"), [("statsd://127.0.0.1:8125", StatsdMetrics), ("none", NoMetrics)])
def test_the_built_in_metrics(word: str, kind: type) -> None:
    assert type(named(metrics=word).metrics) is kind


@pytest.mark.parametrize(("word", "kind"), [("otlp", OtlpTraces), ("otlp://c:1", OtlpTraces), ("json", StreamTraces), ("none", type(None))])
def test_the_built_in_traces(word: str, kind: type) -> None:
    assert type(outputs(TelemetryNames("none", "none", word), "sedano-worker", {}, NONE).traces) is kind


def test_a_function_sends_its_spans_at_a_flush_and_a_worker_from_a_thread() -> None:
    for given, background in (({"AWS_LAMBDA_FUNCTION_NAME": "f"}, False), ({}, True)):
        traces = outputs(TelemetryNames("none", "none", "otlp"), "sedano-worker", given, NONE).traces
        assert isinstance(traces, OtlpTraces)
        assert traces._background is background


@pytest.mark.parametrize("word", ["zipkin", "statsd://h:1"])
def test_traces_that_are_not_known_are_refused(word: str) -> None:
    words = "SEDANO_TRACES: '.*' is not a known adapter; write one of json, none, otlp, or install .* in the group sedano.traces"
    with pytest.raises(ConfigurationError, match=words):
        outputs(TelemetryNames("none", "none", word), "sedano-worker", {}, NONE)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("jsno", "none"), "SEDANO_LOGS: 'jsno' is not a known adapter; write one of console, journald, json, logging, none, or install"),
        (("emf", "none"), "SEDANO_LOGS: 'emf' is not a known adapter"),
        (("none", "json"), "SEDANO_METRICS: 'json' is not a known adapter; write one of none, statsd, or install a package with an entry"),
        (("none", "statsd"), "SEDANO_METRICS: '' is not host:port; write statsd://127.0.0.1:8125"),
        (("json://here", "none"), "SEDANO_LOGS: json has no address; write json"),
        (("none", "none://x"), "SEDANO_METRICS: none has no address; write none"),
    ],
)
def test_a_name_that_is_not_known_is_refused_with_what_to_write(names: tuple[str, str], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        named(*names)


def test_a_function_has_no_journal() -> None:
    with pytest.raises(ConfigurationError, match="SEDANO_LOGS: a Lambda function has no journal; write powertools or json"):
        outputs(TelemetryNames("journald", "none", "none"), "sedano-worker", {"AWS_LAMBDA_FUNCTION_NAME": "f"}, NONE)


@pytest.mark.usefixtures("installed")
def test_an_installed_package_brings_an_adapter() -> None:
    logs = named(logs="loki://10.0.0.1").logs
    logs.write(LogEntry(1.0, "info", "hello", {}))
    assert sys.modules["loki_for_sedano"].lines == [("sedano-worker", "10.0.0.1", "hello")]


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("lost", "none"), r"the adapter 'lost' \(loki_for_sedano:Lost\) cannot be loaded: .*; install the package that it needs"),
        (("needs", "none"), "cannot be loaded: No module named 'loki_for_sedano.missing'; .*; install the package that it needs"),
        (("none", "half"), "SEDANO_METRICS: loki_for_sedano:Half returned Half, which has no flush()"),
    ],
)
def test_an_adapter_that_cannot_be_used_is_refused_at_the_start(names: tuple[str, str], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        named(*names)


def test_a_program_logs_through_pythons_logging_unless_the_environment_names_adapters() -> None:
    assert type(program_telemetry({}, {})) is ProgramLog
    found = program_telemetry({"SEDANO_METRICS": "statsd://127.0.0.1:8125"}, {"sqs.SendMessage": 1})
    assert isinstance(found, ComposedTelemetry)
    assert tuple(map(type, found._outputs))[:2] == (LoggingLogs, StatsdMetrics)
    assert found.calls() == {"sqs.SendMessage": 1}


def test_a_function_that_names_one_adapter_keeps_the_others() -> None:
    settings = from_environment({**STAGE, "SEDANO_TRACES": "none"})
    assert (settings.logs, settings.metrics, settings.traces) == ("", "", "none")
    found = ports_of(settings, "doctor").telemetry
    assert isinstance(found, ComposedTelemetry)
    assert tuple(map(type, found._outputs))[:2] == (TelemetryLines, TelemetryCounts)


def test_a_worker_uses_its_settings_and_its_command_line_wins() -> None:
    shown = MemoryTelemetry()
    environment = {"SEDANO_LOGS": "none", "SEDANO_METRICS": "none"}
    assert [type(_logs(worker_telemetry(environment, "sedano/shop", dict, logs=logs))) for logs in ("", "json")] == [NoLogs, StreamLogs]
    telemetry = worker_telemetry({"SEDANO_METRICS": "statsd://127.0.0.1:1"}, "sedano/shop", dict, shown=shown)
    telemetry.log("info", "hello", pid=1)
    assert shown.messages() == ["hello"]
    assert isinstance(telemetry, ComposedTelemetry)
    assert type(telemetry._outputs.metrics) is StatsdMetrics


def _logs(telemetry: object) -> object:
    assert isinstance(telemetry, ComposedTelemetry)
    return telemetry._outputs.logs


@pytest.mark.usefixtures("keys")
def test_a_worker_of_a_stage_uses_the_adapters_of_its_environment() -> None:
    options = WorkerOptions(queues=(), concurrency=1, drain=1, timeout=60, visibility=30)
    given = {**STAGE, "SEDANO_LOGS": "none", "SEDANO_METRICS": "statsd://127.0.0.1:8125", "SEDANO_TRACES": "otlp"}
    telemetry = deployment(Sedano("shop"), options, given).ports.telemetry
    assert isinstance(telemetry, ComposedTelemetry)
    assert tuple(map(type, telemetry._outputs)) == (NoLogs, StatsdMetrics, OtlpTraces)
    assert telemetry.calls() == {}
