"""The handlers of the Lambda functions: each binds an app and its ports over AWS to the engine that it runs."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from sedano.aws.client.session import Session
from sedano.aws.deliveries import delivery
from sedano.aws.deployment import COMPONENT, connect
from sedano.aws.log_lines import write_lines
from sedano.aws.settings import DeploymentSettings, from_environment
from sedano.model.history.run_rows import Host
from sedano.model.queues import queue_of
from sedano.ports import EVENTS, RECORDS, Delivery, Ports

if TYPE_CHECKING:
    from sedano.app import Sedano
    from sedano.engine.boot import Boot
    from sedano.engine.worker.end_reports import Listener
    from sedano.engine.worker.time_limit_warning import Overtime

FUNCTION = "AWS_LAMBDA_FUNCTION_NAME"
"""Set by Lambda: this process then belongs to the function, which may configure standard logging."""
Event = Mapping[str, Any]
T = TypeVar("T")
Work = Callable[[Sequence[Delivery], float], list[Delivery]]


class LambdaContext(Protocol):
    """The part of Lambda's context object that sedano needs."""

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until the invocation is stopped."""


Handler = Callable[[Event, LambdaContext], dict[str, Any]]
OWN = f"{connect.__module__}:{connect.__name__}"
"""The library's own function for `connect=`."""
CONNECT = "SEDANO_CONNECT"
"""The variable with the app's `connect=`, for functions that do not load the app; the stack sets it."""


def worker() -> Handler:
    """Return the handler of the worker function."""
    from sedano.engine.worker.pipeline import Worker
    from sedano.engine.worker.settings import WorkerSettings
    from sedano.engine.worker.time_limit_warning import Overtime
    from sedano.workflow.built_in_tasks import enlist

    app, settings, ports = _deployed("worker")
    enlist(app)
    host = _host(ports)
    built = Worker(app.registry, ports, host, app.worker or WorkerSettings(), app.run_loop(), listener=_traced(ports, host))
    keys = {url.rpartition("/")[2]: key for key, url in settings.queues.items()}
    overtime, boot = Overtime(built.running, ports.clock, ports.telemetry), _booted(app, ports)
    served = set[str]()
    built.membership.report = _reporting(app, boot, served)

    def work(deliveries: Sequence[Delivery], deadline: float) -> list[Delivery]:
        served.update(queue_of(delivery.queue) for delivery in deliveries)
        return _warned(boot, overtime, deadline - ports.clock.now(), partial(built.work, deliveries, deadline))

    def answer(event: Event, context: LambdaContext) -> dict[str, Any]:
        from sedano.aws import function_url as url
        from sedano.engine.worker.call_answers import CallAnswers

        left, by_url = context.get_remaining_time_in_millis() / 1000, url.is_request(event)
        call, answers = url.json_of(event) if by_url else event, CallAnswers(built, app.registry.tasks)
        answered = _warned(boot, overtime, left, partial(answers.answer, call, ports.clock.now() + left))
        return url.json_response(answered) if by_url else answered

    handle = _handler(work, ports, keys, "")
    return lambda event, context: handle(event, context) if "Records" in event else answer(event, context)


def _warned(boot: Boot | None, overtime: Overtime, seconds: float, work: Callable[[], T]) -> T:
    """Look after *boot*, do *work*, and warn of tasks that take most of the *seconds* that the invocation has."""
    if boot is not None:
        boot.look()
    overtime.begin(seconds)
    try:
        return work()
    finally:
        overtime.end()


def _traced(ports: Ports, host: Host) -> Listener | None:
    """Return the listener that exports spans; None if the deployment exports none."""
    if getattr(ports.telemetry, "traces", None) is None:
        return None
    from sedano.engine.history.span_export import traced

    return traced(ports.telemetry, host.hostname)


def router() -> Handler:
    """Return the handler of the router function."""
    from sedano.engine.router import Router

    app, _, ports = _deployed("router")
    return _handler(Router(app.registry, ports, _host(ports)).route, ports, {}, EVENTS)


def recorder() -> Handler:
    """Return the handler of the recorder function."""
    from sedano.aws.events import COSTS
    from sedano.aws.rollups import COSTS as OF_ROLLUP
    from sedano.aws.settings import limited_tenants
    from sedano.engine.history.recorder import Recorder

    ports = _connected(os.environ.get(CONNECT) or OWN, "recorder", None)
    built = Recorder(ports, _host(ports), {**COSTS, **OF_ROLLUP}, limited_tenants(os.environ))
    return _handler(built.record, ports, {}, RECORDS)


def scheduler() -> Handler:
    """Return the handler of the scheduler function, which is invoked every minute; it returns the result of its round."""
    from sedano.engine.schedules.scheduler import Scheduler

    app, _, ports = _deployed("scheduler")
    built = Scheduler(ports, app.outlet.lamport, f"{app.name}@{socket.gethostname()}")

    def handle(event: Event, context: LambdaContext) -> dict[str, Any]:
        try:
            return built.round(app.periodics)._asdict()
        finally:
            ports.telemetry.flush()

    return handle


