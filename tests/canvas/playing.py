"""Playing random canvases in memory: one sketch, one world, everything compared with its meaning."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from sedano import testing
from sedano.engine.worker.pipeline import WorkerSettings
from sedano.memory import MemoryLedger
from sedano.model.ledger.records import TaskRecord, copied_from
from tests.canvas.judge import complaints, complaints_when_revoked, unowned
from tests.canvas.meaning import meaning_of
from tests.canvas.sketch import KINDS, Drawing, Sketch
from tests.canvas.workshop import Workshop, steps_of

Planted = Callable[[testing.World], None]


def unharmed(_: testing.World) -> None:
    """Plant nothing."""


def sketched(seed: int, most: int = 60, kinds: tuple[str, ...] = KINDS) -> Sketch:
    """Return the sketch of *seed*, with at most about *most* tasks of these *kinds*."""
    dice = Random(f"sketch {seed}")
    return Drawing(dice.randrange, most=dice.randint(1, most), kinds=kinds).sketch()


def in_memory(sketch: Sketch, seed: int = 0, planted: Planted = unharmed) -> list[str]:
    """Play *sketch* in memory, where nothing is repeated and nobody dies; return what is not as it means."""
    shop = Workshop(sketch)
    with testing.world(shop.app, seed=seed, settings=WorkerSettings(lanes=0)) as world:
        planted(world)
        result = shop.publish()
        world.drain()
        parked = [message.attributes["reason"] for message in world.parked()]
        records = records_of(world.ports.ledger)
        return complaints(meaning_of(sketch), result, records, shop.runs, parked, exactly=True)


def owned_in_memory(sketch: Sketch, seed: int = 0) -> list[str]:
    """Play *sketch* in memory, where users gave ids to half of its tasks; return what is not as it means, or what those ids do not tell."""
    dice = Random(f"owned {seed}")
    chosen = {part.name for part in steps_of(sketch) if dice.random() < 0.5}
    shop = Workshop(sketch, owns=lambda part: part.name in chosen)
    with testing.world(shop.app, seed=seed, settings=WorkerSettings(lanes=0)) as world:
        result = shop.publish()
        world.drain()
        parked = [message.attributes["reason"] for message in world.parked()]
        meaning, records = meaning_of(sketch), records_of(world.ports.ledger)
        found = complaints(meaning, result, records, shop.runs, parked, exactly=True)
        return [*found, *unowned(meaning, shop.owned, records, shop.runs)]


def revoked_in_memory(sketch: Sketch, seed: int, planted: Planted = unharmed) -> list[str]:
    """Play *sketch* in memory and revoke it after some of its batches were worked off; return what is not as it has to be then."""
    shop, dice = Workshop(sketch), Random(f"revoked {seed}")
    with testing.world(shop.app, seed=seed, settings=WorkerSettings(lanes=0)) as world:
        planted(world)
        result = shop.publish()
        for _ in range(dice.randrange(8)):
            world.step()
        result.revoke(canvas=True, terminate=dice.random() < 0.5)
        world.drain()
        parked = [message.attributes["reason"] for message in world.parked()]
        return complaints_when_revoked(meaning_of(sketch), result, records_of(world.ports.ledger), parked)


def records_of(ledger: Any) -> dict[str, TaskRecord]:
    """Return the records of all tasks in a ledger in memory, without the copies that joins read."""
    assert isinstance(ledger, MemoryLedger)
    return {task_id: record for task_id, record in ledger._records.items() if copied_from(record) == task_id}
