"""The price of the workers' part of a run on AWS: requests, writes, reads and compute at list prices (us-east-1, arm64).

The router, the recorder, storage, logs and idle queues are not included: they do not grow with the workers' calls that are counted here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MILLION = 1_000_000
PRICES = {
    "sqs": ("SQS requests", 0.40),
    "write": ("DynamoDB writes", 0.625),
    "read": ("DynamoDB reads, strongly consistent", 0.125),
    "s3.GetObject": ("S3 reads", 0.40),
    "s3.PutObject": ("S3 writes", 5.00),
    "invocation": ("Lambda requests", 0.20),
    "gb_s": ("Lambda compute, GB·s", 13.33),
}
"""The name of each kind, and the dollars for a million."""
RECEIVE_AND_DELETE = 2
_KINDS = {"dynamodb.UpdateItem": "write", "dynamodb.PutItem": "write", "dynamodb.GetItem": "read"}


@dataclass(frozen=True, slots=True)
class Used:
    """The usage of the workers: their AWS calls, invocations, seconds, and the items that joins read in batches."""

    calls: Mapping[str, int]
    invocations: int
    seconds: float
    gathered: int
    memory_gb: float = 0.5


@dataclass(frozen=True, slots=True)
class Item:
    """One line of the bill."""

    name: str
    amount: float
    dollars: float


def bill(used: Used) -> list[Item]:
    """Return the lines of the bill that are not zero."""
    amounts = dict.fromkeys(PRICES, 0.0)
    for call, count in used.calls.items():
        kind = "sqs" if call.startswith("sqs.") else _KINDS.get(call, call)
        if kind in amounts:
            amounts[kind] += count
    amounts["sqs"] += RECEIVE_AND_DELETE * used.invocations
    amounts["read"] += used.gathered
    amounts["invocation"] += used.invocations
    amounts["gb_s"] += used.seconds * used.memory_gb
    return [Item(name, amounts[kind], amounts[kind] * price / MILLION) for kind, (name, price) in PRICES.items() if amounts[kind]]
