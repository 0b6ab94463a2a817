"""The tasks of the benchmark of restarts, as `sedano worker` loads them."""

from __future__ import annotations

import asyncio

from sedano import Sedano

LONG_S = 3.0
"""How long half of the bodies take: longer than the drain of their processes."""

app = Sedano("restarts")


@app.task(name="rest")
async def rest(seconds: float) -> float:
    """Wait, as for a network."""
    await asyncio.sleep(seconds)
    return seconds
