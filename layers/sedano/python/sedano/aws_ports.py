"""The ports over AWS. A client that a component surely needs is made while it starts; a port that few invocations use when one does."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sedano.aws.control import DynamoControl
from sedano.aws.host import SystemClock, SystemEntropy
from sedano.aws.ledger import DynamoLedger
from sedano.aws.members import DynamoMembers
from sedano.aws.noted import NotedClient
from sedano.aws.queues import SqsQueues
from sedano.aws.session import Session
from sedano.deadlines import patience
from sedano.errors import ConfigurationError
from sedano.ports import PARKED, Blobs, Clock, Elections, Entropy, Events, FlowRuns, Leases, Memos, Ports, Schedules, Telemetry, Timers
from sedano.settings import Settings

if TYPE_CHECKING:
    from sedano.aws.blobs import S3Blobs
    from sedano.aws.consumers import LambdaConsumers
    from sedano.aws.elections import DynamoElections
    from sedano.aws.events import S3Events
    from sedano.aws.flow_runs import DynamoFlowRuns
    from sedano.aws.leases import DynamoLeases
    from sedano.aws.limits import DynamoLimits
    from sedano.aws.memos import DynamoMemos
    from sedano.aws.schedules import DynamoSchedules
    from sedano.aws.telemetry import PowertoolsTelemetry
    from sedano.aws.timers import SchedulerTimers
    from sedano.consumers import Consumers
    from sedano.limits import Limits
    from sedano.seals import Seals

NEEDED = {
    "client": ("sqs",), "worker": ("sqs", "dynamodb"), "router": ("sqs",), "recorder": ("s3",), "scheduler": ("dynamodb", "sqs"),
    "controller": ("dynamodb", "sqs"), "webhook": ("sqs",), "stream": ("sqs",),
}  # fmt: skip
"""The services that a component calls whatever comes: a client is made while a function starts, not while a message waits."""
BY_THE_STORE = ("scheduler", "controller")
"""Components that decide for all what is due: they go by the table's clock where their machine's is wrong."""


def ports_of(settings: Settings, service: str, session: Session | None = None) -> Ports:
    """Return the ports over AWS for *settings*; *service* names the component in logs and metrics.

    Clients that the component surely needs are made now, the others when they are first used.
    """
    session, needed = session or Session(), NEEDED[service]
    own: Clock = SystemClock()
    client = _clients(session, needed, patience() if service == "client" else None)
    sqs, dynamodb, s3 = (client(name) for name in ("sqs", "dynamodb", "s3"))
    telemetry = _telemetry(service, settings, session)
    dynamodb, clock = _dated(dynamodb, own, telemetry) if service in BY_THE_STORE else (dynamodb, own)
    noted, entropy = NotedClient(dynamodb, own), SystemEntropy()
    return Ports(
        ledger=DynamoLedger(dynamodb, settings.ledger_table),
        queues=SqsQueues(sqs, settings.queues),
        blobs=_when_used(lambda: _blobs(s3, settings)),
        events=_when_used(lambda: _events(s3, settings)),
        members=DynamoMembers(dynamodb, settings.control_table),
        leases=_when_used(lambda: _leases(dynamodb, settings, own)),
        control=DynamoControl(noted, settings.control_table),
        elections=_when_used(lambda: _elections(dynamodb, settings)),
        flow_runs=_when_used(lambda: _flow_runs(dynamodb, settings)),
        memos=_when_used(lambda: _memos(dynamodb, settings)),
        limits=_when_used(lambda: _limits(dynamodb, settings)),
        consumers=_when_used(lambda: _consumers(client("sqs"), client("lambda"), settings)),
        timers=_when_used(lambda: _timers(client("scheduler"), settings)),
        schedules=_when_used(lambda: _schedules(dynamodb, settings)),
        seals=_when_used(lambda: _seals(client("ssm"), settings, clock, entropy, telemetry)),
        clock=clock,
        entropy=entropy,
        telemetry=telemetry,
        most_budget=settings.most_budget,
        store_time=noted.time,
    )


class _WhenUsed:
    """Stands for a port that few invocations use: it is loaded and made when its first operation is asked for."""

    def __init__(self, make: Callable[[], Any]) -> None:
        """Remember how to *make* the port."""
        self._make = make

    def __getattr__(self, operation: str) -> Any:
        """Return the port's own operation."""
        port = self.__dict__.get("_port") or self.__dict__.setdefault("_port", self._make())
        return getattr(port, operation)


