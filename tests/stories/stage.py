"""A stage that outlives its processes: queues, ledger and history in memory, in one SQLite file or on moto, on one virtual clock.

What a story breaks are processes (`tests.stories.processes`); the stage is what remains. Time is virtual in both worlds: moto has no clock
that a test may move, so the times at which its messages become visible are moved instead.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from moto.sqs.models import sqs_backends

from sedano import memory
from sedano.aws.blobs import PREFIX, S3Blobs
from sedano.aws.control import DynamoControl
from sedano.aws.elections import DynamoElections
from sedano.aws.events import S3Events
from sedano.aws.flow_runs import DynamoFlowRuns
from sedano.aws.ledger import DynamoLedger
from sedano.aws.members import DynamoMembers
from sedano.aws.queues import SqsQueues
from sedano.model.messages.message import BlobRef
from sedano.ports import Ledger, Outgoing, Ports
from sedano.sqlite.deployment import connect
from sedano.sqlite.store import Store
from tests.conformance.worlds import queue_urls
from tests.plugins.resources import Resources
from tests.stories.audit import AuditedLedger
from tests.stories.filed import OnFile

T = TypeVar("T")
QUEUES = ("default", "bulk")
KEYS = memory.queue_keys(QUEUES)
VISIBILITY_S = 60.0
MOST_RECEIVES = 25
ACCOUNT = "123456789012"


class Backend(Protocol):
    """What differs between memory, a file and moto."""

    name: str

    def pass_time(self, seconds: float) -> None:
        """Bring what is hidden in the queues closer by *seconds*."""

    def hidden_for(self, queue: str, now: float) -> list[float]:
        """Return for each message of *queue* the seconds until it is visible."""

    def peek(self, queue: str) -> list[Outgoing]:
        """Return what lies in *queue*."""

    def dead(self, queue: str) -> list[Outgoing]:
        """Return its dead letters."""

    def damage(self, ref: BlobRef, data: bytes | None) -> None:
        """Replace the bytes of a blob, or lose them."""


@dataclass
class InMemory:
    """Everything over dicts: their clock is the stage's, so time passes by itself."""

    queues: memory.MemoryQueues
    blobs: memory.MemoryBlobs
    name: str = "memory"

    def pass_time(self, seconds: float) -> None:
        """Nothing to do."""

    def hidden_for(self, queue: str, now: float) -> list[float]:
        """The seconds until the next message is visible."""
        at = self.queues.next_visible(queue)
        return [] if at is None else [max(0.0, at - now)]

    def peek(self, queue: str) -> list[Outgoing]:
        """What lies in *queue*."""
        return self.queues.peek(queue)

    def dead(self, queue: str) -> list[Outgoing]:
        """Its dead letters."""
        return self.queues.dead(queue)

    def damage(self, ref: BlobRef, data: bytes | None) -> None:
        """Replace or lose a blob."""
        self.blobs.damage(ref, data)


@dataclass
class OnMoto:
    """AWS adapters on moto; single-threaded."""

    resources: Resources
    urls: dict[str, str]
    s3: Any
    name: str = "moto"

    def pass_time(self, seconds: float) -> None:
        """Move the moments from which messages are visible."""
        for key in KEYS:
            for message in self._queue(key)._messages:
                message.visible_at -= seconds * 1000
                message.delayed_until -= seconds * 1000

    def hidden_for(self, queue: str, now: float) -> list[float]:
        """The seconds until each message is visible on moto's own clock, which is the machine's."""
        wall = time.time() * 1000
        return [max(0.0, m.visible_at - wall, m.delayed_until - wall) / 1000 for m in self._queue(queue)._messages]

    def peek(self, queue: str) -> list[Outgoing]:
        """What lies in *queue*."""
        return [_outgoing(message) for message in self._queue(queue)._messages]

    def dead(self, queue: str) -> list[Outgoing]:
        """Its dead letters."""
        letters = self._queue(queue).dead_letter_queue
        return [_outgoing(message) for message in letters._messages] if letters is not None else []

    def damage(self, ref: BlobRef, data: bytes | None) -> None:
        """Replace or lose a blob."""
        where = {"Bucket": self.resources.settings["SEDANO_BLOBS_BUCKET"], "Key": PREFIX + ref.digest}
        if data is None:
            self.s3.delete_object(**where)
        else:
            self.s3.put_object(**where, Body=data)

    def _queue(self, key: str) -> Any:
        backend = sqs_backends[ACCOUNT][self.resources.session.region_name]
        return backend.queues[self.urls[key].rpartition("/")[2]]


