"""Every port over dicts: for tests (yours too), for simulations, and the oracle of the conformance suites.

Nothing here sleeps, reads a clock of its own or draws randomness of its own: time is a `VirtualClock` that moves when
you say so, ids come from a seed, so a run repeats exactly. All of it may be used from several threads.

>>> from sedano import memory
>>> ports = memory.ports(queues=("default",), seed=1)
>>> ports.blobs.get(ports.blobs.put(b"text"))
b'text'
"""

from __future__ import annotations

from collections.abc import Sequence

from sedano.memory.backlog import MemoryBacklog
from sedano.memory.blobs import MemoryBlobs
from sedano.memory.consumers import MemoryConsumers
from sedano.memory.control import MemoryControl
from sedano.memory.direct_calls import MemoryDirectCalls
from sedano.memory.effects import MemoryEffects
from sedano.memory.elections import MemoryElections
from sedano.memory.events import MemoryEvents
from sedano.memory.flow_runs import MemoryFlowRuns
from sedano.memory.functions import MemoryFunctions
from sedano.memory.key_store import MemoryKeyStore
from sedano.memory.leases import MemoryLeases
from sedano.memory.ledger import MemoryLedger
from sedano.memory.limits import MemoryLimits
from sedano.memory.machine import SeededEntropy, VirtualClock
from sedano.memory.members import MemoryMembers
from sedano.memory.memos import MemoryMemos
from sedano.memory.parameters import MemoryParameters
from sedano.memory.queues import MemoryQueues
from sedano.memory.rollups import MemoryRollups
from sedano.memory.schedules import MemorySchedules
from sedano.memory.sinks import MemorySinks
from sedano.memory.telemetry import MemoryTelemetry, MemoryTraces
from sedano.memory.timers import MemoryTimers
from sedano.memory.webhook_secrets import MemorySecretTexts
from sedano.model.messages.lineage import DEFAULT_BUDGET
from sedano.model.queues import SQS, QueueBounds
from sedano.ports import EVENTS, PARKED, RECORDS, Clock, Ports, Telemetry, command_queue
from sedano.ports.seals import Seals

__all__ = [
    "MemoryBacklog",
    "MemoryBlobs",
    "MemoryConsumers",
    "MemoryControl",
    "MemoryDirectCalls",
    "MemoryEffects",
    "MemoryElections",
    "MemoryEvents",
    "MemoryFlowRuns",
    "MemoryFunctions",
    "MemoryKeyStore",
    "MemoryLeases",
    "MemoryLedger",
    "MemoryLimits",
    "MemoryMembers",
    "MemoryMemos",
    "MemoryParameters",
    "MemoryQueues",
    "MemoryRollups",
    "MemorySchedules",
    "MemorySecretTexts",
    "MemorySinks",
    "MemoryTelemetry",
    "MemoryTimers",
    "MemoryTraces",
    "SeededEntropy",
    "VirtualClock",
    "over",
    "ports",
    "queue_keys",
]

START = 1_767_225_600.0
"""The default start of a virtual clock: 2026-01-01T00:00:00Z."""


def queue_keys(queues: Sequence[str]) -> tuple[str, ...]:
    """Return the keys of a deployment with these command *queues*."""
    return (*map(command_queue, queues), EVENTS, RECORDS, PARKED)


def ports(
    queues: Sequence[str] = ("default",),
    seed: int = 0,
    *,
    start: float = START,
    visibility: float = 30.0,
    max_receives: int = 5,
    bounds: QueueBounds = SQS,
) -> Ports:
    """Return a whole deployment in memory.

    Args:
        queues: names of the command queues.
        seed: decides every id, nonce and jitter.
        start: the first time that the virtual clock shows, in seconds since the epoch.
        visibility: seconds for which a received message stays invisible.
        max_receives: receipts after which a message goes to its queue's dead letters.
        bounds: the bounds of the queues; by default those of SQS.
    """
    clock = VirtualClock(start)
    return over(clock, MemoryQueues(clock, queue_keys(queues), visibility, max_receives, bounds), MemoryTelemetry(), seed)


def over(clock: Clock, queues: MemoryQueues, telemetry: Telemetry, seed: int = 0, most_budget: int = DEFAULT_BUDGET) -> Ports:
    """Return a whole deployment in memory over these *queues*, on *clock*; *most_budget*: see `sedano.ports.Ports`."""
    ledger = MemoryLedger(clock)
    return Ports(
        ledger=ledger,
        queues=queues,
        blobs=MemoryBlobs(),
        events=MemoryEvents(),
        rollups=MemoryRollups(),
        members=MemoryMembers(),
        leases=MemoryLeases(clock),
        control=MemoryControl(),
        elections=MemoryElections(ledger),
        flow_runs=MemoryFlowRuns(),
        memos=MemoryMemos(),
        limits=MemoryLimits(),
        consumers=MemoryConsumers(queues),
        timers=MemoryTimers(clock, queues),
        schedules=MemorySchedules(),
        effects=MemoryEffects(ledger),
        functions=MemoryFunctions(),
        parameters=MemoryParameters(),
        sinks=MemorySinks(),
        direct_calls=MemoryDirectCalls(),
        seals=Seals(MemoryKeyStore(), clock, SeededEntropy(seed), telemetry),
        clock=clock,
        entropy=SeededEntropy(seed),
        telemetry=telemetry,
        most_budget=most_budget,
    )
