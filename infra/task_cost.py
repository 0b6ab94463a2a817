"""The cost of tasks, events and chains, by the million: the calls that they make at list prices, and the time for which a function runs."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .prices import LIST, MILLION

#: Ledger writes per task, by how it is delivered; a batch sends its history in one message.
WRITES: Mapping[str, int] = {"claimed": 2, "record_once": 1, "at_least_once": 0}
SENDS_A_BATCH = 1
#: Measured: the bytes of the history of one short task. SQS counts each 64 KB of a message as a request.
EVENT_BYTES, SQS_CHUNK = 480, 65_536
#: Assumed, not measured: for how many seconds an invocation waits for AWS beside the user's own code.
WAIT = 0.025
#: Assumed of the worker: the seconds of a full core that an invocation needs, and each task in it; Lambda gives a full core at 1 769 MB.
CORE_INVOCATION, CORE_TASK, FULL_CORE_GB = 0.002, 0.001, 1769 / 1024
#: The bytes that the worker logs of an invocation without trouble: its metrics (`tests/infra/test_cost.py` measures them).
LOGGED = 500
#: SQS counts each started 64 KB of a call as a request, and Lambda receives and deletes at most ten messages by a call.
CHUNK, A_CALL = 64 * 1024, 10
#: The most bytes and the most members of a page of a canvas. One task publishes the members of a page, which is in S3.
PAGE_BYTES, PAGE_MEMBERS = 30_000, 500
#: The bytes of the record of a pack, and of each end of a member in it, with a small result.
PACK_BYTES, END_BYTES = 300, 16


class Item(NamedTuple):
    """One line of a bill."""

    name: str
    amount: float
    dollars: float


class Stage(NamedTuple):
    """The parts of the templates that decide the cost: resources by type, the worker's and the recorder's batches and memory, and whether
    it counts by task."""

    resources: Sequence[Mapping[str, Any]]
    batch: int
    records: int
    memory_gb: float
    by_task: bool = False


class Shape(NamedTuple):
    """The shape of an average task.

    *message_bytes*: of its message. *record_kb*: of its record, with its result and the messages that its body published; each started KB
    is a write unit. *in_chords*: the share of the tasks that are members of chords. *in_s3*: the share whose arguments or result are in S3;
    *failed*: the share that fails; each is an entry in the ledger's index of failures: a write unit."""

    message_bytes: float = 700
    record_kb: float = 1
    in_chords: float = 0
    in_s3: float = 0
    failed: float = 0


SMALL = Shape()


def tasks(
    stage: Stage, delivery: str, together: float, batch: float | None = None, records: float | None = None, shape: Shape = SMALL,
) -> list[Item]:  # fmt: skip
    """Return the cost of a million tasks of this *shape*, with *together* published in one call; their own code takes no time.

    *batch*: so many are received in one invocation, by default as many as the stage takes. *records*: the history of so many invocations
    becomes one object, by default as many as the stage takes; it is one for less than one task a minute.
    """
    batch, records = batch or stage.batch, records or stage.records
    pages = MILLION * shape.in_chords * max(shape.message_bytes / PAGE_BYTES, 1 / PAGE_MEMBERS)
    batches = (MILLION + pages) / batch
    written = WRITES[delivery] and WRITES[delivery] - 1 + shape.record_kb + shape.failed
    seconds = WAIT + (CORE_INVOCATION + batch * CORE_TASK) / min(1.0, stage.memory_gb / FULL_CORE_GB)
    return priced(
        ("published", MILLION / together * _requests(together, shape) + pages, LIST.sqs_request / MILLION),
        ("received and deleted", taken(MILLION + pages, batch) * (1 + _requests(min(batch, A_CALL), shape)), LIST.sqs_request / MILLION),
        ("worker invoked", batches, LIST.lambda_request / MILLION),
        ("worker runs and waits for AWS, GB·s", batches * seconds * stage.memory_gb, LIST.lambda_gb_s / MILLION),
        ("ledger written", MILLION * written, LIST.dynamodb_write / MILLION),
        ("joins and launches of chords written", MILLION * shape.in_chords / batch + 2 * pages, LIST.dynamodb_write / MILLION),
        ("results of chords read", MILLION * shape.in_chords, LIST.dynamodb_read / MILLION),
        ("arguments, results and pages in S3", MILLION * shape.in_s3 + pages, (LIST.s3_put + LIST.s3_get) / MILLION),
        *history(stage, batches * SENDS_A_BATCH, records),
        ("metrics logged, GB", batches * LOGGED / 1e9, LIST.log_gb),
    )


