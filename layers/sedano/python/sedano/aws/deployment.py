"""The ports over AWS of one deployment.

A client that a component always needs is made while the component starts; a port that few invocations use is made at its first use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

from sedano.aws.client.session import READ_TIMEOUT_S, Session
from sedano.aws.client.store_date import NotedClient
from sedano.aws.control import DynamoControl
from sedano.aws.ledger import DynamoLedger
from sedano.aws.machine import SystemClock, SystemEntropy
from sedano.aws.members import DynamoMembers
from sedano.aws.queues import LONG_POLL_S, SqsQueues
from sedano.aws.settings import DeploymentSettings, from_environment
from sedano.errors import ConfigurationError
from sedano.ports import (
    PARKED,
    Blobs,
    Clock,
    Elections,
    Entropy,
    Events,
    FlowRuns,
    Leases,
    Memos,
    Ports,
    Queues,
    ScheduleStore,
    Telemetry,
    Timers,
)
from sedano.ports.deadlines import patience

if TYPE_CHECKING:
    from sedano.model.brokers import SqsBroker
    from sedano.ports.consumers import Consumers
    from sedano.ports.direct_calls import DirectCalls
    from sedano.ports.effects import Effects
    from sedano.ports.functions import CalledFunctions
    from sedano.ports.limits import Limits
    from sedano.ports.parameters import OwnersParameters
    from sedano.ports.rollups import Rollups
    from sedano.ports.seals import Seals
    from sedano.ports.sinks import Sinks

NEEDED = {
    "client": ("sqs",), "worker": ("sqs", "dynamodb"), "router": ("sqs",), "recorder": ("s3", "dynamodb"), "scheduler": ("dynamodb", "sqs"),
    "controller": ("dynamodb", "sqs"), "webhook": ("sqs",), "stream": ("sqs",), "publisher": ("sqs",),
}  # fmt: skip
"""The services that a component always calls: a client is made while a function starts, not while a message waits. A component that is
not named here makes each client at its first use."""
METRICS_S = 2.0
"""How long a view waits for CloudWatch's connection, and for its answer."""
BY_THE_STORE = ("scheduler", "controller")
"""Components that decide for all workers what is due: they use the table's clock if the clock of their machine is wrong."""
COMPONENT: ContextVar[tuple[str, Session | None]] = ContextVar("sedano_component", default=("client", None))
"""The name and the session of the function that starts, set while it requests its ports; the default is for any other program."""
BROKERS: ContextVar[Sequence[SqsBroker]] = ContextVar("sedano_brokers", default=())
"""The brokers of the app that requests its ports, unless the environment names others; see `preferring`."""


Reporting = Callable[[Mapping[str, int]], Telemetry]
"""A function from the AWS calls that were made so far to the telemetry of a component."""


@contextmanager
def preferring(brokers: Sequence[SqsBroker]) -> Iterator[None]:
    """Give the ports that are requested inside the block these *brokers*, in order of preference."""
    token = BROKERS.set(brokers)
    try:
        yield
    finally:
        BROKERS.reset(token)


def connect() -> Ports:
    """Return the ports over AWS of the deployment that the environment describes, for the function that starts or for a program."""
    return ports_of(from_environment(os.environ), *COMPONENT.get())


def ports_of(
    settings: DeploymentSettings, service: str, session: Session | None = None, visibility: int | None = None,
    reporting: Reporting | None = None) -> Ports:  # fmt: skip
    """Return the ports over AWS for *settings*; *service* names the component in logs and metrics.

    With *visibility*, a received message stays invisible for so many seconds, and another client receives messages, with the longest polls
    that SQS allows; None: the visibility timeout of the queue applies. *reporting* makes the telemetry of the calls that were made so far;
    None: that of the settings. Clients that the component always needs are made now, the others at their first use.
    """
    own, client = SystemClock(), _clients(session := session or Session(), service)
    (sqs, dynamodb, s3), telemetry = map(client, ("sqs", "dynamodb", "s3")), (reporting or _reporting(service, settings))(session.calls)
    (dynamodb, clock), grouped = _dated(dynamodb, own, telemetry, service), settings.group_commit and service == "worker"
    noted, entropy, receiver = NotedClient(dynamodb, own), SystemEntropy(), _receiver(session, visibility)
    return Ports(
        ledger=_ledger(dynamodb, settings, grouped),
        queues=_queues(session, SqsQueues(sqs, settings.queues, visibility=visibility, receiver=receiver), settings, service, telemetry),
        blobs=_when_used(lambda: _blobs(s3, settings)),
        events=_when_used(lambda: _events(s3, settings)),
        rollups=_when_used(lambda: _rollups(dynamodb, settings)),
        members=DynamoMembers(dynamodb, settings.control_table),
        leases=_when_used(lambda: _leases(dynamodb, settings, own)),
        control=DynamoControl(noted, settings.control_table),
        elections=_when_used(lambda: _elections(dynamodb, settings)),
        flow_runs=_when_used(lambda: _flow_runs(dynamodb, settings)),
        memos=_when_used(lambda: _memos(dynamodb, settings)),
        limits=_when_used(lambda: _limits(dynamodb, settings)),
        consumers=_when_used(lambda: _consumers(client("sqs"), client("lambda"), settings, (_metrics(session), own))),
        timers=_when_used(lambda: _timers(client("scheduler"), settings)),
        schedules=_when_used(lambda: _schedules(dynamodb, settings, service)),
        effects=_when_used(lambda: _effects(dynamodb, settings)),
        functions=_when_used(lambda: _functions(session, settings)), direct_calls=_when_used(lambda: _direct_calls(session, settings)),
        sinks=_when_used(lambda: _sinks(client, settings, clock)),
        parameters=_when_used(lambda: _parameters(client("ssm"), client("appconfigdata"))),
        seals=_when_used(lambda: _seals(client("ssm"), settings, clock, entropy, telemetry)),
        clock=clock, entropy=entropy, telemetry=telemetry, most_budget=settings.most_budget, store_time=noted.time, group_commit=grouped,
    )  # fmt: skip


