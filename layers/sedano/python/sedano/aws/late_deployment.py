"""The ports over AWS of a program that only publishes, by the publisher process of its host: the deployment is connected at the first use
of anything else, so no AWS client is imported before that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from sedano.aws.machine import SystemClock, SystemEntropy
from sedano.aws.settings import from_environment
from sedano.aws.telemetry_choice import program_telemetry
from sedano.errors import Unavailable
from sedano.model.messages.lineage import DEFAULT_BUDGET
from sedano.model.queues import SQS
from sedano.ports import Ports, clock_unknown, deadlines

Bring = Callable[[], Ports]
_OWN = frozenset({"clock", "entropy", "telemetry", "most_budget", "store_time", "looks"})
"""The fields of `Ports` that need no connection."""


def late_ports(bring: Bring, environment: Mapping[str, str]) -> Ports:
    """Return ports whose operations connect the deployment that *bring* returns; those of the machine need none.

    Raises:
        ConfigurationError: a variable of the stage is malformed.
    """
    has_stage = bool(environment.get("SEDANO_QUEUES"))
    settings = from_environment(environment) if has_stage else None
    deployment = LateDeployment(bring if has_stage else _nowhere, deadlines.patience())
    late: dict[str, Any] = {field.name: LatePort(deployment, field.name) for field in fields(Ports) if field.name not in _OWN}
    return Ports(
        **late, clock=SystemClock(), entropy=SystemEntropy(), telemetry=program_telemetry(environment, {}),
        store_time=deployment.store_time, most_budget=DEFAULT_BUDGET if settings is None else settings.most_budget,
    )  # fmt: skip


def _nowhere() -> Ports:
    raise Unavailable("only the publisher can send: the environment names no stage; set the variables of `sedano outputs --stage NAME`")


class LateDeployment:
    """The ports of a deployment, connected at their first use. Thread-safe."""

    def __init__(self, bring: Bring, patience: float) -> None:
        """Connect to nothing yet."""
        self._bring, self._patience, self._lock = bring, patience, threading.Lock()
        self._ports: Ports | None = None

    @property
    def ports(self) -> Ports:
        """The ports."""
        with self._lock:
            if self._ports is None:
                with deadlines.chosen(self._patience):
                    self._ports = self._bring()
            return self._ports

    def store_time(self) -> Any:
        """Return the time of the store as known without a call."""
        return clock_unknown() if self._ports is None else self._ports.store_time()


class LatePort:
    """A port of a deployment, by its name. Its *bounds*, those of queues, are known without a connection."""

    bounds = SQS

    def __init__(self, deployment: LateDeployment, name: str) -> None:
        """Connect to nothing yet."""
        self._deployment, self._name = deployment, name

    def __getattr__(self, operation: str) -> Any:
        """Return the port's own operation."""
        if operation.startswith("__"):
            raise AttributeError(operation)
        return getattr(getattr(self._deployment.ports, self._name), operation)