def links(stage: Stage, length: int) -> list[Item]:
    """Return the cost of a million links of chains of *length* links, each chain alone in its batch, whose links stay in one invocation.

    The calls of an invocation that are made one after another are claim, record and history: `WAIT` has all three, each further link two.
    """
    chains, records = MILLION / length, stage.records
    waits = WAIT * (2 * length + 1) / 3
    seconds = waits + (CORE_INVOCATION + length * CORE_TASK) / min(1.0, stage.memory_gb / FULL_CORE_GB)
    return priced(
        ("published, received and deleted", 3 * chains, LIST.sqs_request / MILLION),
        ("worker invoked", chains, LIST.lambda_request / MILLION),
        ("worker runs and waits for AWS, GB·s", chains * seconds * stage.memory_gb, LIST.lambda_gb_s / MILLION),
        ("ledger written", MILLION * WRITES["claimed"], LIST.dynamodb_write / MILLION),
        *history(stage, chains * SENDS_A_BATCH, records),
        ("metrics logged, GB", chains * LOGGED / 1e9, LIST.log_gb),
    )


def members(stage: Stage, pack: int) -> list[Item]:
    """Return the cost of a million members of large groups in packs of *pack*, with small arguments and results.

    A pack is one message, one claim, one record of all its ends, and one read of the record for the members that were asked to stop.
    """
    packs, pages = MILLION / pack, MILLION / PAGE_MEMBERS
    batches = (packs + pages) / stage.batch
    record = math.ceil((PACK_BYTES + pack * END_BYTES) / 1024)
    seconds = WAIT + (CORE_INVOCATION + stage.batch * pack * CORE_TASK) / min(1.0, stage.memory_gb / FULL_CORE_GB)
    beyond = max(0.0, stage.batch * pack * EVENT_BYTES / SQS_CHUNK - 1)
    return priced(
        ("published", pages * (1 + math.ceil(PAGE_MEMBERS / pack / A_CALL)), LIST.sqs_request / MILLION),
        ("received and deleted", 2 * taken(packs + pages, stage.batch), LIST.sqs_request / MILLION),
        ("worker invoked", batches, LIST.lambda_request / MILLION),
        ("worker runs and waits for AWS, GB·s", batches * seconds * stage.memory_gb, LIST.lambda_gb_s / MILLION),
        ("ledger written", packs * (1 + record) + 2 * pages, LIST.dynamodb_write / MILLION),
        ("records of packs read", packs, LIST.dynamodb_read / MILLION),
        ("pages in S3", pages, (LIST.s3_put + LIST.s3_get) / MILLION),
        *history(stage, batches * SENDS_A_BATCH, stage.records),
        ("history events beyond 64 KB, sent and received", 2 * batches * beyond, LIST.sqs_request / MILLION),
        ("metrics logged, GB", batches * LOGGED / 1e9, LIST.log_gb),
    )


def history(stage: Stage, sent: float, records: float) -> tuple[tuple[str, float, float], ...]:
    """Return the lines of *sent* messages of the history, if *records* of them become one object."""
    objects = sent / records
    return (
        ("history events sent and received", sent + 2 * taken(sent, records), LIST.sqs_request / MILLION),
        ("history kept, objects", objects, LIST.s3_put / MILLION),
        ("roll-ups of the history written, in the table and in its index", 2 * objects, LIST.dynamodb_write / MILLION),
        ("recorder invoked", objects, LIST.lambda_request / MILLION),
        ("recorder waits for AWS, GB·s", objects * WAIT * stage.memory_gb, LIST.lambda_gb_s / MILLION),
    )


def events(stage: Stage, together: float, batch: float | None = None) -> list[Item]:
    """Return the cost of a million events beside the tasks that they call, if so many are published *together* and routed in one
    *batch*."""
    batches = MILLION / (batch := batch or stage.batch)
    return priced(
        ("published, received and deleted", MILLION / together + 2 * taken(MILLION, batch), LIST.sqs_request / MILLION),
        ("router invoked", batches, LIST.lambda_request / MILLION),
        ("router waits for AWS, GB·s", batches * WAIT * stage.memory_gb, LIST.lambda_gb_s / MILLION),
    )


def _requests(together: float, shape: Shape) -> int:
    """Return how many requests SQS counts of a call with so many messages."""
    return max(1, math.ceil(together * shape.message_bytes / CHUNK))


def taken(messages: float, together: float) -> float:
    """Return in how many calls Lambda receives, and deletes, messages if *together* arrive in one invocation."""
    return messages / min(together, A_CALL)


def total(items: Iterable[Item]) -> float:
    """Return the sum in dollars."""
    return sum(item.dollars for item in items)


def priced(*lines: tuple[str, float, float]) -> list[Item]:
    """Return the lines of a bill, each from a name, an amount and the dollars of one, without lines whose amount is 0."""
    return [Item(name, amount, amount * price) for name, amount, price in lines if amount]