def _when_used(make: Callable[[], Any]) -> Any:
    return _WhenUsed(make)


def _telemetry(service: str, settings: Settings, session: Session) -> Telemetry:
    """Return where a component logs and counts: a program through Python's logging, a function for CloudWatch."""
    if service == "client":
        written: Telemetry = importlib.import_module("sedano.aws.program_log").ProgramLog(session.calls)
        return written
    made: PowertoolsTelemetry = importlib.import_module("sedano.aws.telemetry").PowertoolsTelemetry(
        f"sedano-{service}", f"sedano/{settings.stage}", session.calls, by_task=settings.task_metrics
    )
    return made


def _clients(session: Session, needed: tuple[str, ...], seconds: float | None) -> Callable[[str], Any]:
    """Return what gives the client of a service; with *seconds*, for programs whose callers wait, each of its calls ends in that time."""

    def client(name: str) -> Any:
        made = session.client(name) if name in needed else session.later(name)
        return made if seconds is None else importlib.import_module("sedano.aws.bounded").BoundedClient(made, name, seconds)

    return client


def _dated(dynamodb: Any, own: Clock, telemetry: Telemetry) -> tuple[Any, Clock]:
    """Return the client so that its answers tell the time, and the machine's *own* clock bounded by that."""
    made: tuple[Any, Clock] = importlib.import_module("sedano.aws.dated").bounded(dynamodb, own, telemetry)
    return made


def _blobs(s3: Any, settings: Settings) -> Blobs:
    made: S3Blobs = importlib.import_module("sedano.aws.blobs").S3Blobs(s3, settings.blobs_bucket)
    return made


def _events(s3: Any, settings: Settings) -> Events:
    made: S3Events = importlib.import_module("sedano.aws.events").S3Events(s3, settings.history_bucket)
    return made


def _leases(dynamodb: Any, settings: Settings, clock: Clock) -> Leases:
    made: DynamoLeases = importlib.import_module("sedano.aws.leases").DynamoLeases(dynamodb, settings.control_table, clock)
    return made


def _elections(dynamodb: Any, settings: Settings) -> Elections:
    module = importlib.import_module("sedano.aws.elections")
    made: DynamoElections = module.DynamoElections(dynamodb, settings.control_table, settings.ledger_table)
    return made


def _flow_runs(dynamodb: Any, settings: Settings) -> FlowRuns:
    made: DynamoFlowRuns = importlib.import_module("sedano.aws.flow_runs").DynamoFlowRuns(dynamodb, settings.control_table)
    return made


def _schedules(dynamodb: Any, settings: Settings) -> Schedules:
    if not settings.scheduler:
        raise ConfigurationError(
            "SEDANO_SCHEDULER is not on: this stage runs no scheduler, because the app declared no periodic task when it was deployed; "
            "declare one with @app.periodic(…), or deploy with the setting schedules=true"
        )
    made: DynamoSchedules = importlib.import_module("sedano.aws.schedules").DynamoSchedules(dynamodb, settings.control_table)
    return made


def _memos(dynamodb: Any, settings: Settings) -> Memos:
    made: DynamoMemos = importlib.import_module("sedano.aws.memos").DynamoMemos(dynamodb, settings.control_table)
    return made


def _consumers(sqs: Any, functions: Any, settings: Settings) -> Consumers:
    module = importlib.import_module("sedano.aws.consumers")
    made: LambdaConsumers = module.LambdaConsumers(sqs, functions, settings.queues, settings.mappings)
    return made


def _limits(dynamodb: Any, settings: Settings) -> Limits:
    made: DynamoLimits = importlib.import_module("sedano.aws.limits").DynamoLimits(dynamodb, settings.control_table)
    return made


def _seals(ssm: Any, settings: Settings, clock: Clock, entropy: Entropy, telemetry: Telemetry) -> Seals:
    store = importlib.import_module("sedano.aws.key_store").SsmKeyStore(ssm, settings.stage)
    made: Seals = importlib.import_module("sedano.seals").Seals(store, clock, entropy, telemetry)
    return made


def _timers(scheduler: Any, settings: Settings) -> Timers:
    module = importlib.import_module("sedano.aws.timers")
    arns = {key: module.arn_of(url, scheduler.meta.region_name) for key, url in settings.queues.items()}
    group = module.TimerGroup(settings.timers_group, settings.timers_role, arns[PARKED])
    made: SchedulerTimers = module.SchedulerTimers(scheduler, group, arns)
    return made
