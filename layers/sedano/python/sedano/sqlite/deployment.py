"""All ports of one deployment over one SQLite file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sedano.ports import EVENTS, PARKED, RECORDS, Clock, Entropy, LookPauses, Ports, Telemetry, command_queue
from sedano.ports.seals import Seals
from sedano.sqlite.blobs import SqliteBlobs
from sedano.sqlite.consumers import SqliteConsumers
from sedano.sqlite.control import SqliteControl
from sedano.sqlite.effects import SqliteEffects
from sedano.sqlite.elections import SqliteElections
from sedano.sqlite.events import SqliteEvents
from sedano.sqlite.flow_runs import SqliteFlowRuns
from sedano.sqlite.key_store import SqliteKeyStore
from sedano.sqlite.leases import SqliteLeases
from sedano.sqlite.ledger import SqliteLedger
from sedano.sqlite.limits import SqliteLimits
from sedano.sqlite.members import SqliteMembers
from sedano.sqlite.memos import SqliteMemos
from sedano.sqlite.parameters import SqliteParameters
from sedano.sqlite.queues import SqliteQueues
from sedano.sqlite.rollups import SqliteRollups
from sedano.sqlite.schedules import SqliteSchedules
from sedano.sqlite.sinks import SqliteSinks
from sedano.sqlite.store import Store
from sedano.sqlite.timers import SqliteTimers

VISIBILITY_S = 60.0
"""For how long a received message stays invisible: longer than a worker may work on a batch."""
MAX_RECEIVES = 25
"""Receipts after which a message is a dead letter, as on AWS: more than the engine's own limits."""

LOOKS = LookPauses(first=0.002, most=0.05)
"""The pauses between reads of a record, while a caller waits for a result: it arrives soon after its worker recorded it, and the reads take
below 1 % of a core."""


def queue_keys(queues: Sequence[str]) -> tuple[str, ...]:
    """Return the keys of a deployment with these command *queues*."""
    return (*map(command_queue, queues), EVENTS, RECORDS, PARKED)


def connect(
    path: Path, queues: Sequence[str], clock: Clock, entropy: Entropy, telemetry: Telemetry, *, visibility: float = VISIBILITY_S,
    max_receives: int = MAX_RECEIVES,
) -> Ports:  # fmt: skip
    """Return the ports over the file at *path*, which is made at its first use. Any number of processes may use it at once.

    Args:
        path: the file; only the user who runs this process may have access to it.
        queues: names of the command queues; every process of the deployment names the same.
        clock: the machine's clock. `sedano.host.one_file` passes *clock*, *entropy* and *telemetry*.
        entropy: draws ids and nonces.
        telemetry: takes logs and metrics.
        visibility: seconds for which a received message stays invisible.
        max_receives: receipts after which a message goes to its queue's dead letters.
    """
    store = Store(path)
    own = SqliteQueues(store, clock, queue_keys(queues), visibility, max_receives)
    return Ports(
        ledger=SqliteLedger(store, clock),
        queues=own,
        blobs=SqliteBlobs(store, clock),
        events=SqliteEvents(store),
        rollups=SqliteRollups(store),
        members=SqliteMembers(store),
        leases=SqliteLeases(store, clock),
        control=SqliteControl(store),
        elections=SqliteElections(store),
        flow_runs=SqliteFlowRuns(store),
        memos=SqliteMemos(store),
        limits=SqliteLimits(store),
        consumers=SqliteConsumers(store, clock, own),
        timers=SqliteTimers(store, clock, own),
        schedules=SqliteSchedules(store),
        effects=SqliteEffects(store),
        parameters=SqliteParameters(store),
        sinks=SqliteSinks(store),
        seals=Seals(SqliteKeyStore(store), clock, entropy, telemetry),
        clock=clock, entropy=entropy, telemetry=telemetry, looks=LOOKS,
    )  # fmt: skip
