"""The one place that knows both the engine and AWS: it binds an app to its ports, and the Lambda functions to the engine."""

from __future__ import annotations

import importlib
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from sedano.app import Sedano, load
from sedano.aws.blobs import S3Blobs
from sedano.aws.control import DynamoControl
from sedano.aws.elections import DynamoElections
from sedano.aws.events import S3Events
from sedano.aws.host import SystemClock, SystemEntropy
from sedano.aws.leases import DynamoLeases
from sedano.aws.ledger import DynamoLedger
from sedano.aws.members import DynamoMembers
from sedano.aws.queues import SqsQueues
from sedano.aws.session import Session
from sedano.aws.telemetry import PowertoolsTelemetry
from sedano.engine.chronicle import Host
from sedano.engine.recorder import Recorder
from sedano.engine.router import Router
from sedano.engine.worker import Worker, WorkerSettings
from sedano.ports import EVENTS, RECORDS, Delivery, Ports
from sedano.settings import Settings, from_environment

Event = Mapping[str, Any]
Work = Callable[[Sequence[Delivery], float], list[Delivery]]


class LambdaContext(Protocol):
    """What sedano needs of Lambda's context object."""

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until the invocation is stopped."""


Handler = Callable[[Event, LambdaContext], dict[str, Any]]


def connect() -> Ports:
    """Return the ports of the deployment that the environment describes."""
    return ports_of(from_environment(os.environ), "client")


def ports_of(settings: Settings, service: str) -> Ports:
    """Return the ports over AWS for *settings*; *service* names the component in logs and metrics."""
    session, clock = Session(), SystemClock()
    return Ports(
        ledger=DynamoLedger(session.client("dynamodb"), settings.ledger_table),
        queues=SqsQueues(session.client("sqs"), settings.queues),
        blobs=S3Blobs(session.later("s3"), settings.blobs_bucket),
        events=S3Events(session.later("s3"), settings.history_bucket),
        members=DynamoMembers(session.client("dynamodb"), settings.control_table),
        leases=DynamoLeases(session.client("dynamodb"), settings.control_table, clock),
        control=DynamoControl(session.client("dynamodb"), settings.control_table),
        elections=DynamoElections(session.client("dynamodb"), settings.control_table, settings.ledger_table),
        flow_runs=_FlowRuns(session, settings.control_table),
        clock=clock,
        entropy=SystemEntropy(),
        telemetry=PowertoolsTelemetry(f"sedano-{service}", "sedano", session.calls),
    )


class _FlowRuns:
    """Makes the port of flow runs when it is first used: an app without workflows does not load it."""

    def __init__(self, session: Session, table: str) -> None:
        """Remember where they lie."""
        self._session, self._table = session, table

    def __getattr__(self, operation: str) -> Any:
        """Return an operation of the port."""
        port = importlib.import_module("sedano.aws.flow_runs").DynamoFlowRuns(self._session.client("dynamodb"), self._table)
        self.__dict__.update({name: getattr(port, name) for name in ("begin", "read", "change", "list")})
        return getattr(port, operation)


def worker() -> Handler:
    """Return the handler of the worker function."""
    app, settings, ports = _deployed("worker")
    built = Worker(app.registry, ports, _host(ports), WorkerSettings(), app.run_loop())
    keys = {_queue_name(url): key for key, url in settings.queues.items()}
    return _handler(built.work, ports, keys, "")


def router() -> Handler:
    """Return the handler of the router function."""
    app, _, ports = _deployed("router")
    return _handler(Router(app.registry, ports, _host(ports)).route, ports, {}, EVENTS)


def recorder() -> Handler:
    """Return the handler of the recorder function."""
    ports = ports_of(from_environment(os.environ), "recorder")
    return _handler(Recorder(ports, _host(ports)).record, ports, {}, RECORDS)


def _deployed(service: str) -> tuple[Sedano, Settings, Ports]:
    settings = from_environment(os.environ)
    app, ports = load(settings.app), ports_of(settings, service)
    app.attach(ports)
    return app, settings, ports


def _host(ports: Ports) -> Host:
    return Host(f"{socket.gethostname()}.{os.getpid()}.{ports.entropy.uuid()[:8]}", os.getpid())


def _handler(work: Work, ports: Ports, keys: Mapping[str, str], default: str) -> Handler:
    """Return a handler that decides nothing: records in, failures out (Lambda's partial batch response)."""

    def handle(event: Event, context: LambdaContext) -> dict[str, Any]:
        deliveries = [_delivery(record, keys, default) for record in event.get("Records", ())]
        deadline = ports.clock.now() + context.get_remaining_time_in_millis() / 1000
        given_back = dict.fromkeys(delivery.message_id for delivery in work(deliveries, deadline))
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in given_back]}

    return handle


def _delivery(record: Mapping[str, Any], keys: Mapping[str, str], default: str) -> Delivery:
    attributes = record.get("attributes", {})
    queue = keys.get(str(record.get("eventSourceARN", "")).rpartition(":")[2], default)
    return Delivery(
        queue, record["messageId"], record.get("receiptHandle", ""), record["body"],
        int(attributes.get("ApproximateReceiveCount", 1)), int(attributes.get("SentTimestamp", 0)) / 1000,
    )  # fmt: skip


def _queue_name(url: str) -> str:
    return url.rpartition("/")[2]
