"""The telemetry of a process of workers: the adapters that its settings name, or else those that suit where its log goes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping

from sedano.aws.telemetry_choice import Component, TelemetryLines, telemetry_of
from sedano.model.telemetry.adapter_names import names_in, of_worker, runtime
from sedano.ports import Telemetry
from sedano.telemetry.composed import ComposedTelemetry

SERVICE = "sedano-worker"
LINES = "lines"
"""The name of the log in lines for a person, with the ends of tasks, which `sedano worker` shows on a terminal."""
Calls = Callable[[], Mapping[str, int]]


def worker_telemetry(
    environment: Mapping[str, str], namespace: str, calls: Calls, *, logs: str = "", shown: Telemetry | None = None, service: str = SERVICE
) -> Telemetry:  # fmt: skip
    """Return the telemetry of a process of workers, or of the publisher.

    Args:
        environment: the variables of the process.
        namespace: the namespace of its metrics in CloudWatch.
        calls: returns how many AWS calls were made so far.
        logs: the adapter for logs that the command line names; "": that of the environment, or of the runtime.
        shown: takes the log lines in place of an adapter.
        service: the name of the process in its log.

    Raises:
        ConfigurationError: the name of an adapter is unknown, its address is malformed, or its package cannot be imported.
    """
    given = names_in(environment)
    given = given._replace(logs=LINES if shown is not None else logs or given.logs)
    names = of_worker(given, where_it_logs(environment))
    more = {} if shown is None else {LINES: lambda _: TelemetryLines(shown)}
    return telemetry_of(names, Component(service, namespace), calls, environment, more)


def where_it_logs(environment: Mapping[str, str]) -> str:
    """Return the runtime of this process (`sedano.model.telemetry.adapter_names`)."""
    try:
        found = os.fstat(2)
    except OSError:  # a process without standard error
        return runtime(environment, None, is_terminal=False)
    return runtime(environment, (found.st_dev, found.st_ino), is_terminal=sys.stderr is not None and sys.stderr.isatty())


def end(telemetry: Telemetry) -> None:
    """Send what the outputs of *telemetry* still have, because the process ends."""
    if isinstance(telemetry, ComposedTelemetry):
        telemetry.close()
