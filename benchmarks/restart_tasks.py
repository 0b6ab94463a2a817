"""The tasks of the benchmark of restarts, as `sedano worker` loads them."""

from __future__ import annotations

import asyncio

from sedano import Sedano

LONG_S = 3.0
"""The seconds that half of the bodies take: longer than the drain of their processes."""

QUEUES = ("default", "mail", "reports", "images")
"""Several queues: each has a receiver of its own, and several that are answered together bring more than a process has lanes for."""

app = Sedano("restarts", queues=QUEUES)


async def rest(seconds: float) -> float:
    """Wait, as for a network."""
    await asyncio.sleep(seconds)
    return seconds


rests = [app.task(name=f"rest-{queue}", queue=queue)(rest) for queue in QUEUES]