def _ledger(dynamodb: Any, settings: DeploymentSettings, grouped: bool) -> DynamoLedger:
    if not grouped:
        return DynamoLedger(dynamodb, settings.ledger_table)
    from sedano.aws.group_commit import GroupCommitLedger

    return GroupCommitLedger(dynamodb, settings.ledger_table)


def _queues(session: Session, own: SqsQueues, settings: DeploymentSettings, component: str, telemetry: Telemetry) -> Queues:
    """Return the stage's *own* queues, or those of all brokers; in a program and in its publisher, each call ends in the time that its
    caller waits.
    """
    if not settings.brokers and not BROKERS.get():
        return own
    from sedano.aws.brokers import over_brokers

    return over_brokers(session, own, settings, BROKERS.get(), telemetry, patience() if component in ("client", "publisher") else None)


def _metrics(session: Session) -> Any:
    """Return CloudWatch's client for the ages of queues, which a view can do without: one attempt for each call, and a short wait."""
    return _when_used(lambda: session.single("cloudwatch", METRICS_S, connect_timeout=METRICS_S))


def _receiver(session: Session, visibility: int | None) -> Any:
    return None if visibility is None else session.single("sqs", LONG_POLL_S + READ_TIMEOUT_S)


class _WhenUsed:
    """A placeholder for a port that few invocations use: it is loaded and made at its first operation."""

    def __init__(self, make: Callable[[], Any]) -> None:
        """Remember how to *make* the port."""
        self._make = make

    def __getattr__(self, operation: str) -> Any:
        """Return the port's own operation."""
        port = self.__dict__.get("_port") or self.__dict__.setdefault("_port", self._make())
        return getattr(port, operation)


def _when_used(make: Callable[[], Any]) -> Any:
    return _WhenUsed(make)


def _reporting(service: str, settings: DeploymentSettings) -> Reporting:
    """Return the function from the calls that were made to the telemetry of a component: over the adapters that the settings name, or else
    Python's logging for a program, and lines for CloudWatch for a function.
    """
    name, namespace = f"sedano-{service}", f"sedano/{settings.stage}"
    if settings.logs or settings.metrics or settings.traces:
        from sedano.aws import telemetry_choice

        return partial(telemetry_choice.named, telemetry_choice.Component(name, namespace, settings.task_metrics), os.environ)
    if service == "client":
        from sedano.aws.program_log import ProgramLog

        return ProgramLog
    from sedano.aws.telemetry import PowertoolsTelemetry

    return partial(PowertoolsTelemetry, name, namespace, by_task=settings.task_metrics)


def _clients(session: Session, component: str) -> Callable[[str], Any]:
    """Return a function from a service to its client; in a program, whose callers wait, each call ends in the time that it waits."""
    needed, seconds = NEEDED.get(component, ()), patience() if component == "client" else None

    def client(name: str) -> Any:
        made = session.client(name) if name in needed else session.later(name)
        if seconds is None:
            return made
        from sedano.aws.client.call_deadlines import BoundedClient

        return BoundedClient(made, name, seconds)

    return client


def _dated(dynamodb: Any, own: Clock, telemetry: Telemetry, service: str) -> tuple[Any, Clock]:
    """Return the client and the clock of *service*: for one `BY_THE_STORE`, wrapped to learn the time from its answers, and the machine's
    *own* clock bounded by that time.
    """
    if service not in BY_THE_STORE:
        return dynamodb, own
    from sedano.aws.client.store_time import bounded

    return bounded(dynamodb, own, telemetry)


