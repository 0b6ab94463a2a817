"""The telemetry of a process by the names of its adapters: those of `sedano.telemetry`, and those of CloudWatch.

`powertools` writes log lines with the Logger of Powertools, `emf` writes metrics in the embedded metric format: both are the output of a
deployed function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

from sedano.aws.log_lines import LEVELS
from sedano.aws.program_log import ProgramLog
from sedano.model.telemetry.adapter_names import NONE, TelemetryNames, names_in
from sedano.model.telemetry.log_entries import LogEntry
from sedano.ports import Telemetry
from sedano.ports.telemetry import Logs
from sedano.telemetry.adapters import AdapterRequest, Maker, OwnAdapters, outputs
from sedano.telemetry.composed import ComposedTelemetry

OF_FUNCTION = TelemetryNames("powertools", "emf", NONE)
"""The adapters of a deployed function that names none."""
OF_PROGRAM = TelemetryNames("logging", NONE, NONE)
"""The adapters of a program that publishes and reads: it owns its output, and Python's logging knows where its log goes."""
CLIENT = "sedano-client"
"""The service of a program that publishes and reads."""
Calls = Callable[[], Mapping[str, int]]


class Component(NamedTuple):
    """A process in its telemetry: the name of its *service*, the *namespace* of its metrics in CloudWatch, and whether these have the task
    as a dimension (*by_task*).
    """

    service: str
    namespace: str
    by_task: bool = False


class TelemetryLines:
    """Writes log lines to another telemetry."""

    def __init__(self, telemetry: Telemetry) -> None:
        """Write to *telemetry*."""
        self._telemetry = telemetry

    def write(self, entry: LogEntry) -> None:
        """Write the line, with the time at which it is written."""
        self._telemetry.log(entry.level, entry.message, **entry.fields)


class TelemetryCounts:
    """Counts with another telemetry."""

    def __init__(self, telemetry: Telemetry) -> None:
        """Count with *telemetry*."""
        self._telemetry = telemetry

    def add(self, metric: str, value: float, dimensions: Mapping[str, str]) -> None:
        """Add to a metric."""
        self._telemetry.count(metric, value, **dimensions)

    def flush(self) -> None:
        """Write what was counted."""
        self._telemetry.flush()


def telemetry_of(
    names: TelemetryNames, component: Component, calls: Calls, environment: Mapping[str, str], more: Mapping[str, Maker[Logs]] | None = None
) -> Telemetry:  # fmt: skip
    """Return the telemetry of *component* over the adapters of these *names*.

    Args:
        names: the names, all of them given.
        component: the process.
        calls: returns how many AWS calls were made so far.
        environment: the variables of the process.
        more: further adapters for logs, by name.

    Raises:
        ConfigurationError: a name is unknown, its address is malformed, or its package cannot be imported.
    """

    @cache
    def cloudwatch() -> Telemetry:
        from sedano.aws.telemetry import PowertoolsTelemetry

        return PowertoolsTelemetry(component.service, component.namespace, {}, by_task=component.by_task)

    def lines(_: AdapterRequest) -> Logs:
        return TelemetryLines(cloudwatch())

    own = OwnAdapters({"powertools": lines, **(more or {})}, {"emf": lambda _: TelemetryCounts(cloudwatch())})
    least = "DEBUG" if names.logs == OF_PROGRAM.logs else "INFO"  # the levels of Python's logging decide there
    level = next((environment[name] for name in LEVELS if environment.get(name)), least)
    return ComposedTelemetry(outputs(names, component.service, environment, own), component.service, calls, level=level)


def program_telemetry(environment: Mapping[str, str], counts: Mapping[str, int]) -> Telemetry:
    """Return the telemetry of a program that publishes and reads: Python's logging, unless *environment* names adapters.

    Raises:
        ConfigurationError: as `telemetry_of` does.
    """
    return named(Component(CLIENT, "sedano"), environment, counts) if names_in(environment).given else ProgramLog(counts)


def named(component: Component, environment: Mapping[str, str], counts: Mapping[str, int]) -> Telemetry:
    """Return the telemetry of *component* over the adapters that *environment* names, with those of its kind in place of a missing name.

    Raises:
        ConfigurationError: as `telemetry_of` does.
    """
    names = names_in(environment).or_else(OF_PROGRAM if component.service == CLIENT else OF_FUNCTION)
    return telemetry_of(names, component, lambda: dict(counts), environment)
