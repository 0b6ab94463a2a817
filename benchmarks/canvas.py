"""The numbers of the canvas: bytes of its messages, calls of its publication, writes and sends of its tasks, and how they grow."""

from __future__ import annotations

import base64
import importlib.util
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.canvas_costs import QUEUE, Cost, Counting, add, app, cost_of, total
from benchmarks.report import Entry, Section, Target
from sedano import chain, chord, group, memory
from sedano.aws.queues import SqsQueues
from sedano.canvas import Form

MOST_BYTES = 1_024
FEW, MANY, MOST = 10, 1_000, 100_000
LINKS = 500
"""So many links of the longest chain are run; the others are like them."""


def chain_of(size: int) -> Form:
    """Return a chain of *size* tasks."""
    return chain(add.s(0, 1), *(add.s(1) for _ in range(size - 1)))


def chord_of(size: int) -> Form:
    """Return a chord of *size* members."""
    return chord((add.s(n, 1) for n in range(size)), total.s())


def sizes(most: int = MOST) -> list[Entry]:
    """Return the longest message of a chain and of a chord of 10, 1 000 and *most* tasks, without its arguments."""
    entries = []
    for size in (FEW, MANY, most):
        of_chain, _ = cost_of([chain_of(size)], LINKS)
        of_chord, _ = cost_of([chord_of(size)])
        more = {"pages": float(of_chord.calls["put"]), "launches": float(of_chord.messages - size - 1)}
        entries.append(Entry(f"longest message, chain of {size}", of_chain.longest, "bytes", Target(MOST_BYTES)))
        entries.append(Entry(f"longest message, chord of {size}", of_chord.longest, "bytes", Target(MOST_BYTES), more))
    return entries


class CountedQueue:
    """Stands for a client of SQS that takes what it is sent, and counts; whoever asks for more than that is told that there is no more."""

    def __init__(self) -> None:
        """Count from zero."""
        self.calls: Counter[str] = Counter()
        self.messages = 0

    def send_message_batch(self, *, QueueUrl: str, Entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:  # noqa: N803 - botocore's names
        """Take them all."""
        self.calls["sqs.SendMessageBatch"] += 1
        self.messages += len(Entries)
        return {"Successful": [{"Id": entry["Id"]} for entry in Entries]}


def group_calls(size: int = 10_000) -> dict[str, int]:
    """Return the AWS calls of publishing a group of *size* from one process; every port but the queue's is in memory and counted too."""
    client, cost, plain = CountedQueue(), Cost(), memory.ports()
    counted = {name: Counting(getattr(plain, name), cost) for name in ("ledger", "blobs", "members", "control", "leases")}
    app.attach(replace(plain, queues=SqsQueues(client, {QUEUE: "https://sqs.invalid/commands"}), **counted))
    try:
        group(add.s(n, 1) for n in range(size)).delay()
    finally:
        app.attach(None)
    if client.messages != size:
        raise AssertionError(f"{client.messages} messages of a group of {size}")
    return {**client.calls, **cost.calls}


def chord_costs(counts: Sequence[int] = (100, 1_000, 10_000)) -> list[Entry]:
    """Return what a member of a chord takes, and how that grows."""
    costs = {size: _checked(size) for size in counts}
    largest = max(counts)
    join = costs[largest].calls["arrive"] + costs[largest].calls["open_join"]
    entries = [Entry(f"join, of a chord of {largest}", join / largest, "writes", Target(1.02))]
    for size, cost in costs.items():
        more = {"sends": cost.calls["send"] / size, "CPU ms": 1e3 * cost.cpu / size}
        entries.append(Entry(f"all writes, a member of {size}", cost.writes / size, "writes", Target(3.02), more))
    for name, found in (("writes", "writes"), ("messages", "messages"), ("CPU", "cpu")):
        values = {size: float(getattr(cost, found)) for size, cost in costs.items()}
        target = None if name == "CPU" else Target(1.05)
        entries.append(Entry(f"growth of {name}, {min(counts)} to {largest}: exponent", slope(values), "", target))
    return entries


def _checked(size: int) -> Cost:
    cost, (value,) = cost_of([chord_of(size)])
    if value != size * (size + 1) // 2:
        raise AssertionError(f"a chord of {size} came to {value}")
    return cost


def slope(values: dict[int, float]) -> float:
    """Return the exponent by which *values* grow with their keys: 1 is linear."""
    few, many = min(values), max(values)
    return math.log(values[many] / values[few]) / math.log(many / few)


def chain_costs(size: int = MANY, beside: int = 10) -> list[Entry]:
    """Return what a link of a chain takes: of one that is alone, and of several that run side by side."""
    alone, values = cost_of([chain_of(size)])
    several, _ = cost_of([chain_of(size) for _ in range(beside)])
    if values != [size]:
        raise AssertionError(f"a chain of {size} came to {values}")
    history = alone.calls["send history"] / size
    links = size * beside
    return [
        Entry(f"writes a link, chain of {size}", alone.writes / size, "writes", Target(3.0)),
        Entry(
            f"sends a link, chain of {size} alone", alone.calls["send"] / size, "sends", Target(1.2),
            {"history": history, "page reads": alone.calls["get"] / size},
        ),
        Entry(
            f"all sends a link, {beside} chains side by side", (several.calls["send"] + several.calls["send history"]) / links, "sends",
            Target(1.2), {"writes": several.writes / links},
        ),
    ]  # fmt: skip


def celery_chain(size: int = MANY) -> int | None:
    """Return the bytes of the first message of Celery's chain of *size*, as its virtual transports (SQS among them) write it; None without
    Celery.
    """
    if importlib.util.find_spec("celery") is None:
        return None
    theirs = importlib.import_module("celery").Celery("peer", broker="memory://", backend="cache+memory://")
    step = theirs.signature("add", args=(1,))
    importlib.import_module("celery").chain(*(step.clone() for _ in range(size)), app=theirs).apply_async()
    with theirs.connection_for_read() as connection:
        message = connection.SimpleQueue("celery").get(timeout=5)
    body = base64.b64encode(message.body if isinstance(message.body, bytes) else message.body.encode()).decode()
    return len(json.dumps({"body": body, "headers": message.headers, "properties": message.properties}))


def section_of_sizes() -> Section:
    """Return the bytes for the report."""
    entries = sizes()
    theirs = celery_chain()
    if theirs is not None:
        entries.append(Entry(f"Celery's first message, chain of {MANY}", theirs, "bytes"))
    how = "the longest that is sent, without its arguments; one process works off batches of ten"
    return Section("Bytes of a canvas's messages", how, entries)


def section_of_calls() -> Section:
    """Return the calls for the report."""
    calls = group_calls()
    sends = calls.pop("sqs.SendMessageBatch", 0)
    entries = [
        Entry("publish a group of 10 000", sends, "sends", Target(1_010)),
        Entry("other calls for it", sum(calls.values()), "calls", Target(0)),
        *chord_costs(), *chain_costs(),
    ]  # fmt: skip
    return Section("Calls of a canvas", "counted at the ports; a group's publication at the client of SQS", entries)
