"""The price of invocations, estimated from their reports in the history with the list prices of us-east-1 in US dollars. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

MEMORY_MB: Final = 512
GB_SECONDS: Final = 13.3334
INVOCATIONS: Final = 0.20
CALLS: Final = {
    "sqs.SendMessage": 0.40, "sqs.SendMessageBatch": 0.40, "sqs.ReceiveMessage": 0.40, "sqs.DeleteMessage": 0.40,
    "sqs.DeleteMessageBatch": 0.40, "sqs.ChangeMessageVisibility": 0.40,
    "dynamodb.UpdateItem": 0.625, "dynamodb.PutItem": 0.625, "dynamodb.TransactWriteItems": 2.50, "dynamodb.BatchExecuteStatement": 0.625,
    "dynamodb.GetItem": 0.125, "dynamodb.BatchGetItem": 0.125, "dynamodb.Query": 0.125,
    "s3.PutObject": 5.0, "s3.GetObject": 0.40, "scheduler.CreateSchedule": 1.0,
}  # fmt: skip
"""Dollars per million GB-seconds (arm64), invocations, and calls; a call that is not listed costs nothing."""
INVOKED: Final = "-invocation"
"""The end of the type of a report, after the name of its function."""
MOST: Final = 10**15
"""A larger number in a report is ignored: it would be a cost of a million dollars for one line."""
NANO, MILLION = 1_000_000_000, 1_000_000


def price(report: Mapping[str, Any]) -> int:
    """Return the cost of the invocations in one *report*, in nanodollars."""
    gigabytes = number(report.get("memory_mb"), MEMORY_MB) / 1_024
    compute = number(report.get("duration_ms"), 0) / 1_000 * gigabytes * GB_SECONDS
    made = report.get("calls")
    calls = sum(number(count, 0) * CALLS.get(name, 0.0) for name, count in made.items()) if isinstance(made, Mapping) else 0.0
    return round((compute + number(report.get("invocations"), 1) * INVOCATIONS + calls) / MILLION * NANO)


def number(value: object, otherwise: float) -> float:
    """Return *value* if a worker could have reported it, that is a number from 0 to `MOST`, else *otherwise*."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST else otherwise
