"""Which adapters a process uses for its logs, metrics and traces: the names in its settings, and else those that suit its runtime. Pure.

A name is a word such as `console`, or a word with an address, such as `statsd://127.0.0.1:8125`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from sedano.errors import ConfigurationError

LOGS, METRICS, TRACES = "SEDANO_LOGS", "SEDANO_METRICS", "SEDANO_TRACES"
"""The variables that name the adapters of a process."""
JOURNAL_STREAM = "JOURNAL_STREAM"
"""The variable in which systemd names the device and the inode of the journal's stream, such as `8:4711`."""
LAMBDA, JOURNAL, TERMINAL, OTHER = "lambda", "journal", "terminal", "other"
"""The runtimes of a process."""
ON_LAMBDA = "AWS_LAMBDA_FUNCTION_NAME"
NONE = "none"
_LOGS = {JOURNAL: "journald", TERMINAL: "console", LAMBDA: "json", OTHER: "json"}
_IN_JSON = ("json", "powertools")


class AdapterName(NamedTuple):
    """The word of an adapter, and its address: the text after `://`, or ""."""

    word: str
    address: str = ""


class TelemetryNames(NamedTuple):
    """The names of the adapters for *logs*, *metrics* and *traces*, as a person wrote them; "" for the adapter of the runtime."""

    logs: str = ""
    metrics: str = ""
    traces: str = ""

    @property
    def given(self) -> bool:
        """Whether one of them is given."""
        return bool(self.logs or self.metrics or self.traces)

    def or_else(self, defaults: TelemetryNames) -> TelemetryNames:
        """Return these names, with those of *defaults* for the others."""
        return TelemetryNames(*(own or default for own, default in zip(self, defaults, strict=True)))


def names_in(environment: Mapping[str, str]) -> TelemetryNames:
    """Return the names in the variables of *environment*."""
    return TelemetryNames(*(environment.get(variable, "").strip() for variable in (LOGS, METRICS, TRACES)))


def parse(text: str) -> AdapterName:
    """Return the name that *text* writes."""
    word, _, address = text.strip().partition("://")
    return AdapterName(word, address)


def runtime(environment: Mapping[str, str], stream: tuple[int, int] | None, *, is_terminal: bool) -> str:
    """Return the runtime of a process, from its *environment* and its standard error.

    Args:
        environment: its variables.
        stream: the device and the inode of its standard error; None if it has none.
        is_terminal: whether its standard error is a terminal.

    A process inherits JOURNAL_STREAM from a service even if its output goes elsewhere. So the variable counts only if it names the stream
    that standard error really is.
    """
    if environment.get(ON_LAMBDA):
        return LAMBDA
    if stream is not None and environment.get(JOURNAL_STREAM) == f"{stream[0]}:{stream[1]}":
        return JOURNAL
    return TERMINAL if is_terminal else OTHER


def of_worker(given: TelemetryNames, where: str) -> TelemetryNames:
    """Return the adapters of a worker in the runtime *where*: the *given* ones, and metrics in the log only where the log is JSON."""
    logs = given.logs or _LOGS[where]
    return given.or_else(TelemetryNames(logs, "emf" if parse(logs).word in _IN_JSON else NONE, NONE))


def unknown(variable: str, name: AdapterName, known: Collection[str], group: str) -> ConfigurationError:
    """Return the error for a *name* in *variable* that is neither *known* nor an entry point of *group*."""
    words = ", ".join(sorted(known))
    return ConfigurationError(
        f"{variable}: {name.word[:40]!r} is not a known adapter; write one of {words}, or install a package with an entry point of that "
        f"name in the group {group}"
    )


def host_and_port(variable: str, name: AdapterName, port: int) -> tuple[str, int]:
    """Return the host and the port in the address of *name*; *port* where it names none.

    Raises:
        ConfigurationError: the address has no host, or a port that is not between 1 and 65535.
    """
    host, colon, given = name.address.strip("/").rpartition(":")
    if not colon or name.address.rstrip("/").endswith("]"):
        host, given = name.address.strip("/"), str(port)
    host = host.removeprefix("[").removesuffix("]")
    if not host or not (given.isascii() and given.isdigit() and 0 < int(given[:6]) < 65_536):
        raise ConfigurationError(f"{variable}: {name.address!r} is not host:port; write {name.word}://127.0.0.1:{port}")
    return host, int(given)
