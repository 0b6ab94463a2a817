"""The app of the world of collected calls: a task of which the last call counts, and one that gets many calls at once."""

from __future__ import annotations

from typing import Any

import greenlet

from sedano import Call, Retry, Sedano, current
from tests.simulation.process import Process

app = Sedano("collected", retry=Retry(max_retries=2, interval_start=2.0, jitter=False))
QUIET_S = 5.0
MOST, SLICE_S = 3, 4.0


def _owner() -> Any:
    owner: Process = greenlet.getcurrent().owner  # type: ignore[attr-defined] # bodies run in actors
    return owner


@app.task(name="reindex", debounce=QUIET_S, key="{shop}")
def reindex(shop: str, revision: int) -> int:
    """Index a shop anew when nobody has asked for it for a while."""
    owner = _owner()
    owner.world.collected.runs(owner, shop, current().id)
    owner.world.sleep(0.5 * owner.world.draw() if owner.world.draw() < 0.9 else 25.0 * owner.world.draw())
    return revision


@app.task(name="store", batch=(MOST, SLICE_S))
def store(calls: list[Call]) -> int:
    """Store many rows at once."""
    owner = _owner()
    owner.world.collected.gets(current().id, [call.id for call in calls])
    owner.world.sleep(0.5 * owner.world.draw() if owner.world.draw() < 0.9 else 25.0 * owner.world.draw())
    return len(calls)
