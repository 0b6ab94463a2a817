"""The function named in `connect=`, which returns an app's ports in programs and in deployed functions."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sedano.errors import ConfigurationError
from sedano.ports import Ports

if TYPE_CHECKING:
    from sedano.model.brokers import SqsBroker

DEPLOYMENT = (
    "AWS_LAMBDA_FUNCTION_NAME", "SEDANO_BLOBS_BUCKET", "SEDANO_CONTROL_TABLE", "SEDANO_EVENTS_QUEUE", "SEDANO_HISTORY_BUCKET",
    "SEDANO_LEDGER_TABLE", "SEDANO_PARKED_QUEUE", "SEDANO_QUEUES", "SEDANO_RECORDS_QUEUE", "SEDANO_STAGE",
)  # fmt: skip
"""Variables that name a deployment on AWS: where one is set, the environment decides."""

AWS = "sedano.aws.deployment:connect"
"""The default function: it connects to the deployment that the environment describes."""


class Connected(NamedTuple):
    """The ports of a program, and whether it may store messages on disk that the queues do not accept."""

    ports: Ports
    may_spool: bool


def connected(reference: str, brokers: Sequence[SqsBroker] = ()) -> Connected:
    """Return the ports that the function *reference* provides to a program, with these *brokers* of its app.

    If SEDANO_PUBLISHER names the socket of a publisher process, that process sends the program's messages. If *reference* is `AWS` and the
    environment does not name a deployment, the `sedano dev` of the working directory is used, if it runs. Its queues are a file on this
    machine, so brokers, or a second file for unaccepted messages, would not help.

    Raises:
        ConfigurationError: the function is missing, it returns something else, or neither a deployment nor a `sedano dev` can be used.
    """
    publisher = os.environ.get("SEDANO_PUBLISHER", "")
    if publisher:
        return Connected(_behind(publisher, reference, brokers), may_spool=True)
    if reference == AWS and not any(os.environ.get(name) for name in DEPLOYMENT):
        from sedano.api import dev_server

        ports = dev_server.ports_beside(os.environ, Path.cwd())
        if ports is not None:
            return Connected(ports, may_spool=False)
    return Connected(brought(reference, brokers), may_spool=True)


def _behind(publisher: str, reference: str, brokers: Sequence[SqsBroker]) -> Ports:
    """Return the ports of *reference* with queues behind the socket of *publisher*; those over AWS are connected at their first use."""
    from sedano.api.publisher_socket import behind

    if reference != AWS:
        return behind(publisher, os.environ, brought(reference, brokers))
    from sedano.aws.late_deployment import late_ports

    return behind(publisher, os.environ, late_ports(lambda: brought(reference, brokers), os.environ))


def connector(reference: str) -> Callable[[], Any]:
    """Return the function that *reference* (``module:function``) names.

    Raises:
        ConfigurationError: the function is missing, or its module does not import.
    """
    module, _, name = reference.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as wrong:
        raise ConfigurationError(f"connect {reference!r}: {wrong}; expected module:function that returns the ports") from wrong
    if not callable(found):
        raise ConfigurationError(f"connect {reference!r} is a {type(found).__name__}; expected module:function that returns the ports")
    function: Callable[[], Any] = found
    return function


def brought(reference: str, brokers: Sequence[SqsBroker] = ()) -> Ports:
    """Return the ports that the function *reference* returns, to an app with these *brokers*.

    Raises:
        ConfigurationError: the function is missing, or it returns something else.
    """
    connect = connector(reference)
    if brokers:
        from sedano.aws.deployment import preferring

        with preferring(brokers):
            ports = connect()
    else:
        ports = connect()
    if not isinstance(ports, Ports):
        raise ConfigurationError(
            f"connect {reference!r} returned {type(ports).__name__}; return sedano.ports.Ports, such as "
            "dataclasses.replace(sedano.aws.deployment.connect(), blobs=…)"
        )
    return ports
