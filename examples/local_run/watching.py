"""Watching a run until every task has ended and every queue is empty, or until a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from examples.local_run.changes import NAMELESS, TASK, ChangeLog

Item = Mapping[str, Mapping[str, Any]]

BETWEEN_LOOKS_S = 0.5
_DELAYED = "ApproximateNumberOfMessagesDelayed"
_COUNTS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", _DELAYED)


@dataclass(frozen=True, slots=True)
class Look:
    """One observation of the run: how many of the wanted tasks have ended, and how many messages are in all queues."""

    ended: int
    wanted: int
    waiting: int


def watch(log: ChangeLog, wanted: Collection[str], waiting: Callable[[], int], told: Callable[[Look], None], seconds: float) -> Look:
    """Observe the run, calling *told* each time, until it is over or no task has ended for *seconds*; return the last observation."""
    until, quiet = time.monotonic() + seconds, 0
    ended = {change.task_id for change in log.changes if change.is_end}
    while True:
        fresh = {change.task_id for change in log.follow() if change.is_end} - ended
        ended |= fresh
        if fresh:
            until = time.monotonic() + seconds
        look = Look(len(ended & set(wanted)), len(wanted), waiting())
        told(look)
        quiet = quiet + 1 if look.ended == look.wanted and not look.waiting else 0
        if quiet == 2 or time.monotonic() > until:
            return look
        time.sleep(BETWEEN_LOOKS_S)


def depths(sqs: Any, ahead: str = "") -> dict[str, int]:
    """Return how many messages each queue of the stage has, including hidden and delayed ones, by the queue's name.

    Delayed messages of the queue whose URL is *ahead* do not count.
    """
    urls = [url for page in sqs.get_paginator("list_queues").paginate() for url in page.get("QueueUrls", ())]
    found = {url: sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(_COUNTS))["Attributes"] for url in urls}
    return {
        url.rpartition("/")[2]: sum(int(attributes[name]) for name in _COUNTS if (url, name) != (ahead, _DELAYED))
        for url, attributes in found.items()
    }


def settled(look: Callable[[], Mapping[str, int]], seconds: float) -> Mapping[str, int]:
    """Return the messages that *look* finds, once there are none or after *seconds*: withdrawn messages still arrive and are deleted."""
    until, found = time.monotonic() + seconds, look()
    while any(found.values()) and time.monotonic() < until:
        time.sleep(BETWEEN_LOOKS_S)
        found = look()
    return found


def scan(dynamodb: Any, table: str) -> dict[str, tuple[str, str]]:
    """Return the name and state of every task in the ledger, by task id; the name is empty if no worker received it before a revocation."""
    tasks = [item for item in _items(dynamodb, table) if item["pk"]["S"].startswith(TASK)]
    return {unquote(item["pk"]["S"].removeprefix(TASK)): (item.get("nm", NAMELESS)["S"], item["st"]["S"]) for item in tasks}


def _items(dynamodb: Any, table: str) -> Iterator[Item]:
    for page in dynamodb.get_paginator("scan").paginate(TableName=table, ConsistentRead=True):
        yield from page["Items"]