@dataclass
class Stage:
    """Ports, the clock they share, and what a story looks at."""

    ports: Ports
    clock: memory.VirtualClock
    audit: AuditedLedger
    telemetry: memory.MemoryTelemetry
    backend: Backend
    keys: Sequence[str] = field(default=KEYS)

    @property
    def name(self) -> str:
        """Which world it stands in."""
        return self.backend.name

    def pass_time(self, seconds: float) -> None:
        """Let *seconds* pass for everything."""
        self.clock.advance(seconds)
        self.backend.pass_time(seconds)

    def hidden_for(self, queues: Sequence[str]) -> float | None:
        """Return the seconds until the next message of *queues* is visible; None when they are empty."""
        return min((s for queue in queues for s in self.backend.hidden_for(queue, self.clock.now())), default=None)

    def peek(self, queue: str) -> list[Outgoing]:
        """Return what lies in *queue* without receiving it."""
        return self.backend.peek(queue)

    def dead(self) -> list[Outgoing]:
        """Return the dead letters of all queues."""
        return [letter for key in self.keys for letter in self.backend.dead(key)]

    def damage(self, ref: BlobRef, data: bytes | None) -> None:
        """Replace the bytes of a blob, or lose them (None)."""
        self.backend.damage(ref, data)


def in_memory() -> Stage:
    """A stage over dicts."""
    ports = _in_memory()
    return _stage(ports, ports.ledger, InMemory(_as(memory.MemoryQueues, ports.queues), _as(memory.MemoryBlobs, ports.blobs)))


def on_moto(resources: Resources) -> Stage:
    """A stage over the AWS adapters: tables, queues and buckets of the synthesised template, one call at a time."""
    dynamodb, sqs, s3 = (resources.session.client(service) for service in ("dynamodb", "sqs", "s3"))
    settings, urls = resources.settings, queue_urls(resources)
    ports = replace(
        _in_memory(),
        queues=SqsQueues(sqs, urls),
        blobs=S3Blobs(s3, settings["SEDANO_BLOBS_BUCKET"]),
        events=S3Events(s3, settings["SEDANO_HISTORY_BUCKET"]),
        members=DynamoMembers(dynamodb, settings["SEDANO_CONTROL_TABLE"]),
        control=DynamoControl(dynamodb, settings["SEDANO_CONTROL_TABLE"]),
        elections=DynamoElections(dynamodb, settings["SEDANO_CONTROL_TABLE"], settings["SEDANO_LEDGER_TABLE"]),
        flow_runs=DynamoFlowRuns(dynamodb, settings["SEDANO_CONTROL_TABLE"]),
    )
    ledger = DynamoLedger(dynamodb, settings["SEDANO_LEDGER_TABLE"], lanes=1)
    return _stage(ports, ledger, OnMoto(resources, urls, s3))


def on_file(folder: Path) -> Stage:
    """A stage over one SQLite file in *folder*."""
    own, path = _in_memory(), folder / "stage" / "sedano.db"
    ports = connect(path, QUEUES, own.clock, own.entropy, own.telemetry, visibility=VISIBILITY_S, max_receives=MOST_RECEIVES)
    return _stage(ports, ports.ledger, OnFile(Store(path)))


def _in_memory() -> Ports:
    return memory.ports(QUEUES, seed=7, visibility=VISIBILITY_S, max_receives=MOST_RECEIVES)


def _stage(ports: Ports, ledger: Ledger, backend: Backend) -> Stage:
    audit = AuditedLedger(ledger)
    clock, telemetry = _as(memory.VirtualClock, ports.clock), _as(memory.MemoryTelemetry, ports.telemetry)
    return Stage(replace(ports, ledger=audit), clock, audit, telemetry, backend)


def _as(kind: type[T], value: object) -> T:
    assert isinstance(value, kind)
    return value


def _outgoing(message: Any) -> Outgoing:
    attributes = {name: value["StringValue"] for name, value in message.message_attributes.items()}
    return Outgoing(message.body, 0, message.group_id, attributes)
