"""The adapters by their names: the built-in ones, and those of installed packages, which name theirs by an entry point.

A package declares a function that takes an `AdapterRequest` and returns the adapter:

    [project.entry-points."sedano.logs"]
    loki = "shop_logs:loki"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from sedano.errors import ConfigurationError
from sedano.model.telemetry.adapter_names import (
    LOGS,
    METRICS,
    NONE,
    ON_LAMBDA,
    TRACES,
    AdapterName,
    TelemetryNames,
    host_and_port,
    parse,
    unknown,
)
from sedano.ports.telemetry import Logs, Metrics, Traces
from sedano.telemetry.composed import Outputs
from sedano.telemetry.python_logging import LoggingLogs
from sedano.telemetry.streams import NoLogs, NoMetrics, StreamTraces, console_logs, json_logs

A = TypeVar("A")
GROUPS = {LOGS: "sedano.logs", METRICS: "sedano.metrics", TRACES: "sedano.traces"}
"""The groups of entry points, by the variable that names one of their adapters."""
ADDRESSED = frozenset({"journald", "otlp", "statsd"})
"""The built-in adapters whose name may have an address."""
_METHODS = {LOGS: ("write",), METRICS: ("add", "flush"), TRACES: ("export", "flush", "lost", "close")}


class AdapterRequest(NamedTuple):
    """A request for an adapter: the *variable* and the *name* in it, the name of the *service*, and the *environment* of the process."""

    variable: str
    name: AdapterName
    service: str
    environment: Mapping[str, str]


Maker = Callable[[AdapterRequest], A]


class OwnAdapters(NamedTuple):
    """Adapters that the caller adds to the built-in ones, by name."""

    logs: Mapping[str, Maker[Logs]]
    metrics: Mapping[str, Maker[Metrics]]


def outputs(names: TelemetryNames, service: str, environment: Mapping[str, str], own: OwnAdapters) -> Outputs:
    """Return the adapters of these *names*.

    Raises:
        ConfigurationError: a name is unknown, its address is malformed, or its package cannot be imported.
    """
    logs = adapter(AdapterRequest(LOGS, parse(names.logs), service, environment), {**_LOGS, **own.logs})
    metrics = adapter(AdapterRequest(METRICS, parse(names.metrics), service, environment), {**_METRICS, **own.metrics})
    return Outputs(logs, metrics, adapter(AdapterRequest(TRACES, parse(names.traces), service, environment), _TRACES))


def adapter(request: AdapterRequest, known: Mapping[str, Maker[A]]) -> A:
    """Return the adapter of *request*: one of *known*, or that of an installed package.

    Raises:
        ConfigurationError: as `outputs` does.
    """
    word, address = request.name
    make = known.get(word)
    if make is not None and address and word not in ADDRESSED:
        raise ConfigurationError(f"{request.variable}: {word} has no address; write {word}")
    return (make or _installed(request, known))(request)


def _installed(request: AdapterRequest, known: Mapping[str, Maker[A]]) -> Maker[A]:
    from importlib import metadata

    group, word = GROUPS[request.variable], request.name.word
    found = next(iter(metadata.entry_points(group=group, name=word)), None)
    if found is None:
        raise unknown(request.variable, request.name, known, group)
    try:
        make = found.load()
    except (ImportError, AttributeError) as wrong:
        words = f"{request.variable}: the adapter {word!r} ({found.value}) cannot be loaded: {wrong}; install the package that it needs"
        raise ConfigurationError(words) from wrong
    return _checked(make, request.variable, found.value)


def _checked(make: Any, variable: str, place: str) -> Maker[Any]:
    """Return *make*, whose adapter is refused if a method of its port is missing."""

    def checked(request: AdapterRequest) -> Any:
        made = make(request)
        missing = [name for name in _METHODS[variable] if not callable(getattr(made, name, None))]
        if missing:
            raise ConfigurationError(f"{variable}: {place} returned {type(made).__name__}, which has no {' and no '.join(missing)}()")
        return made

    return checked


def _journald(request: AdapterRequest) -> Logs:
    if request.environment.get(ON_LAMBDA):
        raise ConfigurationError(f"{request.variable}: a Lambda function has no journal; write powertools or json")
    from sedano.telemetry.journal import SOCKET, JournalLogs

    return JournalLogs(request.service, request.name.address or SOCKET)


def _statsd(request: AdapterRequest) -> Metrics:
    from sedano.telemetry.statsd import PORT, StatsdMetrics

    return StatsdMetrics(*host_and_port(request.variable, request.name, PORT))


def _otlp(request: AdapterRequest) -> Traces:
    from sedano.model.telemetry.otlp_json import otlp_endpoint
    from sedano.telemetry.otlp import OtlpTraces

    endpoint = otlp_endpoint(request.variable, "traces", request.name.address, request.environment)
    return OtlpTraces(endpoint, request.service, background=not request.environment.get(ON_LAMBDA))


_LOGS: Mapping[str, Maker[Logs]] = {
    "console": lambda _: console_logs(), "json": lambda request: json_logs(request.service), "journald": _journald,
    "logging": lambda _: LoggingLogs(), NONE: lambda _: NoLogs(),
}  # fmt: skip
_METRICS: Mapping[str, Maker[Metrics]] = {"statsd": _statsd, NONE: lambda _: NoMetrics()}
_TRACES: Mapping[str, Maker[Traces | None]] = {
    "json": lambda request: StreamTraces(json_logs(request.service)), "otlp": _otlp, NONE: lambda _: None,
}  # fmt: skip
