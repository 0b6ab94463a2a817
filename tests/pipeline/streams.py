"""Event streams for the tests: tasks' lives as workers tell them, and how badly a network may deliver them."""

import gzip
import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sedano.model.history.event_order import stamp
from sedano.model.states import STATE_OF_CLASS, SUBJECTS

Event = dict[str, Any]
CLASSES = [*STATE_OF_CLASS, "progress", "poison", "success", "held"]


def lives(seed: int, tasks: int) -> list[Event]:
    """Return the events of *tasks* tasks: two in three lead a plausible life, the others are pure chance."""
    luck = random.Random(seed)
    events = [event for n in range(tasks) for event in (_chance if n % 3 == 0 else _life)(luck, f"task-{n}")]
    return list({stamp(event): event for event in events}.values())


def delivered(seed: int, events: list[Event], copies: float = 0.15) -> list[Event]:
    """Return *events* as a network delivers them: shuffled, and a share of them twice."""
    luck = random.Random(seed)
    arrival = events + luck.choices(events, k=int(len(events) * copies))
    luck.shuffle(arrival)
    return arrival


def written(folder: Path, events: Iterable[Event], files: int = 1) -> Path:
    """Write *events* in turn to *files* files below *folder*, in folders of days as the recorder does."""
    for n, part in enumerate(_dealt(list(events), files)):
        path = folder / f"dt=2026-11-{n % 28 + 1:02}" / f"{n}.jsonl.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress("".join(json.dumps(event) + "\n" for event in part).encode()))
    return folder


def _dealt(events: list[Event], hands: int) -> Iterator[list[Event]]:
    return (events[n::hands] for n in range(hands))


def _life(luck: random.Random, uuid: str) -> Iterator[Event]:
    """Publish, receive, start, retry a few times, end; some stop in the middle."""
    clock, at = luck.randint(1, 50), luck.uniform(1_000, 1_060)
    steps = ["sent", "received", "started"]
    for _ in range(luck.choice([0, 0, 0, 1, 2])):
        steps += ["retried", "sent", "received", "started"]
    steps += [luck.choice(["succeeded", "succeeded", "failed", "revoked", "rejected", "poison"])]
    for step in steps[: luck.choice([len(steps)] * 4 + [luck.randint(1, len(steps))])]:
        clock, at = clock + luck.randint(0, 3), at + luck.uniform(0, 1)
        yield _event(luck, step, uuid, clock, at)


def _chance(luck: random.Random, uuid: str) -> Iterator[Event]:
    """Any classes at any time, with few clocks and times, so that ties are common."""
    for _ in range(luck.randint(1, 9)):
        yield _event(luck, luck.choice(CLASSES), uuid, luck.randint(1, 5), float(luck.randint(1, 4)))


def _event(luck: random.Random, event_class: str, uuid: str, clock: int, at: float) -> Event:
    """Return an event with the fields that its class has."""
    host = f"client-{luck.randint(0, 1)}" if event_class == "sent" else f"worker-{luck.randint(0, 4)}"
    order = {"clock": clock, "timestamp": at, "hostname": host, "pid": luck.randint(1, 2), "uuid": uuid}
    fields = {}
    if event_class in {"sent", "received"}:
        fields = {field: f"{field}-{luck.randint(0, 5)}" for field in SUBJECTS["described"]}
        fields |= {"retries": luck.randint(0, 3), "eta": luck.choice([None, "2026-11-20T11:00:00"])}
    if event_class == "sent":
        fields["queue"] = f"queue-{luck.randint(0, 2)}"
    if event_class == "succeeded":
        fields |= {"runtime": luck.random(), "result": luck.choice(["1", "'ü'", "'\\n'"])}
    if event_class in {"failed", "retried"}:
        fields |= {"exception": f"ValueError('{luck.randint(0, 9)}')", "traceback": "Traceback\n  line"}
    return {"type": f"task-{event_class}", **order, **fields}
