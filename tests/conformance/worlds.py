"""The worlds that every port's promises are run in: memory, one SQLite file, moto in this process, and a real endpoint (ministack).

A world is a set of ports over empty resources of its own. What differs between worlds is said here, once: how to lose
the answer to a request, how to damage a blob, and whether calls may go out together.
"""

import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore.exceptions import ReadTimeoutError
from botocore.httpsession import URLLib3Session
from moto.core.models import botocore_stubber

from sedano import memory
from sedano.aws.blobs import PREFIX, S3Blobs
from sedano.aws.client.session import Session
from sedano.aws.client.slim.client import SlimClient
from sedano.aws.client.slim.connections import Connections, EndpointAddress
from sedano.aws.consumers import LambdaConsumers
from sedano.aws.control import DynamoControl
from sedano.aws.effects import DynamoEffects
from sedano.aws.elections import DynamoElections
from sedano.aws.events import S3Events
from sedano.aws.flow_runs import DynamoFlowRuns
from sedano.aws.group_commit import GroupCommitLedger
from sedano.aws.leases import DynamoLeases
from sedano.aws.ledger import DynamoLedger
from sedano.aws.limits import DynamoLimits
from sedano.aws.machine import SystemClock
from sedano.aws.members import DynamoMembers
from sedano.aws.memos import DynamoMemos
from sedano.aws.queues import SqsQueues
from sedano.aws.rollups import DynamoRollups
from sedano.aws.schedules import DynamoSchedules
from sedano.aws.settings import command_addresses
from sedano.aws.timers import SchedulerTimers, TimerGroup, arn_of
from sedano.memory.folder_archive import FolderLeases
from sedano.model.messages.message import BlobRef
from sedano.ports import (
    EVENTS,
    PARKED,
    RECORDS,
    Blobs,
    ControlStore,
    Elections,
    Events,
    FlowRuns,
    Leases,
    Ledger,
    Members,
    Memos,
    Ports,
    Queues,
    ScheduleStore,
    Timers,
    command_queue,
)
from sedano.ports.consumers import Consumers
from sedano.ports.effects import Effects
from sedano.ports.limits import Limits
from sedano.ports.rollups import Rollups
from sedano.sqlite.deployment import connect
from sedano.sqlite.store import Store
from tests.conformance.relay import Relay
from tests.plugins.resources import QUEUES, Resources

COMMANDS = command_queue("default")


@dataclass(frozen=True, slots=True)
class World:
    """Ports over empty resources.

    *losing* makes the answers to an operation get lost, after the service has done its work. *damage* replaces a blob's
    bytes (None: loses them). *concurrent* tells whether several threads may write at once.
    """

    name: str
    ledger: Ledger
    queues: Queues
    blobs: Blobs
    events: Events
    rollups: Rollups
    members: Members
    leases: Leases
    control: ControlStore
    elections: Elections
    flow_runs: FlowRuns
    memos: Memos
    limits: Limits
    consumers: Consumers
    timers: Timers
    schedules: ScheduleStore
    effects: Effects
    losing: Callable[[str], AbstractContextManager[None]]
    damage: Callable[[BlobRef, bytes | None], None]
    concurrent: bool
    max_receives: int

    @property
    def is_local(self) -> bool:
        """Whether nothing lies between a caller and the store, so that no answer can be lost."""
        return self.name in ("memory", "sqlite")


def named(name: str, request: pytest.FixtureRequest) -> World:
    """The world of this name for the test that makes this *request*; `folder` has leases of its own, and is memory otherwise."""
    match name:
        case "memory":
            return in_memory()
        case "folder":
            clock = memory.VirtualClock(memory.START)
            return replace(in_memory(), leases=FolderLeases(request.getfixturevalue("tmp_path") / "not made yet", clock))
        case "sqlite":
            return on_one_file(request.getfixturevalue("tmp_path"))
        case "grouped_ministack":
            return over_aws(request.getfixturevalue("timeless_resources"), grouped=True)
        case "slim_ministack":
            return over_slim(request.getfixturevalue("timeless_resources"))
    return over_aws(request.getfixturevalue("resources" if name == "moto" else "timeless_resources"))


def in_memory() -> World:
    """Everything over dicts. No network, so there is no answer to lose: the write is simply made twice."""
    ports = memory.ports(QUEUES)
    blobs: Any = ports.blobs
    return World(name="memory", losing=lambda _: nullcontext(), damage=blobs.damage, concurrent=True, max_receives=5, **own(ports))


