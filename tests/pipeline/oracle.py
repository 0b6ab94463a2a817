"""Celery's own `State` as the oracle: what it says of a stream in the order of its arrival."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from celery.events.state import State, Task

from sedano.model.states import STATE_OF_CLASS, SUBJECTS

RECORDING = Path(__file__).parents[3] / "shared" / "data" / "celery_5_7_events.jsonl.gz"
FIELDS = [field for subject in SUBJECTS.values() for field in subject]

Event = dict[str, Any]


def recorded() -> Path:
    """Return the events that a real Celery 5.7 cluster emitted; skip the test where the recording is absent."""
    if not RECORDING.exists():
        pytest.skip(f"{RECORDING.name} is not part of the project: put it into ../shared/data to run this")
    return RECORDING


def recording() -> list[Event]:
    """Return the recorded events, in the order of their arrival."""
    with gzip.open(recorded(), "rt") as lines:
        return [json.loads(line) for line in lines]


def replayed(stream: list[Event]) -> dict[str, Task]:
    """Feed the task events of *stream* to Celery's State in the order of the stream, as a monitor does, and return its tasks."""
    state = State(max_tasks_in_memory=1_000_000)
    for event in stream:
        if event["type"].startswith("task-"):
            state.event({"local_received": event["timestamp"], **event})
    return dict(state.tasks.items())


def as_celery_says(task: Task) -> Event:
    """Return the 28 facts that Celery and sedano both tell of a task; what was not seen is None."""
    return {
        "state": task.state,
        "worker": task.worker.hostname if task.worker else None,
        "client": task.client,
        **{event_class: getattr(task, event_class) for event_class in STATE_OF_CLASS},
        **{field: getattr(task, field, None) for field in FIELDS},
    }
