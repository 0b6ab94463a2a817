"""A deployment in memory in which batches of hostile and good messages are worked off, and what must hold for the good ones.

An input is a JSON list of hostile messages: ``{"body", "attributes", "receives", "sent", "serial_key"}``, or a text, which is a body alone.
A text ``@N`` in a body is replaced by the claim check of the input's N-th ``{"blob"}``, and ``#N`` by its size, so that plans and arguments
lie in the store as well.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sedano.engine.worker.pipeline import WorkerSettings
from sedano.model import refusals
from sedano.model.limits.task_limits import QUIET, SLOT
from sedano.model.sources import signature_schemes as signed
from sedano.ports import PARKED, Delivery
from sedano.testing import World
from tests.fuzz import seeds, stall
from tests.fuzz.referee import Broken

GOOD = ("good", "good.once", "good.light")
ROUNDS = 3
"""So many rounds of what a hostile message causes are worked off as well."""
MOST_HOSTILE = 4
DEADLINE_S = 900.0
DIMENSIONS = frozenset({
    *refusals.ALL, *signed.REFUSALS, *stall.app.registry.tasks, *stall.app.registry.subscriptions, *stall.app.webhooks, *stall.app.streams,
    *stall.app.registry.documents, *seeds.travelled().messages,
    SLOT, QUIET, "unknown", "", "sedano.launch", "sedano.map", "sedano.elect", "packed.batch", "default", "orders.fifo",
})  # fmt: skip
"""All that may be the dimension of a metric: names that the app declares, and codes."""


class Hostile(NamedTuple):
    """A hostile message of an input."""

    body: str
    attributes: Mapping[str, str]
    receives: int = 1
    sent: float = 0.0
    serial_key: str | None = None


class Yard:
    """A deployment in memory in which batches are worked off; renewed now and then."""

    def __init__(self) -> None:
        """Begin with a new world."""
        self.numbers = itertools.count()
        self.renew()

    def renew(self) -> None:
        """Begin with a new world."""
        self.world = World(stall.app, 7, WorkerSettings(lanes=0))
        stall.app.attach(self.world.ports)
        self.world.clock.advance(6_000.0)
        stall.EFFECTS.clear()
        self.again: list[str] = []
        for blob in seeds.travelled().blobs:
            self.world.ports.blobs.put(blob)

    def taken_again(self, name: str, text: str) -> None:
        """Note that a parked request or record was taken once more."""
        self.again.append(name)

    def good(self, number: int) -> tuple[str, str]:
        """Return the effect that a good neighbour has, and its body."""
        which = f"g{next(self.numbers)}"
        task = GOOD[number % len(GOOD)]
        body = {"specversion": "1.0", "type": "sedano.command.v1", "id": which, "source": "good", "subject": task,
            "data": {"args": [which]}}
        return which, json.dumps(body)

    def settle(self) -> None:
        """Look at the metrics, and forget what was sent and logged."""
        for outgoing in self.world.queues.peek(PARKED):
            if outgoing.attributes.get("reason") == refusals.UNEXPECTED:
                place = outgoing.attributes.get("field", "").replace(":", " line ")
                raise Broken(f"the last resort was needed at {place}: {outgoing.attributes.get('detail')}")
        telemetry = self.world.telemetry
        for _, dimensions in telemetry._counts:
            for name, value in dimensions:
                if value not in DIMENSIONS and not value.startswith("sedano."):
                    raise Broken(f"a metric has a dimension from a message: {name}={value:.60}")
        telemetry._counts.clear()
        telemetry.lines.clear()
        for queue in self.world.queues._queues.values():
            queue.kept.clear()
            queue.order.clear()
            queue.taken.clear()
        self.world.queues.sent.clear()
        self.world.clock.advance(1.0)


YARD: list[Yard] = []


def yard() -> Yard:
    """Return the one yard of this process, made at its first use."""
    if not YARD:
        YARD.append(Yard())
    return YARD[0]


def hostile(data: bytes) -> Iterator[Hostile]:
    """Yield the hostile messages of an input; what is no list of them is the body of one."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not found:
        found = [data.decode("utf-8", "replace")]
    blobs = [one["blob"] for one in found if isinstance(one, dict) and isinstance(one.get("blob"), str)]
    references = [yard().world.ports.blobs.put(blob.encode("utf-8", "surrogatepass")) for blob in blobs]
    for one in [one for one in found if not (isinstance(one, dict) and "blob" in one)][:MOST_HOSTILE]:
        message = _hostile(one if isinstance(one, dict) else {"body": one})
        body = message.body
        for number, ref in enumerate(references):
            body = body.replace(f"@{number}", f"blob:{ref.digest}").replace(f"#{number}", str(ref.size))
        yield message._replace(body=body)


def _hostile(given: Mapping[str, Any]) -> Hostile:
    """Return a message that SQS could hand over: whatever is of another type there is left out."""
    body = given.get("body")
    attributes = given.get("attributes")
    some = {n: v for n, v in attributes.items() if isinstance(v, str)} if isinstance(attributes, dict) else {}
    receives, sent, key = given.get("receives", 1), given.get("sent", 0.0), given.get("serial_key")
    return Hostile(
        body if isinstance(body, str) else json.dumps(body), some, receives if type(receives) is int and 0 < receives < 10**6 else 1,
        float(sent) if type(sent) in (int, float) and abs(sent) < 10**10 else 0.0, key if isinstance(key, str) else None,
    )  # fmt: skip


class Mixed(NamedTuple):
    """A batch: all deliveries in order, the good ones by their effect, the hostile ones."""

    batch: list[Delivery]
    good: dict[str, Delivery]
    hostile: list[Delivery]


def mixed(data: bytes, queue: str, body_of: Callable[[int], tuple[str, str]]) -> Mixed:
    """Return a batch of *queue* in which a good message lies before, between and behind the hostile ones."""
    numbers = itertools.count()
    batch: list[Delivery] = []
    good: dict[str, Delivery] = {}
    bad: list[Delivery] = []
    now = yard().world.clock.now()

    def add_good() -> None:
        which, body = body_of(next(numbers))
        good[which] = Delivery(queue, f"m-{which}", "r", body, sent=now)
        batch.append(good[which])

    add_good()
    for one in hostile(data):
        delivery = Delivery(queue, f"h-{next(yard().numbers)}", "r", one.body, one.receives, one.sent or now, one.attributes,
            one.serial_key)
        bad.append(delivery)
        batch.append(delivery)
        add_good()
    return Mixed(batch, good, bad)


def judge(found: Mixed, back: Sequence[Delivery], effects: Mapping[str, int]) -> None:
    """Raise `Broken` unless each good message had its one effect and was acknowledged, and each that was parked has a code of the list."""
    given_back = {delivery.message_id for delivery in back}
    for which, delivery in found.good.items():
        if effects[which] != 1:
            raise Broken(f"a good neighbour had {effects[which]} effects")
        if delivery.message_id in given_back:
            raise Broken("a good neighbour was given back")
    for outgoing in yard().world.queues.peek(PARKED):
        if outgoing.attributes.get("reason") not in refusals.ALL:
            raise Broken(f"parked with a code that is not in the closed list: {outgoing.attributes.get('reason')!s:.40}")
    if given_back - {delivery.message_id for delivery in found.batch}:
        raise Broken("a message was given back that was not in the batch")
