"""Ports that answer at once: the cost of a worker over them is the framework's own.

The queue accepts everything, the ledger grants every claim and accepts every outcome with the same answer, and nothing is counted or
logged. Time and randomness are those of a deployment, because a claim draws a nonce in production too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.answers import AnsweringClient, answering
from sedano import memory
from sedano.aws.client.session import Session
from sedano.aws.group_commit import GroupCommitLedger
from sedano.aws.ledger import DynamoLedger
from sedano.aws.machine import SystemClock, SystemEntropy
from sedano.aws.queues import SqsQueues
from sedano.errors import SedanoError
from sedano.model import states
from sedano.model.ledger.records import Claim, ClaimAnswer, Claimed, Outcome, RecordAnswer, Recorded, TaskRecord
from sedano.model.queues import SQS
from sedano.ports import Outgoing, Ports

_QUEUES = ("commands:default", "events", "records", "parked")
_GRANTED = Claimed(True, TaskRecord("task", states.RUNNING, fence=1, claims=1))
_ACCEPTED = Recorded(True)


class GrantingLedger(memory.MemoryLedger):
    """Grants every claim and accepts every outcome, and stores none."""

    def claim(self, claims: Sequence[Claim]) -> list[ClaimAnswer]:
        """Grant all."""
        return [_GRANTED] * len(claims)

    def record(self, outcomes: Sequence[Outcome]) -> list[RecordAnswer]:
        """Accept all."""
        return [_ACCEPTED] * len(outcomes)

    keep = record


class SwallowingQueues:
    """Accepts every message and delivers none."""

    bounds = SQS

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Accept all."""
        return [None] * len(messages)

    def receive(self, queue: str, most: int = 10, wait: float = 0.0) -> list[Any]:
        """Return nothing."""
        return []

    def delete(self, deliveries: Sequence[Any]) -> None:
        """Do nothing."""

    def hold(self, delivery: Any, seconds: float) -> None:
        """Do nothing."""


class SilentTelemetry:
    """Counts nothing and logs nothing."""

    def log(self, level: str, message: str, /, **fields: Any) -> None:
        """Log nothing."""

    def count(self, metric: str, value: float = 1, **dimensions: str) -> None:
        """Count nothing."""

    def calls(self) -> Mapping[str, int]:
        """Return nothing: no call was made."""
        return {}

    def flush(self) -> None:
        """Do nothing."""


def adapter_ports() -> Ports:
    """Return ports whose ledger is the DynamoDB adapter over a client that answers at once: the level at which Powertools is stubbed."""
    return replace(instant_ports(), ledger=DynamoLedger(AnsweringClient(), "bench", now=time.time))


def client_ports() -> Ports:
    """Return ports whose ledger and queues are the AWS adapters over botocore's own clients, answered where requests would leave."""
    address = "https://sqs.us-east-1.amazonaws.com/000000000000/bench"
    queues = SqsQueues(answering("sqs"), dict.fromkeys(_QUEUES, address))
    return replace(instant_ports(), ledger=DynamoLedger(answering("dynamodb"), "bench", now=time.time), queues=queues)


def loopback_ports(*, slim: bool, grouped: bool = False) -> Ports:
    """Return ports whose ledger and queues call the endpoint of the environment, with botocore's client or with the slim one; *grouped*:
    with group commit.
    """
    session = Session(slim=slim)
    queues = SqsQueues(session.client("sqs"), dict.fromkeys(_QUEUES, f"{os.environ['AWS_ENDPOINT_URL']}/000000000000/bench"))
    ledger = (GroupCommitLedger if grouped else DynamoLedger)(session.client("dynamodb"), "bench", now=time.time)
    return replace(instant_ports(), ledger=ledger, queues=queues, group_commit=grouped)


def instant_ports() -> Ports:
    """Return ports that answer at once."""
    return replace(
        memory.ports(), ledger=GrantingLedger(memory.VirtualClock(0.0)), queues=SwallowingQueues(), clock=SystemClock(),
        entropy=SystemEntropy(), telemetry=SilentTelemetry(),
    )  # fmt: skip