def controller() -> Handler:
    """Return the handler of the controller function, which is invoked every minute; it returns the result of its round."""
    from sedano.engine.cluster.controller import Controller

    app, _, ports = _deployed("controller")
    outlet = app.outlet

    def announce(name: str) -> None:
        outlet.announce(name, {})

    registry = app.registry
    built = Controller(
        ports=ports, lamport=outlet.lamport, queues=app.queues, budgets=registry.budgets, checks=registry.checks, announce=announce
    )

    spending = _spending_control(app, ports)

    def handle(event: Event, context: LambdaContext) -> dict[str, Any]:
        try:
            return {**spending(), **built.round()._asdict()}
        finally:
            ports.telemetry.flush()

    return handle


def webhook() -> Handler:
    """Return the handler of the webhook function, from the request posted to its URL to the sender's response."""
    from sedano.aws import function_url as url
    from sedano.aws.webhook_secrets import SsmSecretTexts
    from sedano.host.sources import answering

    session = Session()
    app, settings, ports = _deployed("webhook", session)
    built = answering(app, SsmSecretTexts(session.client("ssm"), settings.stage))

    def handle(event: Event, context: LambdaContext) -> dict[str, Any]:
        try:
            return dict(url.response(built.answer(url.arrived(event))))
        finally:
            ports.telemetry.flush()

    return handle


def stream() -> Handler:
    """Return the handler of the stream function: it takes records of a DynamoDB or Kinesis stream, and returns the first one to retry, or
    messages of a queue, and returns each one to retry."""
    from sedano.host.sources import reading
    from sedano.model.sources.streams import is_of_queue, sequence

    app, settings, ports = _deployed("stream")
    built = reading(app, settings.streams)
    names = {arn: name for name, arn in settings.streams.items()}

    def handle(event: Event, context: LambdaContext) -> dict[str, Any]:
        records = event.get("Records", ())
        arn = records[0].get("eventSourceARN", "") if records else ""
        try:
            done = built.take(names.get(arn, arn), records, ports.clock.now() + context.get_remaining_time_in_millis() / 1000)
        finally:
            ports.telemetry.flush()
        left = records[done:] if records and is_of_queue(records[0]) else records[done : done + 1]
        return {"batchItemFailures": [{"itemIdentifier": sequence(record)} for record in left]}

    return handle


def _spending_control(app: Sedano, ports: Ports) -> Callable[[], dict[str, int]]:
    """Return the check of the spending limits of *app*, one round a call; it does nothing if the app declares no limit."""
    if not app.registry.spending:
        return dict
    from sedano.engine.spending import SpendingControl

    built = SpendingControl(ports, app.outlet.lamport, app.queues, app.registry.spending)
    return lambda: built.round()._asdict()


def _booted(app: Sedano, ports: Ports) -> Boot | None:
    """Start the boot steps and the services of *app*; None if it declares none.

    Raises:
        BootFailed: a mandatory step failed. Lambda starts the function again for the next batch; the messages stay in their queue.
    """
    if not (app.registry.boot or app.registry.services):
        return None
    from sedano.engine.boot import Boot

    boot = Boot(app.registry, ports)
    try:
        boot.begin()
    finally:
        ports.telemetry.flush()
    return boot


def _reporting(app: Sedano, boot: Boot | None, served: Collection[str]) -> Callable[[], str]:
    """Return the function that writes the report of a worker that received from the queues *served*; it is loaded with the first
    heartbeat."""

    def report() -> str:
        from sedano.host.worker_reports import Reporter, host_kind

        return Reporter(app, boot, host_kind(os.environ), os.environ).of_function(served)

    return report


def _deployed(service: str, session: Session | None = None) -> tuple[Sedano, DeploymentSettings, Ports]:
    settings = from_environment(os.environ)
    if FUNCTION in os.environ:
        write_lines(f"sedano-{service}", os.environ)
    from sedano.app import load

    app: Sedano = load(settings.app)
    ports = _connected(app.connect, service, session)
    app.attach(ports)
    if app.brokers:
        _note_brokers(app, settings, ports)
    return app, settings, ports


def _note_brokers(app: Sedano, settings: DeploymentSettings, ports: Ports) -> None:
    """Log the brokers of *app* that a function does not use, unless the environment decides."""
    from sedano.model.brokers import unused_brokers

    if unused := unused_brokers(app.brokers, settings.brokers):
        ports.telemetry.log("info", "brokers: a function sends to the queues of the stage's own Region alone", unused=unused)


def _connected(reference: str, service: str, session: Session | None) -> Ports:
    """Return the ports of the function *service*, from the `connect=` function that *reference* names."""
    token = COMPONENT.set((service, session))
    try:
        if reference == OWN:
            return connect()
        from sedano.api.connector import brought

        return brought(reference)
    finally:
        COMPONENT.reset(token)


def _host(ports: Ports) -> Host:
    memory = os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")
    return Host(f"{socket.gethostname()}.{os.getpid()}.{ports.entropy.uuid()[:8]}", os.getpid(), int(memory) if memory else None)


def _handler(work: Work, ports: Ports, keys: Mapping[str, str], default: str) -> Handler:
    """Return a handler that passes the records to *work*, and returns the failed ones (Lambda's partial batch response)."""

    def handle(event: Event, context: LambdaContext) -> dict[str, Any]:
        deliveries = [delivery(record, keys, default) for record in event.get("Records", ())]
        deadline = ports.clock.now() + context.get_remaining_time_in_millis() / 1000
        given_back = dict.fromkeys(one.message_id for one in work(deliveries, deadline))
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in given_back]}

    return handle