def own(ports: Ports) -> dict[str, Any]:
    """The ports of a world, by name."""
    return {port.name: getattr(ports, port.name) for port in fields(World) if hasattr(ports, port.name)}


def on_one_file(folder: Path) -> World:
    """Everything over one SQLite file in *folder*, on virtual time. Here too no answer can be lost: the write is simply made twice."""
    path, clock = folder / "sedano.db", memory.VirtualClock(memory.START)
    ports = connect(path, QUEUES, clock, memory.SeededEntropy(), memory.MemoryTelemetry(), visibility=30.0, max_receives=5)

    def damage(ref: BlobRef, data: bytes | None) -> None:
        with Store(path).changing() as database:
            if data is None:
                database.execute("DELETE FROM blob WHERE digest = ?", (ref.digest,))
            else:
                database.execute("UPDATE blob SET data = ? WHERE digest = ?", (data, ref.digest))

    return World(name="sqlite", losing=lambda _: nullcontext(), damage=damage, concurrent=True, max_receives=5, **own(ports))


def over_slim(resources: Resources) -> World:
    """Everything over the AWS adapters and the slim client, on a real endpoint that it reaches through a relay that can lose answers."""
    found: Any = resources.session.get_credentials()
    assert resources.endpoint_url is not None
    session, relay = _slim_session(resources.endpoint_url, found.access_key, found.secret_key, resources.session.region_name)
    return replace(over_aws(resources, session), losing=relay.losing)


@cache
def _slim_session(endpoint_url: str, access_key: str, secret_key: str, region: str) -> tuple[Session, Relay]:
    source, relay = botocore.session.Session(), Relay(endpoint_url)
    source.unregister("before-send", botocore_stubber)  # moto's, which answers in this process; only botocore can call it
    source.set_credentials(access_key, secret_key)
    source.set_config_variable("region", region)
    session = Session(lambda: source, endpoint_url, slim=True, retries={"total_max_attempts": 1, "mode": "standard"})
    for service in ("dynamodb", "sqs"):
        client = session.client(service)
        assert isinstance(client, SlimClient)
        client._connections = Connections(EndpointAddress.of(relay.url), 2, 16)
    return session, relay


def over_aws(resources: Resources, session: Session | None = None, *, grouped: bool = False) -> World:
    """Everything over the AWS adapters; on moto with one lane, because it is not atomic across threads. *grouped*: with group commit."""
    settings, real = resources.settings, resources.endpoint_url is not None
    session = session or session_of(resources)
    dynamodb, sqs, s3 = (session.client(service) for service in ("dynamodb", "sqs", "s3"))
    urls, bucket = queue_urls(resources), settings["SEDANO_BLOBS_BUCKET"]

    def damage(ref: BlobRef, data: bytes | None) -> None:
        if data is None:
            s3.delete_object(Bucket=bucket, Key=PREFIX + ref.digest)
        else:
            s3.put_object(Bucket=bucket, Key=PREFIX + ref.digest, Body=data)

    return World(
        name="ministack" if real else "moto",
        ledger=(GroupCommitLedger if grouped else DynamoLedger)(dynamodb, settings["SEDANO_LEDGER_TABLE"], lanes=5 if real else 1),
        queues=SqsQueues(sqs, urls),
        blobs=S3Blobs(s3, bucket),
        events=S3Events(s3, settings["SEDANO_HISTORY_BUCKET"]),
        leases=DynamoLeases(dynamodb, settings["SEDANO_CONTROL_TABLE"], SystemClock()),
        elections=DynamoElections(dynamodb, settings["SEDANO_CONTROL_TABLE"], settings["SEDANO_LEDGER_TABLE"]),
        consumers=LambdaConsumers(sqs, session.later("lambda"), urls, {}, (session.later("cloudwatch"), SystemClock())),
        timers=timers_of(session.client("scheduler"), urls),
        effects=effects_of(dynamodb, settings["SEDANO_LEDGER_TABLE"]),
        losing=lambda operation: losing_answers(dynamodb, operation, send=real),
        damage=damage,
        concurrent=real,
        max_receives=_max_receives(sqs, urls[COMMANDS]),
        **in_the_control_table(dynamodb, settings["SEDANO_CONTROL_TABLE"]),
    )