def _blobs(s3: Any, settings: DeploymentSettings) -> Blobs:
    from sedano.aws.blobs import S3Blobs

    return S3Blobs(s3, settings.blobs_bucket)


def _events(s3: Any, settings: DeploymentSettings) -> Events:
    from sedano.aws.events import S3Events

    return S3Events(s3, settings.history_bucket)


def _rollups(dynamodb: Any, settings: DeploymentSettings) -> Rollups:
    from sedano.aws.rollups import DynamoRollups

    return DynamoRollups(dynamodb, settings.control_table)


def _leases(dynamodb: Any, settings: DeploymentSettings, clock: Clock) -> Leases:
    from sedano.aws.leases import DynamoLeases

    return DynamoLeases(dynamodb, settings.control_table, clock)


def _elections(dynamodb: Any, settings: DeploymentSettings) -> Elections:
    from sedano.aws.elections import DynamoElections

    return DynamoElections(dynamodb, settings.control_table, settings.ledger_table)


def _flow_runs(dynamodb: Any, settings: DeploymentSettings) -> FlowRuns:
    from sedano.aws.flow_runs import DynamoFlowRuns

    return DynamoFlowRuns(dynamodb, settings.control_table)


def _schedules(dynamodb: Any, settings: DeploymentSettings, service: str) -> ScheduleStore:
    if not settings.scheduler:
        raise ConfigurationError(
            "SEDANO_SCHEDULER is not on: this stage runs no scheduler, because the app declared no periodic task when it was deployed; "
            "declare one with @app.periodic(…), or deploy with the setting schedules=true"
        )
    from sedano.aws.schedules import DynamoSchedules

    return DynamoSchedules(dynamodb, settings.control_table, converts=service == "scheduler")


def _memos(dynamodb: Any, settings: DeploymentSettings) -> Memos:
    from sedano.aws.memos import DynamoMemos

    return DynamoMemos(dynamodb, settings.control_table)


def _consumers(sqs: Any, functions: Any, settings: DeploymentSettings, metrics: tuple[Any, Clock]) -> Consumers:
    from sedano.aws.consumers import LambdaConsumers

    return LambdaConsumers(sqs, functions, settings.queues, settings.mappings, metrics)


def _effects(dynamodb: Any, settings: DeploymentSettings) -> Effects:
    from sedano.aws.effects import DynamoEffects

    return DynamoEffects(dynamodb, settings.ledger_table, settings.tables)


def _functions(session: Session, settings: DeploymentSettings) -> CalledFunctions:
    from sedano.aws.functions import LambdaFunctions

    return LambdaFunctions(lambda seconds: session.single("lambda", seconds), settings.functions)


def _direct_calls(session: Session, settings: DeploymentSettings) -> DirectCalls:
    from sedano.aws.direct_calls import LambdaDirectCalls, UrlDirectCalls
    from sedano.model.addresses import is_function_url

    if is_function_url(settings.worker):
        return UrlDirectCalls(session.identity, settings.worker)
    return LambdaDirectCalls(lambda seconds: session.single("lambda", seconds), settings.worker)


def _limits(dynamodb: Any, settings: DeploymentSettings) -> Limits:
    from sedano.aws.limits import DynamoLimits

    return DynamoLimits(dynamodb, settings.control_table)


def _seals(ssm: Any, settings: DeploymentSettings, clock: Clock, entropy: Entropy, telemetry: Telemetry) -> Seals:
    from sedano.aws.key_store import SsmKeyStore
    from sedano.ports.seals import Seals

    return Seals(SsmKeyStore(ssm, settings.stage), clock, entropy, telemetry)


def _sinks(client_for: Callable[[str], Any], settings: DeploymentSettings, clock: Clock) -> Sinks:
    from sedano.aws.sinks.services import AwsSinks

    def webhook(_: str, address: str) -> Sinks:
        from sedano.aws.sinks.webhook import WebhookSink
        from sedano.aws.webhook_secrets import SINKS, SsmSecretTexts

        return WebhookSink(address, SsmSecretTexts(client_for("ssm"), settings.stage, SINKS), clock.now)

    return AwsSinks(client_for, settings.sinks, webhook)


def _parameters(ssm: Any, appconfig: Any) -> OwnersParameters:
    from sedano.aws.parameters import AwsParameters

    return AwsParameters(ssm, appconfig)


def _timers(scheduler: Any, settings: DeploymentSettings) -> Timers:
    from sedano.aws.timers import SchedulerTimers, TimerGroup, arn_of

    arns = {key: arn_of(url, scheduler.meta.region_name) for key, url in settings.queues.items()}
    group = TimerGroup(settings.timers_group, settings.timers_role, arns[PARKED])
    return SchedulerTimers(scheduler, group, arns)
