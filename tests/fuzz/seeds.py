"""Good inputs, made by the library itself: every form of the fuzzed app is published and worked off in memory, and what travelled is kept.

So no seed is a file that grows old: another wire format makes other seeds. Ids are drawn from a seed, and therefore always the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import sedano.testing
from sedano.model.timers import sealed
from sedano.ports import EVENTS, PARKED, RECORDS, Outgoing, command_queue
from tests.fuzz import stall

COMMANDS, FIFO = command_queue("default"), command_queue("orders.fifo")


class Travelled(NamedTuple):
    """What travelled while all forms were worked off, by the queue's key, and what was put into the blob store."""

    messages: dict[str, list[Outgoing]]
    blobs: list[bytes]
    histories: list[bytes]


@cache
def travelled() -> Travelled:
    """Publish every form, let the world work, and return what went through it."""
    messages: dict[str, list[Outgoing]] = {COMMANDS: [], FIFO: [], EVENTS: [], RECORDS: [], PARKED: []}
    with sedano.testing.world(stall.app, seed=1) as world:
        sent, blobs = world.queues.send, {}
        put = world.ports.blobs.put

        def send(queue: str, some: Sequence[Outgoing]) -> Any:
            messages[queue] += some
            return sent(queue, some)

        def keep(data: bytes) -> Any:
            ref = put(data)
            blobs[ref.digest] = data
            return ref

        world.queues.send = send  # type: ignore[method-assign]
        world.ports.blobs.put = keep  # type: ignore[attr-defined,method-assign]
        for form in stall.forms():
            form.apply_async()
            world.drain()
        _more(world)
        histories = [*world.ports.events.read()]
        timers = world.ports.timers.list()
    messages[COMMANDS] += [Outgoing(sealed(timer)) for timer in timers]
    return Travelled(messages, [*blobs.values()], histories)


def _more(world: Any) -> None:
    """Publish what is no form: events, elections, a workflow, serial calls, timers, and what is set aside."""
    stall.Sold.delay(item="tea", amount=2, tags=["hot"])
    stall.price.publish({"sku": "tea", "cents": 199, "rate": 0.5}, id="tea")
    stall.price.publish(["x" * 70_000])
    stall.add.s(1, 2).election().get()
    stall.app.control.election("lead/1", "lead", {"age": 3}).get()
    stall.serial.delay("a")
    stall.Fulfil.delay(amount=150)
    world.drain()
    world.queues.send(COMMANDS, [Outgoing("{nonsense"), Outgoing('{"specversion":"1.0"}')])
    for delay in (1000, 5000):
        stall.add.apply_async((1, delay), countdown=delay)
    world.drain()
    stall.add.apply_async((1, 7), countdown=4000)


def small(texts: Sequence[bytes], most: int = 60, longest: int = 6_000) -> list[bytes]:
    """Return some of *texts*, of each shape one: what differs in its keys alone is a shape of its own."""
    found: dict[Any, bytes] = {}
    for text in texts:
        if len(text) <= longest:
            found.setdefault(_shape(text), text)
    return [*found.values()][:most]


def _shape(text: bytes) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return text[:20]
    return _keys(value)


def _keys(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((name, _keys(part) if name in _LOOKED_INTO else name == "subject" and part) for name, part in sorted(value.items()))
    if isinstance(value, str) and value[:1] == "{":
        return _shape(value.encode())
    if isinstance(value, list):
        return ("list", *map(_keys, value[:3]))
    return 0


_LOOKED_INTO = ("canvasplan", "item", "message")


def digest(data: bytes) -> str:
    """Return the digest by which the blob store knows *data*."""
    return hashlib.sha256(data).hexdigest()


def bodies(*queues: str) -> list[bytes]:
    """Return the bodies of the messages that went through *queues*."""
    return [message.body.encode() for queue in queues for message in travelled().messages[queue]]