def in_the_control_table(dynamodb: Any, table: str) -> dict[str, Any]:
    """The ports that keep their things in the control table and nowhere else, by name."""
    return {
        "rollups": DynamoRollups(dynamodb, table),
        "members": DynamoMembers(dynamodb, table),
        "control": DynamoControl(dynamodb, table),
        "flow_runs": DynamoFlowRuns(dynamodb, table),
        "memos": DynamoMemos(dynamodb, table),
        "limits": DynamoLimits(dynamodb, table),
        "schedules": DynamoSchedules(dynamodb, table),
    }


def effects_of(dynamodb: Any, ledger: str) -> DynamoEffects:
    """Effects on a table of a user's own, which is made by the first call."""
    return DynamoEffects(dynamodb, ledger, UserTables(dynamodb), pauses=())


class UserTables(Mapping[str, str]):
    """The one table `orders`, made when it is first looked up: most tests have no effects."""

    def __init__(self, dynamodb: Any) -> None:
        """Make it with *dynamodb*."""
        self._dynamodb, self._made = dynamodb, ""

    def __getitem__(self, name: str) -> str:
        """Return the name of the table in DynamoDB."""
        if not self._made:
            self._made = f"orders-{secrets.token_hex(6)}"
            schema = {"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}], "BillingMode": "PAY_PER_REQUEST"}
            self._dynamodb.create_table(TableName=self._made, KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}], **schema)
        return self._made

    def __contains__(self, name: object) -> bool:
        """Return whether it is the one table."""
        return name == "orders"

    def __iter__(self) -> Iterator[str]:
        """Return the one name."""
        return iter(["orders"])

    def __len__(self) -> int:
        """Return 1."""
        return 1


def timers_of(scheduler: Any, urls: dict[str, str]) -> SchedulerTimers:
    """Timers in a schedule group of their own."""
    name = f"t{secrets.token_hex(6)}"
    scheduler.create_schedule_group(Name=name)
    arns = {key: arn_of(url, scheduler.meta.region_name) for key, url in urls.items()}
    return SchedulerTimers(scheduler, TimerGroup(name, "arn:aws:iam::000000000000:role/timers", arns[PARKED]), arns)


def session_of(resources: Resources) -> Session:
    """The library's own session on these resources' endpoint, made once for all tests; it does not try again by itself."""
    found: Any = resources.session.get_credentials()
    return _session(resources.endpoint_url, found.access_key, found.secret_key, resources.session.region_name)


@cache
def _session(endpoint_url: str | None, access_key: str, secret_key: str, region: str) -> Session:
    source = botocore.session.Session()
    source.set_credentials(access_key, secret_key)
    source.set_config_variable("region", region)
    return Session(lambda: source, endpoint_url, retries={"total_max_attempts": 1, "mode": "standard"})


def queue_urls(resources: Resources) -> dict[str, str]:
    """The queues' addresses by the keys of `sedano.ports`."""
    settings = resources.settings
    commands = {command_queue(name): url for name, url in command_addresses(settings).items()}
    return {
        **commands,
        EVENTS: settings["SEDANO_EVENTS_QUEUE"],
        RECORDS: settings["SEDANO_RECORDS_QUEUE"],
        PARKED: settings["SEDANO_PARKED_QUEUE"],
    }


def _max_receives(sqs: Any, url: str) -> int:
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["RedrivePolicy"])
    return int(json.loads(found["Attributes"]["RedrivePolicy"])["maxReceiveCount"])


@contextmanager
def losing_answers(client: Any, operation: str, *, send: bool, times: int = 1_000_000) -> Iterator[None]:
    """Lose the first *times* answers to *operation*: the service gets the request and does its work, the caller gets a
    time-out.

    moto answers in a hook for all operations, and botocore calls those for one operation before them: so this hook is for
    all operations too, the last of them, and runs when moto has answered. A real endpoint is sent the request here.
    """
    left = iter(range(times))
    lost = f"before-send.{client.meta.service_model.service_id.hyphenize()}.{operation}"

    def lose(request: Any, event_name: str, **_: Any) -> None:
        if event_name != lost or next(left, None) is None:
            return
        if send:
            URLLib3Session().send(request)
        raise ReadTimeoutError(endpoint_url=request.url)

    client.meta.events.register_last("before-send", lose)
    try:
        yield
    finally:
        client.meta.events.unregister("before-send", lose)
